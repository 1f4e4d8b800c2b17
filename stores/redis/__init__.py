"""The Redis store: plain Redis or Valkey, no module."""
