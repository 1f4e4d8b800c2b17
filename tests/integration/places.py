"""The databases of the integration tests: how savers open one, and what it holds."""

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from stores import Store, StoreOptions, adopt_store, aopen_saver, open_saver, open_store
from stores.inspection import Inspection

#: The tables that hold rows of a thread; the run log is apart.
TABLES = {
    "sqlite": ("checkpoints", "writes", "retention_threads"),
    "postgres": (
        "checkpoints",
        "checkpoint_blobs",
        "checkpoint_writes",
        "retention_threads",
        "retention_asks",
        "retention_barriers",
    ),
}


@dataclass(frozen=True)
class Place:
    """One database, empty at first, that stock savers and this project's stores share."""

    provider: str
    address: str

    @contextmanager
    def saver(self, who: str) -> Iterator[BaseCheckpointSaver[Any]]:
        """A sync saver: ``stock``, whose store an operator has adopted, or ``ours``."""
        with open_saver(self.address) if who == "ours" else self.stock_saver() as saver:
            if who == "stock":
                self.adopt()
            yield saver

    @asynccontextmanager
    async def asaver(self, who: str) -> AsyncIterator[BaseCheckpointSaver[Any]]:
        """An async saver: ``stock``, whose store an operator has adopted, or ``ours``."""
        async with aopen_saver(self.address) if who == "ours" else self.stock_asaver() as saver:
            if who == "stock":
                self.adopt()
            yield saver

    @contextmanager
    def stock_saver(self) -> Iterator[BaseCheckpointSaver[Any]]:
        """LangGraph's own sync saver; nobody adopts anything."""
        if self.provider == "sqlite":
            with SqliteSaver.from_conn_string(self.address) as sqlite_saver:
                sqlite_saver.setup()
                yield sqlite_saver
        else:
            with PostgresSaver.from_conn_string(self.address) as postgres_saver:
                postgres_saver.setup()
                yield postgres_saver

    @asynccontextmanager
    async def stock_asaver(self) -> AsyncIterator[BaseCheckpointSaver[Any]]:
        """LangGraph's own async saver; nobody adopts anything."""
        if self.provider == "sqlite":
            async with AsyncSqliteSaver.from_conn_string(self.address) as sqlite_saver:
                await sqlite_saver.setup()
                yield sqlite_saver
        else:
            async with AsyncPostgresSaver.from_conn_string(self.address) as postgres_saver:
                await postgres_saver.setup()
                yield postgres_saver

    def adopt(self, *, compresses: bool = False) -> Inspection:
        """Take the store over, as `retention store adopt --yes` does."""
        return adopt_store(self.address, settings=StoreOptions(), compresses=compresses)

    @contextmanager
    def store(self, at: datetime | None = None, **options: Any) -> Iterator[Store]:
        """The whole store; its clock stands at an instant where one is given."""
        if at is not None:
            options["clock"] = lambda: at
        with open_store(self.address, settings=StoreOptions(**options)) as store:
            yield store

    def rows(self, thread_id: str) -> dict[str, int]:
        """How many rows a thread has in each table that has any."""
        counts = {
            table: self.query(f"SELECT count(*) FROM {table} WHERE thread_id = '{thread_id}'")[0][0]
            for table in self._tables()
        }
        return {table: count for table, count in counts.items() if count}

    def threads(self) -> set[str]:
        """The threads that have a row in any table."""
        return {
            row[0]
            for table in self._tables()
            for row in self.query(f"SELECT DISTINCT thread_id FROM {table}")
        }

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement on a connection of its own, and read its rows if it has any."""
        if self.provider == "sqlite":
            with contextlib.closing(sqlite3.connect(self.address)) as connection, connection:
                return connection.execute(statement).fetchall()
        with psycopg.connect(self.address) as connection_:
            cursor = connection_.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _tables(self) -> list[str]:
        """Those that exist: a store that nobody of this project opened yet has no ledger."""
        catalog = {
            "sqlite": "SELECT name FROM sqlite_master",
            "postgres": "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()",
        }
        found = {row[0] for row in self.query(catalog[self.provider])}
        return [table for table in TABLES[self.provider] if table in found]


def later(days: float = 8) -> datetime:
    """An instant some days ahead: what is written now is past every horizon by then."""
    return datetime.now(UTC) + timedelta(days=days)
