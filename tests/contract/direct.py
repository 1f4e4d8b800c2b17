"""Looking into a store past the code under test: all that lies there, and breaking some of it."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol, cast

from langgraph.checkpoint.memory import InMemorySaver

from stores import Store
from stores.memory.saver import RetentionMemorySaver
from stores.relational.ledger import RelationalLedger
from stores.relational.schema import OWN_TABLES
from stores.relational.sqlite_database import SqliteDatabase

Record = dict[str, Any]
Tables = dict[str, list[Record]]

#: Puts a declared retention into an entry of the ledger.
DECLARE = "UPDATE retention_threads SET declared_waiting_minutes = ? WHERE thread_id = ?"


class Direct(Protocol):
    """A way into a store of its own."""

    def dump(self) -> Tables:
        """All rows of all tables, in an order that does not change."""

    def garble(self) -> None:
        """Make all state unreadable, and leave what a sweep goes by."""

    def declare(self, thread_id: str, minutes: int | None) -> None:
        """Let a thread's entry declare this waiting retention, possible or not; or none."""


class Breakable(Direct, Protocol):
    """A way into a store whose records can be broken, as by a hand or a fault."""

    def break_batches(self, column: str, text: str) -> None:
        """Put a text in place of what the first batch of each run keeps in a column."""

    def break_runs(self, column: str, text: str) -> None:
        """Put a text in place of what each run keeps in a column."""

    def unlisted(self) -> AbstractContextManager[str]:
        """Meanwhile no thread can be listed; the word by which the store's error names what is."""


class DirectMemory:
    """The dictionaries of the saver, and the ledger's database beside them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._own = cast(SqliteDatabase, cast(RelationalLedger, store.ledger)._db)

    def declare(self, thread_id: str, minutes: int | None) -> None:
        self._own.connection.execute(DECLARE, (minutes, thread_id))

    def dump(self) -> Tables:
        saver = cast(RetentionMemorySaver, self._store.saver)
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
            "checkpoints": in_order(checkpoints),
            "writes": in_order(writes),
            "blobs": in_order(blobs),
            **dump_sqlite(self._own.connection, OWN_TABLES),
        }

    def garble(self) -> None:
        saver = cast(InMemorySaver, self._store.saver)
        wrong: Any = ("unknown", b"\xc1")
        for spaces in saver.storage.values():
            for held in spaces.values():
                held.update({i: (wrong, wrong, parent) for i, (_, _, parent) in held.items()})
        for key in saver.blobs:
            saver.blobs[key] = wrong


def of_thread(tables: Tables, thread_id: str) -> Tables:
    """The rows that carry a thread's id, the run log's own record apart."""
    held = {
        name: [row for row in rows if row.get("thread_id") == thread_id]
        for name, rows in tables.items()
    }
    return {name: rows for name, rows in held.items() if rows}


def settled(tables: Tables) -> Tables:
    """Rows without what changes on Redis whenever a thread is written to: revision and expiry."""
    return {name: rows for name, rows in tables.items() if name not in ("revisions", "expiry")}


def dump_sqlite(connection: Any, names: Iterable[str]) -> Tables:
    """All rows of some tables of a SQLite database."""
    tables: Tables = {}
    for name in names:
        cursor = connection.execute(f"SELECT * FROM {name}")
        columns = [column[0] for column in cursor.description]
        tables[name] = in_order(dict(zip(columns, row, strict=True)) for row in cursor)
    return tables


def in_order(rows: Iterable[Record]) -> list[Record]:
    """Rows in an order that depends on nothing but what they hold."""
    return sorted(rows, key=repr)
