"""The domain: which threads may go, and when."""
