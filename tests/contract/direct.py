"""Looking into a store past the code under test: every row of every table, as it lies there."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any, Protocol, cast

import psycopg
from psycopg.rows import dict_row

from stores import Store
from stores.memory.saver import RetentionMemorySaver
from stores.relational.ledger import RelationalLedger
from stores.relational.schema import OWN_TABLES
from stores.relational.sqlite_database import SqliteDatabase

Record = dict[str, Any]
Tables = dict[str, list[Record]]


class Direct(Protocol):
    """A way into a store of its own."""

    def dump(self) -> Tables:
        """All rows of all tables, in an order that does not change."""

    def execute(self, statement: str) -> None:
        """Run a statement on the store's tables."""


class DirectSqlite:
    """A file, opened anew for each look."""

    def __init__(self, path: str) -> None:
        self._path = path

    def dump(self) -> Tables:
        with closing(sqlite3.connect(self._path)) as connection:
            return _dump_sqlite(connection, ("checkpoints", "writes", *OWN_TABLES))

    def execute(self, statement: str) -> None:
        with closing(sqlite3.connect(self._path)) as connection:
            connection.executescript(statement)


class DirectPostgres:
    """A connection of the tests' own."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def dump(self) -> Tables:
        names = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", *OWN_TABLES)
        cursor = self._connection.cursor(row_factory=dict_row)
        return {n: _sorted(cursor.execute(f"SELECT * FROM {n}".encode())) for n in names}

    def execute(self, statement: str) -> None:
        self._connection.execute(statement.encode())


class DirectMemory:
    """The dictionaries of the saver, and the ledger's database beside them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def dump(self) -> Tables:
        saver = cast(RetentionMemorySaver, self._store.saver)
        own = cast(SqliteDatabase, cast(RelationalLedger, self._store.ledger)._db)
        place = ("thread_id", "checkpoint_ns", "checkpoint_id")
        checkpoints = [
            {"thread_id": t, "checkpoint_ns": ns, "checkpoint_id": i, "row": row}
            for t, spaces in saver.storage.items()
            for ns, held in spaces.items()
            for i, row in held.items()
        ]
        writes = [
            {**dict(zip(place, key, strict=True)), "row": row}
            for key, some in saver.writes.items()
            for row in some.items()
        ]
        blobs = [{"thread_id": key[0], "key": key[1:], "row": v} for key, v in saver.blobs.items()]
        return {
            "checkpoints": _sorted(checkpoints),
            "writes": _sorted(writes),
            "blobs": _sorted(blobs),
            **_dump_sqlite(own.connection, OWN_TABLES),
        }

    def execute(self, statement: str) -> None:
        raise NotImplementedError("memory has no tables of checkpoints")


def of_thread(tables: Tables, thread_id: str) -> Tables:
    """The rows that carry a thread's id, the run log's own record apart."""
    held = {
        name: [row for row in rows if row.get("thread_id") == thread_id]
        for name, rows in tables.items()
    }
    return {name: rows for name, rows in held.items() if rows}


def _dump_sqlite(connection: sqlite3.Connection, names: Iterable[str]) -> Tables:
    tables: Tables = {}
    for name in names:
        cursor = connection.execute(f"SELECT * FROM {name}")
        columns = [column[0] for column in cursor.description]
        tables[name] = _sorted(dict(zip(columns, row, strict=True)) for row in cursor)
    return tables


def _sorted(rows: Iterable[Record]) -> list[Record]:
    return sorted(rows, key=repr)
