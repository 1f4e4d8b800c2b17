"""What an erase owes the hooks: kept in the store before the thread goes, lest one is forgotten.

An erase is no run, so its debt is a batch of its own: written before the delete, and due only once
a lease has passed, unless the erase says before that what came of it. A process that dies between
leaves it to a tick, which tells the hooks where nothing is left of the thread.
"""

from collections.abc import Mapping
from dataclasses import replace

from retention.errors import ConfigurationError, StoreError
from retention.runs import Batch, BatchKind, Candidate, Outcome, Source, ThreadOutcome
from retention.sweep.context import Sweep
from retention.sweep.delivering import put_off, tell
from retention.threads import Horizon


def owe_erase(sweep: Sweep, thread_id: str) -> Batch:
    """Keep that hooks are to be told of a thread which is about to be erased.

    Raises:
        StoreError: It cannot be kept: the thread must stay.
    """
    candidates, now = [Candidate(thread_id, Horizon.FINISHED)], sweep.clock()
    run_id = f"erase-{sweep.new_token()}"
    batch = Batch(run_id, 0, candidates, BatchKind.ERASE, done_at=now)
    sweep.store.runs.deliveries.owe(batch, sweep.lease_until())
    return batch


def pay_erase(sweep: Sweep, batch: Batch) -> Mapping[str, str | None]:
    """Tell the hooks that are on here of the erased thread; the error of each, None for none.

    Where none is on here, and where one fails, the next tick of a sweep tells them. Nothing that
    happens here undoes the erase: an outage is told in the place of each hook's error.
    """
    erased = replace(batch, outcomes={0: ThreadOutcome(Outcome.DELETED)})
    try:
        sweep.store.runs.deliveries.owe(erased, sweep.clock())
        return tell(sweep, _source(batch)) if sweep.hooks.calls else {}
    except (StoreError, ConfigurationError) as error:
        put_off(_source(batch), error)
        return dict.fromkeys(sweep.hooks.calls, str(error))


def forgive_erase(sweep: Sweep, batch: Batch) -> None:
    """Keep no longer that hooks are to be told: the thread was not erased.

    What the store does not let go is cleared by a tick.
    """
    try:
        sweep.store.runs.deliveries.drop(_source(batch))
    except (StoreError, ConfigurationError) as error:
        put_off(_source(batch), error)


def _source(batch: Batch) -> Source:
    return Source(batch.run_id, batch.number)
