"""Checkpoints in PostgreSQL, in the official saver's tables."""

from stores.postgres.opening import adopt, aopen_store, init, open_store
from stores.postgres.schema import ddl

__all__ = ["adopt", "aopen_store", "ddl", "init", "open_store"]
