"""Facts about the commands and the worker, as a person meets them."""
