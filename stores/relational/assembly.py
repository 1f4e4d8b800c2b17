"""Putting the shared parts of a SQL store together."""

from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from stores.inspection import Inspection
from stores.opened import Store
from stores.options import StoreOptions
from stores.relational.asks import RelationalAsks
from stores.relational.database import Database
from stores.relational.deleter import RelationalDeleter
from stores.relational.formats import Formats
from stores.relational.ledger import RelationalLedger
from stores.relational.park_rows import ParkRows
from stores.relational.rows import StoredRows, ThreadRows
from stores.relational.runs import RelationalRunLog
from stores.relational.threads import RelationalThreads


def assemble(
    provider: str,
    db: Database,
    rows: ThreadRows,
    options: StoreOptions,
    make_saver: Callable[[], BaseCheckpointSaver[Any]],
    waiting_skipped: str | None = None,
    managed: str | None = None,
    parks: ParkRows | None = None,
    make_deleter: type[RelationalDeleter] = RelationalDeleter,
) -> Store:
    """Make the ports of a store from its database and its rows.

    ``parks`` are the rows of asks and barriers, where the database has tables for them.

    Raises:
        ThreadRetentionError: The retention in ``options`` is above the platform's.
    """
    policy, clock = options.policy, options.clock
    ledger = RelationalLedger(db, rows, policy, clock, options.retention, parks)
    threads = RelationalThreads(db, rows, ledger, options.metadata_keys)
    runs = RelationalRunLog(db)
    deleter = make_deleter(db, rows, ledger, threads, runs, clock, parks)
    asks = None if parks is None else RelationalAsks(db, rows, ledger, parks, policy, clock)
    return Store(
        provider, ledger, threads, deleter, runs, make_saver, waiting_skipped, managed, asks
    )


def adopted(
    db: Database,
    rows: StoredRows,
    formats: Formats,
    make_tables: Callable[[], None],
    options: StoreOptions,
    compresses: bool | None,
) -> Inspection:
    """Inspect a store and, with ``compresses`` given, take it over with that setting.

    Nothing is made or recorded where a value of it could not be read back.

    Raises:
        CheckpointStoreFormatError: It is of another format already.
        ConfigurationError: Somebody dropped one of this project's tables.
    """
    formats.recorded()
    formats.refuse_dropped()
    with db.reading() as tx:
        inspection = rows.inspect(tx)
    if compresses is not None and not inspection.unreadable:
        make_tables()
        formats.adopt(options.clock(), compresses=compresses)
    return inspection
