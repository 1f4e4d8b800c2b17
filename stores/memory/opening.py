"""Opening a memory store: it is new each time, and gone at the end."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager

from retention.errors import ConfigurationError
from retention.threads import Ended
from stores.inspection import Inspection
from stores.memory.rows import MemoryRows
from stores.memory.saver import RetentionMemorySaver
from stores.opened import Store
from stores.options import StoreOptions
from stores.relational.assembly import assemble
from stores.relational.schema import statements
from stores.relational.sqlite_database import SqliteDatabase

_WAITING_SKIPPED = "a thread in memory lives as long as its process"


@contextmanager
def open_store(address: str, options: StoreOptions) -> Iterator[Store]:
    """Open a new, empty store. Its ledger and run log live in a database in memory."""
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    with closing(connection):
        db = SqliteDatabase(connection, address)
        with db.transaction() as tx:
            for statement in ddl():
                tx.change(statement)

        def ended(thread_id: str) -> Ended | None:
            entry = store.ledger.entries([thread_id]).get(thread_id)
            return entry.ended if entry else None

        saver = RetentionMemorySaver(db.lock, ended)
        rows = MemoryRows(saver)
        store = assemble("memory", db, rows, options, lambda: saver, _WAITING_SKIPPED)
        yield store


@asynccontextmanager
async def aopen_store(address: str, options: StoreOptions) -> AsyncIterator[Store]:
    """Open a new, empty store; its saver serves both sync and async callers."""
    with open_store(address, options) as store:
        yield store


def init(address: str, options: StoreOptions) -> None:
    """Nothing to make: a memory store begins anew each time it is opened."""


def adopt(address: str, options: StoreOptions, compresses: bool | None) -> Inspection:
    """Refuse: there is nothing to take over.

    Raises:
        ConfigurationError: Always.
    """
    raise ConfigurationError("a memory store is new each time: there is nothing to adopt")


def ddl() -> list[str]:
    """The statements that make the ledger and the run log beside the checkpoints."""
    return statements("TEXT")
