"""Putting the shared parts of a SQL store together."""

from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from stores.opened import Store
from stores.options import StoreOptions
from stores.relational.database import Database
from stores.relational.deleter import RelationalDeleter
from stores.relational.ledger import RelationalLedger
from stores.relational.rows import ThreadRows
from stores.relational.runs import RelationalRunLog
from stores.relational.threads import RelationalThreads


def assemble(
    provider: str,
    db: Database,
    rows: ThreadRows,
    options: StoreOptions,
    make_saver: Callable[[], BaseCheckpointSaver[Any]],
    waiting_skipped: str | None = None,
) -> Store:
    """Make the ports of a store from its database and its rows.

    Raises:
        ThreadRetentionError: The retention in ``options`` is above the platform's.
    """
    ledger = RelationalLedger(db, rows, options.policy, options.clock, options.retention)
    threads = RelationalThreads(db, rows, ledger)
    runs = RelationalRunLog(db)
    deleter = RelationalDeleter(db, rows, ledger, threads, runs, options.clock)
    return Store(provider, ledger, threads, deleter, runs, make_saver, waiting_skipped)
