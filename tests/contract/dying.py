"""A sweep in a process of its own that kills itself at one of its statements."""

import os
import signal
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

from retention.sweep import LocalDispatch, Sweep, SweepOptions, run_sweep
from stores import Access, Store, StoreOptions, open_store
from stores.postgres.database import PostgresTransaction
from tests import forked
from tests.contract.lab import POLICY, Claims
from tests.contract.pool import LEASE
from tests.gates import gate_redis, one_by_one
from tests.stepping import gate_postgres, gate_sqlite

#: A batch of each kind of outcome, and several of them.
OPTIONS = SweepOptions(batch_size=2, lease=LEASE)


def sweep_and_die(address: str, now: datetime, run_id: str, spared: str, statement: int) -> bool:
    """Sweep, and die right after a statement; False where the sweep came to its end before."""
    arguments = (address, now, run_id, spared, statement)
    process = forked.CONTEXT.Process(target=_run, args=arguments, daemon=True)
    process.start()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def _run(address: str, now: datetime, run_id: str, spared: str, statement: int) -> None:
    left = [statement]

    def count() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    options = StoreOptions(policy=POLICY, clock=lambda: now, access=Access.WRITE)
    with open_store(address, settings=options) as store:
        _gate(store, count)
        local = LocalDispatch()
        sweep = Sweep(store, POLICY, [Claims(spared)], local, options.clock, OPTIONS)
        run_sweep(sweep, local, run_id)


def _gate(store: Store, count: Callable[[], None]) -> None:
    """Call ``count`` after each statement of a store, or each call."""
    parts = cast(Any, store.deleter)
    if store.provider == "redis":
        gate_redis(parts._connection, count)
    elif store.provider == "sqlite":
        gate_sqlite(parts._db, count)
    else:
        together = one_by_one(PostgresTransaction.together)
        PostgresTransaction.together = together  # type: ignore[method-assign]
        with parts._db.connected() as connection:
            gate_postgres(connection, count, everywhere=True)
