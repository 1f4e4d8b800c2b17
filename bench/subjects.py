"""The stores under test: each seeds threads in the real saver's row shape and deletes them."""

import sqlite3
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from retention.ids import lowest_id_at
from stores import open_store
from tests.servers.postgres import PostgresServer

_BATCH = 500
_CHANNELS = ("messages", "documents", "plan")
#: About 2 KB of state: what the savers of this field are compared with.
_VALUE = ["x" * 600]


class Subject(Protocol):
    """A store with the ways to delete from it that are compared."""

    @property
    def address(self) -> str:
        """The store's address."""

    @property
    def loop_share(self) -> float:
        """How many of the threads the official saver is given to delete, from 0 to 1."""

    def seed(self, threads: int, checkpoints: int, at: datetime) -> list[str]:
        """Empty the store and fill it with threads; returns their ids."""

    def seed_loop(self, threads: int, checkpoints: int, at: datetime) -> list[str]:
        """Have so many threads the official saver can delete; its share of their ids."""

    def loop(self, thread_ids: Sequence[str]) -> None:
        """Delete with the official saver, thread by thread."""

    def raw(self, thread_ids: Sequence[str]) -> None:
        """Delete with bare statements, 500 given ids a transaction: the limit."""

    def scan(self) -> None:
        """Read once what no plan can do without."""


@dataclass(frozen=True, slots=True)
class PostgresSubject:
    """PostgreSQL, with its default fsync."""

    address: str
    loop_share: float = 1

    def seed(self, threads: int, checkpoints: int, at: datetime) -> list[str]:
        """Write one thread through the saver, and copy its rows under other ids."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            for table in (*_COPIES, "retention_threads", "retention_asks", "retention_barriers"):
                connection.execute(f"TRUNCATE {table}")
            with PostgresSaver.from_conn_string(self.address) as saver:
                write_thread(saver, "template", checkpoints, at)
            for table, columns in _COPIES.items():
                connection.execute(
                    f"INSERT INTO {table} (thread_id, {columns}) SELECT 'bench-' || lpad(n::text,"
                    f" 8, '0'), {columns} FROM generate_series(1, {threads}) n, {table}"
                    " WHERE thread_id = 'template' ORDER BY 1"
                )
                connection.execute(f"DELETE FROM {table} WHERE thread_id = 'template'")
                connection.execute(f"VACUUM ANALYZE {table}")
            connection.execute("CHECKPOINT")
        return bench_ids(threads)

    def seed_loop(self, threads: int, checkpoints: int, at: datetime) -> list[str]:
        """The official saver is given the same rows."""
        return self.seed(threads, checkpoints, at)

    def loop(self, thread_ids: Sequence[str]) -> None:
        """Delete with the official saver, thread by thread."""
        with PostgresSaver.from_conn_string(self.address) as saver:
            for thread_id in thread_ids:
                saver.delete_thread(thread_id)

    def raw(self, thread_ids: Sequence[str]) -> None:
        """Delete with pipelined statements, 500 given ids a transaction."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            for some in in_batches(thread_ids):
                with connection.pipeline(), connection.transaction():
                    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
                        sql = f"DELETE FROM {table} WHERE thread_id = ANY(%s)"
                        connection.execute(sql, (some,))

    def server_processes(self) -> set[int]:
        """The server's processes that work for somebody's connection to this store."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            return {pid for (pid,) in rows}

    def scan(self) -> None:
        """One index-only scan of the primary key."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute("SET max_parallel_workers_per_gather = 0")
            connection.execute("SELECT count(checkpoint_id) FROM checkpoints WHERE thread_id > ''")


