"""What a store really holds, read past all of the project's own code."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg

_TABLES = {
    "sqlite": ("checkpoints", "writes", "retention_threads"),
    "postgres": ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "retention_threads"),
}


class Census:
    """Rows by table and thread."""

    def __init__(self, provider: str, address: str) -> None:
        self._tables = _TABLES[provider]
        self._address = address
        self._provider = provider

    def rows(self) -> Counter[tuple[str, str]]:
        """How many rows each table holds of each thread."""
        found: Counter[tuple[str, str]] = Counter()
        for table in self._tables:
            for thread_id, count in self._read(
                f"SELECT thread_id, count(*) FROM {table} GROUP BY thread_id"
            ):
                found[table, thread_id] = count
        return found

    def count(self, prefix: str) -> int:
        """How many threads of a round are still there."""
        statement = "SELECT count(DISTINCT thread_id) FROM checkpoints WHERE thread_id LIKE "
        return int(next(self._read(f"{statement}'{prefix}-%'"))[0])

    def _read(self, statement: str) -> Iterator[tuple[Any, ...]]:
        if self._provider == "sqlite":
            with closing(sqlite3.connect(self._address, timeout=20)) as db:
                yield from db.execute(statement).fetchall()
        else:
            with psycopg.connect(self._address, autocommit=True) as connection:
                yield from connection.execute(statement.encode()).fetchall()
