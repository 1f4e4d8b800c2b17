"""Facts about one function or class, without any server."""
