"""One batch, from its claim to its end: ask the filters, settle each thread, look again."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from retention.errors import (
    ClaimLostError,
    ConfigurationError,
    StoreError,
    StoreTimeoutError,
    StoreUnavailableError,
)
from retention.events import event
from retention.filters import ask
from retention.ports import CheckpointStore, Claim
from retention.runs import Outcome, ThreadOutcome
from retention.sweep.context import Sweep
from retention.sweep.options import SweepOptions
from retention.sweep.pacing import is_shared, most_at_once
from retention.sweep.rounds import delete_remnants
from retention.threads import Horizon, Judge, Rule

log = logging.getLogger("retention.sweep")

#: Outcomes whose threads the log names; all others are only counted.
_NAMED = (Outcome.SPARED, Outcome.FAILED)


def sweep_threads(sweep: Sweep, claim: Claim, rule: Rule, now: datetime) -> None:
    """Settle the candidates of a claimed batch that have no outcome yet, and look again.

    Raises:
        LiveThreadFilterError: Nothing of this batch was deleted after it.
        ClaimLostError: Another worker has the batch by now.
        StoreUnavailableError: Another try may work.
    """
    open_indexes = claim.batch.open_indexes()
    if open_indexes:
        thread_ids = [claim.batch.candidates[i].thread_id for i in open_indexes]
        spared = ask(sweep.filters, thread_ids, sweep.options.filter_timeout)
        _settle_all(sweep, claim, rule.judge, open_indexes, spared)
    _look_again(sweep.store, claim, sweep.options, now)
    log_outcomes(claim)


def clean_late_writes(
    store: CheckpointStore, claim: Claim, options: SweepOptions, now: datetime
) -> None:
    """Remove what was written late to the threads that an earlier batch deleted.

    Raises:
        ClaimLostError: Another worker has the batch by now.
        StoreUnavailableError: Another try may work.
    """
    heads = {c.thread_id: c.head for c in claim.batch.candidates if c.head is not None}
    _delete_remnants(store, claim, heads, options, now, whole=True)
    log_outcomes(claim)


def _settle_all(
    sweep: Sweep, claim: Claim, judge: Judge, indexes: Sequence[int], spared: Mapping[str, str]
) -> None:
    """Settle these threads, halving what fails until a failing thread stands alone."""
    sweep.pace.begin_batch(sweep.options)
    left = [indexes]
    while left:
        some = left.pop()
        shared = is_shared(sweep.store.deleter, sweep.options)
        most = most_at_once(sweep.store.deleter)
        limit = sweep.pace.limit(sweep.options, shared=shared, most=most)
        if len(some) > limit:
            left.append(some[limit:])
            some = some[:limit]
        if not _settle(sweep, claim, judge, some, spared, shared=shared):
            middle = len(some) // 2
            left += some[middle:], some[:middle]


def _settle(
    sweep: Sweep,
    claim: Claim,
    judge: Judge,
    indexes: Sequence[int],
    spared: Mapping[str, str],
    *,
    shared: bool,
) -> bool:
    """Settle these threads in one transaction; False where fewer are to be tried at once."""
    sweep.pace.rest(sweep.clock(), sweep.sleep)
    began = sweep.clock()
    try:
        sweep.store.deleter.settle(claim, indexes, judge, spared)
    except (ClaimLostError, StoreUnavailableError):
        raise
    except StoreError as error:
        if isinstance(error, StoreTimeoutError):
            sweep.pace.timed_out(len(indexes))
        if len(indexes) > 1:
            return False
        failed = ThreadOutcome(Outcome.FAILED, str(error))
        sweep.store.runs.record(claim, {indexes[0]: failed})
        return True
    sweep.pace.settled(len(indexes), began, sweep.clock(), sweep.options, shared=shared)
    return True


def _look_again(store: CheckpointStore, claim: Claim, options: SweepOptions, now: datetime) -> None:
    """Delete what runs wrote while their threads were deleted; name a thread that stays."""
    _delete_remnants(store, claim, claim.batch.deleted_heads(), options, now, whole=False)


def _delete_remnants(
    store: CheckpointStore,
    claim: Claim,
    heads: Mapping[str, str],
    options: SweepOptions,
    now: datetime,
    *,
    whole: bool,
) -> None:
    remnants = store.deleter.remnants(heads, whole=whole) if heads else set()
    if not remnants:
        return
    outcomes: dict[int, ThreadOutcome] = {}
    for index, candidate in enumerate(claim.batch.candidates):
        if candidate.thread_id not in remnants:
            continue
        head = heads[candidate.thread_id]
        try:
            if delete_remnants(store.deleter, candidate.thread_id, head, options, now) and whole:
                outcomes[index] = ThreadOutcome(Outcome.CLEANED)
        except StoreUnavailableError:
            raise
        except StoreError as error:  # rounds used up, or a row that the store will not delete
            outcomes[index] = ThreadOutcome(Outcome.FAILED, str(error), head)
    if outcomes:
        _record(store, claim, outcomes, whole=whole)


def _record(
    store: CheckpointStore, claim: Claim, outcomes: Mapping[int, ThreadOutcome], *, whole: bool
) -> None:
    """Record what came of a look; a thread that this run deleted in vain keeps its mark."""
    if not whole:
        _keep_marks(store, claim, outcomes)
    store.runs.record(claim, outcomes)


def _keep_marks(
    store: CheckpointStore, claim: Claim, outcomes: Mapping[int, ThreadOutcome]
) -> None:
    """Let threads that were marked, and did not go whole, be found by their mark again."""
    candidates = [claim.batch.candidates[i] for i in outcomes]
    marked = [c.thread_id for c in candidates if c.horizon is Horizon.FINISHED]
    if not marked:
        return
    try:
        store.ledger.keep_marks(marked, claim.run.started_at)
    except StoreUnavailableError:
        raise
    except (StoreError, ConfigurationError) as error:
        event(
            log,
            logging.ERROR,
            "marks_not_kept",
            run=claim.run.run_id,
            batch=claim.batch.number,
            threads=len(marked),
            error=error,
        )


def log_outcomes(claim: Claim) -> None:
    """Say in the log which threads were spared and which failed."""
    for index, thread in claim.batch.outcomes.items():
        if thread.outcome not in _NAMED:
            continue
        candidate = claim.batch.candidates[index]
        where: dict[str, Any] = {
            "run": claim.run.run_id,
            "batch": claim.batch.number,
            "thread": candidate.thread_id,
            "horizon": candidate.horizon,
        }
        if thread.outcome is Outcome.SPARED:
            event(log, logging.WARNING, "thread_spared", **where, owner=thread.detail)
        else:
            event(log, logging.ERROR, "thread_failed", **where, error=thread.detail)
