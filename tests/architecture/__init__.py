"""Facts about the code itself: who imports whom, and how large things are."""
