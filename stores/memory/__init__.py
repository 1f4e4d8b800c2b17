"""Checkpoints in the memory of one process, for tests and development."""

from stores.memory.opening import adopt, aopen_store, ddl, init, open_store

__all__ = ["adopt", "aopen_store", "ddl", "init", "open_store"]
