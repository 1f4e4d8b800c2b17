"""The stores that a deployment can have: how rows are counted, and a delete is held up."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime

import psycopg
import redis

from stores.redis.layout import keys_of, text

#: So long does the trigger below count: some minutes.
_LONG = 10**10


def row(counts: Iterable[tuple[int, ...]]) -> int:
    """The one number of a count."""
    return next(iter(counts))[0]


class StorePlace(ABC):
    """A store of its own for one test."""

    provider: str
    address: str

    @abstractmethod
    def rows_of(self, thread_id: str) -> dict[str, int]:
        """How many rows each table holds of a thread."""

    def remains(self, thread_ids: Iterable[str]) -> dict[str, dict[str, int]]:
        """Of these threads, those that hold any row."""
        found = {thread_id: self.rows_of(thread_id) for thread_id in thread_ids}
        return {thread_id: rows for thread_id, rows in found.items() if any(rows.values())}


class HeldPlace(StorePlace):
    """A store in which a delete can be held up."""

    tables: tuple[str, ...]

    @abstractmethod
    def delete_is_held(self) -> bool:
        """Whether a worker stands within the delete transaction of the held thread."""

    @abstractmethod
    def holding_delete(self, thread_id: str) -> AbstractContextManager[None]:
        """Let no delete of this thread come to its end meanwhile."""


class RedisStorePlace(StorePlace):
    """A database of a server; each of a thread's keys counts as a table of one row."""

    provider = "redis"

    def __init__(self, address: str) -> None:
        self.address = address

    def rows_of(self, thread_id: str) -> dict[str, int]:
        with closing(redis.Redis.from_url(self.address)) as client:
            return {text(key): int(client.exists(key)) for key in keys_of(thread_id)}


class SqlitePlace(HeldPlace):
    """A file."""

    provider = "sqlite"
    tables = ("checkpoints", "writes")

    def __init__(self, address: str) -> None:
        self.address = address

    def rows_of(self, thread_id: str) -> dict[str, int]:
        with self._connected() as db:
            return {
                table: row(
                    db.execute(f"SELECT count(*) FROM {table} WHERE thread_id = ?", [thread_id])
                )
                for table in self.tables
            }

    def delete_is_held(self) -> bool:
        """SQLite has one writer: where a batch is claimed and the lock taken, it is deleting."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        claimed = (
            "SELECT count(*) FROM retention_batches WHERE done_at IS NULL AND claimed_until > ?"
        )
        with self._connected() as db:
            if not row(db.execute(claimed, [now])):
                return False
            # A lock that is not held up is given back sooner.
            db.execute("PRAGMA busy_timeout = 1000")
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            return False

    @contextmanager
    def holding_delete(self, thread_id: str) -> Iterator[None]:
        """A trigger that counts very far before the thread's first checkpoint goes."""
        count = (
            f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {_LONG}) "
            "SELECT i FROM n"
        )
        with self._connected() as db:
            db.execute(
                f"CREATE TRIGGER held BEFORE DELETE ON checkpoints WHEN old.thread_id = "
                f"'{thread_id}' BEGIN SELECT count(*) FROM ({count}); END"
            )
        yield
        with self._connected(timeout=20) as db:
            db.execute("DROP TRIGGER held")

    @contextmanager
    def _connected(self, timeout: float = 0) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.address, timeout=timeout, isolation_level=None)) as db:
            yield db


class PostgresPlace(HeldPlace):
    """A database."""

    provider = "postgres"
    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")

    def __init__(self, address: str) -> None:
        self.address = address

    def rows_of(self, thread_id: str) -> dict[str, int]:
        with self._connected() as db:
            return {
                table: row(
                    db.execute(
                        f"SELECT count(*) FROM {table} WHERE thread_id = %s",
                        [thread_id],
                    )
                )
                for table in self.tables
            }

    def delete_is_held(self) -> bool:
        """Whether somebody waits for the row that `holding_delete` locked."""
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND wait_event_type = 'Lock' AND query ILIKE '%delete from checkpoints%'"
        )
        with self._connected() as db:
            return row(db.execute(waiting)) > 0

    @contextmanager
    def holding_delete(self, thread_id: str) -> Iterator[None]:
        """A row lock, as a statement of somebody else's would take it."""
        with self._connected() as db, db.transaction():
            db.execute("SELECT 1 FROM checkpoints WHERE thread_id = %s FOR UPDATE", [thread_id])
            yield

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection]:
        with psycopg.connect(self.address, autocommit=True) as db:
            yield db
