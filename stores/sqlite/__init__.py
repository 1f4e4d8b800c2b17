"""Checkpoints in a SQLite file, in the official saver's tables."""

from stores.sqlite.opening import adopt, aopen_store, ddl, init, open_store

__all__ = ["adopt", "aopen_store", "ddl", "init", "open_store"]
