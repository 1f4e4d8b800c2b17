"""The Redis store: plain Redis or Valkey, no module."""

from stores.redis.opening import adopt, aopen_store, ddl, init, open_store

__all__ = ["adopt", "aopen_store", "ddl", "init", "open_store"]