@dataclass(frozen=True, slots=True)
class SqliteSubject:
    """SQLite in a file, in WAL mode as the official saver sets it."""

    address: str
    loop_share: float = 1

    def seed(self, threads: int, checkpoints: int, at: datetime) -> list[str]:
        """Write one thread through the saver, and copy its rows under other ids."""
        with closing(sqlite3.connect(self.address)) as connection:
            saver = SqliteSaver(connection)
            saver.setup()
            for table in ("checkpoints", "writes"):
                connection.execute(f"DELETE FROM {table}")
            write_thread(saver, "template", checkpoints, at)
            for table, columns in _SQLITE_COPIES.items():
                connection.execute(
                    "WITH RECURSIVE series(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM series"
                    f" WHERE n < {threads}) INSERT INTO {table} (thread_id, {columns})"
                    f" SELECT printf('bench-%08d', n), {columns} FROM series, {table}"
                    " WHERE thread_id = 'template' ORDER BY 1"
                )
                connection.execute(f"DELETE FROM {table} WHERE thread_id = 'template'")
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return bench_ids(threads)

    def seed_loop(self, threads: int, checkpoints: int, at: datetime) -> list[str]:
        """The official saver is given the same rows."""
        return self.seed(threads, checkpoints, at)

    def loop(self, thread_ids: Sequence[str]) -> None:
        """Delete with the official saver, thread by thread."""
        with SqliteSaver.from_conn_string(self.address) as saver:
            for thread_id in thread_ids:
                saver.delete_thread(thread_id)

    def raw(self, thread_ids: Sequence[str]) -> None:
        """Delete with bare statements, 500 given ids a transaction."""
        with closing(sqlite3.connect(self.address)) as connection:
            for some in in_batches(thread_ids):
                marks = ",".join("?" * len(some))
                for table in ("checkpoints", "writes"):
                    connection.execute(f"DELETE FROM {table} WHERE thread_id IN ({marks})", some)
                connection.commit()

    def scan(self) -> None:
        """One scan of the primary key's index."""
        with closing(sqlite3.connect(self.address)) as connection:
            connection.execute(
                "SELECT count(checkpoint_id) FROM checkpoints WHERE thread_id > ''"
            ).fetchone()


@contextmanager
def subject(store: str) -> Iterator[Subject]:
    """Start what a store needs, with all its tables made."""
    with tempfile.TemporaryDirectory() as folder:
        if store == "sqlite":
            made: Subject = SqliteSubject(str(Path(folder) / "bench.db"))
            with open_store(made.address):
                yield made
            return
        if store == "redis":
            from bench.redis_subject import redis_subject

            with redis_subject() as made:
                yield made
            return
        with PostgresServer(durable=True, settings={"max_wal_size": "4GB"}) as server:
            made = PostgresSubject(server.dsn(server.create_database()))
            with open_store(made.address):
                yield made


_COPIES = {
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
    "checkpoint_blobs": "checkpoint_ns, channel, version, type, blob",
    "checkpoint_writes": (
        "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob"
    ),
}
_SQLITE_COPIES = {
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
    "writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value",
}


def bench_ids(threads: int) -> list[str]:
    """The ids of so many threads."""
    return [f"bench-{number:08}" for number in range(1, threads + 1)]


def in_batches(thread_ids: Sequence[str]) -> Iterator[list[str]]:
    """Ids as the bare statements are given them."""
    for first in range(0, len(thread_ids), _BATCH):
        yield list(thread_ids[first : first + _BATCH])


#: A step of an agent: what `put` is given, and then what `put_writes` is.
Step = tuple[tuple[Any, ...], tuple[Any, ...]]


def steps(
    saver: BaseCheckpointSaver[Any], thread_id: str, checkpoints: int, at: datetime
) -> Iterator[Step]:
    """A thread of three channels that all change, and three writes, at each step."""
    config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    version: Any = None
    for step in range(checkpoints):
        version = saver.get_next_version(version, None)
        versions = dict.fromkeys(_CHANNELS, version)
        checkpoint = empty_checkpoint()
        checkpoint["id"] = lowest_id_at(at + timedelta(seconds=step))
        checkpoint["ts"] = at.astimezone(UTC).isoformat()
        checkpoint["channel_values"] = dict.fromkeys(_CHANNELS, _VALUE)
        checkpoint["channel_versions"] = dict(versions)
        metadata: Any = {"source": "loop", "step": step, "parents": {}}
        put = (config, checkpoint, metadata, dict(versions))
        here = {**config["configurable"], "checkpoint_id": checkpoint["id"]}
        config = {"configurable": here}
        yield put, (config, [(name, ["w" * 60]) for name in _CHANNELS], str(uuid.uuid4()))


def write(saver: BaseCheckpointSaver[Any], made: Iterable[Step]) -> None:
    """Have a saver keep steps, in the order in which LangGraph asks it to."""
    for put, put_writes in made:
        saver.put(*put)
        saver.put_writes(*put_writes)


def write_thread(
    saver: BaseCheckpointSaver[Any], thread_id: str, checkpoints: int, at: datetime
) -> None:
    """Make a thread and write it."""
    write(saver, steps(saver, thread_id, checkpoints, at))
