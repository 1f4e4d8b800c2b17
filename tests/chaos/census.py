"""What a store really holds, read past all of the project's own code."""

import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import redis

from tests.contract.direct_redis import DirectRedis

#: The kinds of rows of a Redis thread, its places in the indexes among them; when it expires
#: changes with each write.
_ON_REDIS = ("checkpoints", "ids", "blobs", "writes", "retention_threads", "live", "marks")


class Census(ABC):
    """Rows by table and thread."""

    @abstractmethod
    def rows(self) -> Counter[tuple[str, str]]:
        """How many rows each table holds of each thread."""

    @abstractmethod
    def count(self, prefix: str) -> int:
        """How many threads of a round are still there."""


class _SqlCensus(Census):
    tables: tuple[str, ...]

    def __init__(self, address: str) -> None:
        self._address = address

    def rows(self) -> Counter[tuple[str, str]]:
        found: Counter[tuple[str, str]] = Counter()
        for table in self.tables:
            for thread_id, count in self._read(
                f"SELECT thread_id, count(*) FROM {table} GROUP BY thread_id"
            ):
                found[table, thread_id] = count
        return found

    def count(self, prefix: str) -> int:
        statement = "SELECT count(DISTINCT thread_id) FROM checkpoints WHERE thread_id LIKE "
        return int(next(self._read(f"{statement}'{prefix}-%'"))[0])

    @abstractmethod
    def _read(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement."""


class _SqliteCensus(_SqlCensus):
    tables = ("checkpoints", "writes", "retention_threads")

    def _read(self, statement: str) -> Iterator[tuple[Any, ...]]:
        with closing(sqlite3.connect(self._address, timeout=20)) as db:
            yield from db.execute(statement).fetchall()


class _PostgresCensus(_SqlCensus):
    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "retention_threads")

    def _read(self, statement: str) -> Iterator[tuple[Any, ...]]:
        with psycopg.connect(self._address, autocommit=True) as connection:
            yield from connection.execute(statement.encode()).fetchall()


class _RedisCensus(Census):
    def __init__(self, address: str) -> None:
        self._client = redis.Redis.from_url(address)

    def rows(self) -> Counter[tuple[str, str]]:
        dump = DirectRedis(self._client).dump()
        return Counter(
            (table, row["thread_id"]) for table in _ON_REDIS for row in dump.get(table, [])
        )

    def count(self, prefix: str) -> int:
        return sum(1 for _ in self._client.scan_iter(match=f"lgr:*:c:{prefix}-*", count=1_000))


def census_of(provider: str, address: str) -> Census:
    """The census of a store."""
    kinds: dict[str, Callable[[str], Census]] = {
        "sqlite": _SqliteCensus,
        "postgres": _PostgresCensus,
        "redis": _RedisCensus,
    }
    return kinds[provider](address)
