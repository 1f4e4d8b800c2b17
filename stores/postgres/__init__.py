"""Checkpoints in PostgreSQL, in the official saver's tables."""

from stores.postgres.opening import aopen_store, init, open_store
from stores.postgres.schema import ddl

__all__ = ["aopen_store", "ddl", "init", "open_store"]
