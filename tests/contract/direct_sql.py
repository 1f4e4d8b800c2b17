"""The way into the SQL stores: every row of every table, and triggers that get in the way."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from stores.postgres.schema import POSTGRES_TABLES
from stores.relational.schema import OWN_TABLES
from tests.contract.direct import DECLARE, Tables, dump_sqlite, in_order

_WRITE = ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx", "channel")


class DirectSql(ABC):
    """What both databases have in common."""

    #: The tables that hold rows of a thread, in the order of their deletion.
    tables: Sequence[str]
    #: The one that holds its writes.
    writes: str
    #: This project's own tables.
    own: Sequence[str] = OWN_TABLES
    #: What makes all state unreadable.
    garbling: Sequence[str]

    @abstractmethod
    def execute(self, statement: str) -> None:
        """Run a statement."""

    @abstractmethod
    def dump(self) -> Tables:
        """All rows of all tables, in an order that does not change."""

    @abstractmethod
    def refuse_deletes(
        self, table: str, value: str, *, column: str = "thread_id", silently: bool = False
    ) -> None:
        """Let the database refuse to delete some rows, or keep them without a word."""

    @abstractmethod
    def allow_deletes(self, table: str) -> None:
        """Take that back."""

    @abstractmethod
    def write_after_delete(self, thread_id: str, checkpoint_id: str) -> None:
        """Let a write come to a checkpoint whenever an entry of the ledger is deleted."""

    def garble(self) -> None:
        for statement in self.garbling:
            self.execute(statement)

    def break_batches(self, column: str, text: str) -> None:
        self.execute(f"UPDATE retention_batches SET {column} = '{text}' WHERE number = 0")

    def break_runs(self, column: str, text: str) -> None:
        self.execute(f"UPDATE retention_runs SET {column} = '{text}'")

    def declare(self, thread_id: str, minutes: int | None) -> None:
        value = "NULL" if minutes is None else minutes
        self.execute(DECLARE.replace("?", f"{value}", 1).replace("?", f"'{thread_id}'"))

    @contextmanager
    def unlisted(self) -> Iterator[str]:
        self.execute("ALTER TABLE checkpoints RENAME TO away")
        try:
            yield "checkpoints"
        finally:
            self.execute("ALTER TABLE away RENAME TO checkpoints")

    @contextmanager
    def without_own_tables(self) -> Iterator[None]:
        """Meanwhile there is no table of this project's but the record of the format."""
        names = [name for name in self.own if name != "retention_format"]
        self.execute("".join(f"ALTER TABLE {n} RENAME TO away_{n};" for n in names))
        try:
            yield
        finally:
            self.execute("".join(f"ALTER TABLE away_{n} RENAME TO {n};" for n in names))


class DirectSqlite(DirectSql):
    """A file, opened anew for each look."""

    tables = ("checkpoints", "writes", "retention_threads")
    writes = "writes"
    garbling = (
        "UPDATE checkpoints SET checkpoint = x'c1', type = 'unknown', metadata = x'c1'",
        "UPDATE writes SET value = x'c1', type = 'unknown'",
    )

    def __init__(self, path: str) -> None:
        self._path = path

    def execute(self, statement: str) -> None:
        with closing(sqlite3.connect(self._path)) as connection:
            connection.executescript(statement)

    def dump(self) -> Tables:
        with closing(sqlite3.connect(self._path)) as connection:
            return dump_sqlite(connection, ("checkpoints", "writes", *OWN_TABLES))

    def refuse_deletes(
        self, table: str, value: str, *, column: str = "thread_id", silently: bool = False
    ) -> None:
        act = "RAISE(IGNORE)" if silently else "RAISE(ABORT, 'will not go')"
        self.execute(
            f"CREATE TRIGGER broken_{table} BEFORE DELETE ON {table} "
            f"WHEN old.{column} = '{value}' BEGIN SELECT {act}; END"
        )

    def allow_deletes(self, table: str) -> None:
        self.execute(f"DROP TRIGGER broken_{table}")

    def write_after_delete(self, thread_id: str, checkpoint_id: str) -> None:
        values = f"'{thread_id}', '', '{checkpoint_id}', 'late', 0, 'messages'"
        self.execute(
            "CREATE TRIGGER broken_later AFTER DELETE ON retention_threads BEGIN "
            f"INSERT INTO writes ({', '.join(_WRITE)}) VALUES ({values}); END"
        )


class DirectPostgres(DirectSql):
    """A connection of the tests' own."""

    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "retention_threads")
    writes = "checkpoint_writes"
    own = POSTGRES_TABLES
    garbling = (
        "UPDATE checkpoint_blobs SET blob = '\\xc1', type = 'unknown'",
        "UPDATE checkpoint_writes SET blob = '\\xc1', type = 'unknown'",
        """UPDATE checkpoints SET metadata = '[]', checkpoint = '{"channel_versions": {}}'""",
    )

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, statement: str) -> None:
        self._connection.execute(statement.encode())

    def dump(self) -> Tables:
        names = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", *self.own)
        cursor = self._connection.cursor(row_factory=dict_row)
        return {n: in_order(cursor.execute(f"SELECT * FROM {n}".encode())) for n in names}

    def refuse_deletes(
        self, table: str, value: str, *, column: str = "thread_id", silently: bool = False
    ) -> None:
        act = "RETURN NULL" if silently else "RAISE EXCEPTION 'will not go'"
        self.execute(
            "CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN IF old.{column} = '{value}' THEN {act}; END IF; RETURN old; END $$"
        )
        self.execute(
            f"CREATE TRIGGER broken_{table} BEFORE DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION broken()"
        )

    def allow_deletes(self, table: str) -> None:
        self.execute(f"DROP TRIGGER broken_{table} ON {table}")

    def write_after_delete(self, thread_id: str, checkpoint_id: str) -> None:
        columns = ", ".join((*_WRITE, "blob"))
        values = f"'{thread_id}', '', '{checkpoint_id}', 'late', 0, 'messages', ''"
        self.execute(
            "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS "
            f"$$ BEGIN INSERT INTO checkpoint_writes ({columns}) VALUES ({values}); "
            "RETURN old; END $$"
        )
        self.execute(
            "CREATE TRIGGER broken_later AFTER DELETE ON retention_threads "
            "FOR EACH ROW EXECUTE FUNCTION broken()"
        )
