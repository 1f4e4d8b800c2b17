"""Working on one batch of a run."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from retention.errors import (
    ClaimLostError,
    ConfigurationError,
    LiveThreadFilterError,
    StoreError,
    StoreUnavailableError,
)
from retention.events import event
from retention.ports import Claim
from retention.runs import Batch, BatchKind, Counts, Outcome, RunOutcome, Source, ThreadOutcome
from retention.sweep.batch import clean_late_writes, sweep_threads
from retention.sweep.braking import hold_up
from retention.sweep.context import Sweep
from retention.sweep.delivering import deliver, is_behind

log = logging.getLogger("retention.sweep")


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What came of a call for one batch. ``retry_at``: somebody else's claim ends then.

    ``held_up`` says why no batch may begin now; ``batch`` is the one that was worked on.
    """

    worked: bool
    retry_at: datetime | None = None
    held_up: str | None = None
    batch: Batch | None = None

    def to_json(self) -> dict[str, Any]:
        """The report as JSON types: how many threads came to what, and no thread's name."""
        counts = Counts() if self.batch is None else self.batch.counts()
        totals = {str(outcome): counts.total(outcome) for outcome in Outcome}
        return {"worked": self.worked, **{name: n for name, n in totals.items() if n}}


def work_on(sweep: Sweep, run_id: str, number: int) -> BatchReport:
    """Claim a batch, work on it and close it; the last one has its run closed.

    Raises:
        StoreUnavailableError: Another try may work.
    """
    held_up = hold_up(sweep, run_id)
    if held_up is not None:
        event(log, logging.INFO, "batch_held_up", run=run_id, batch=number, reason=held_up.reason)
        return BatchReport(False, held_up.retry_at, held_up.reason)
    runs = sweep.store.runs
    token, until = sweep.new_token(), sweep.lease_until()
    try:
        claim = runs.claim(run_id, number, token, sweep.clock(), until)
        if claim is None:
            return _unclaimed(sweep, run_id, number)
        _work(sweep, claim)
        runs.finish_batch(claim, sweep.clock(), owes=bool(sweep.hooks.calls))
    except ClaimLostError:
        event(log, logging.WARNING, "batch_taken_over", run=run_id, batch=number)
        return BatchReport(worked=False)
    except (StoreUnavailableError, KeyboardInterrupt, SystemExit):
        # The next try need not wait for the claim to run out, if the store can be told. It may
        # have been taken although nothing said so.
        with suppress(StoreError, ConfigurationError):
            runs.release(run_id, number, token)
        raise
    if runs.count_open(run_id) == 0:
        sweep.dispatch.finish(run_id)
    _deliver(sweep, claim)
    return BatchReport(worked=True, batch=claim.batch)


def _deliver(sweep: Sweep, claim: Claim) -> None:
    """Tell the hooks of what the batch deleted; an outage here leaves it to the next tick."""
    if not sweep.hooks.calls or not claim.batch.deleted():
        return
    try:
        if not is_behind(sweep):
            deliver(sweep, Source(claim.run.run_id, claim.batch.number))
    except (StoreError, ConfigurationError) as error:
        event(log, logging.WARNING, "delivery_put_off", **_ids(claim), error=error)


def _unclaimed(sweep: Sweep, run_id: str, number: int) -> BatchReport:
    batch = sweep.store.runs.batch(run_id, number)
    if batch is None or batch.done_at is not None:
        return BatchReport(worked=False)
    return BatchReport(worked=False, retry_at=batch.claimed_until)


def _work(sweep: Sweep, claim: Claim) -> None:
    now = sweep.clock()
    budget = sweep.options.time_budget
    if budget is not None and now - claim.run.started_at >= budget:
        reason = f"the run lasted longer than its budget of {budget.total_seconds():g} seconds"
        event(log, logging.WARNING, "budget_exhausted", **_ids(claim), reason=reason)
        _stop(sweep, claim, RunOutcome.BUDGET_EXHAUSTED, reason)
    elif claim.batch.attempts > sweep.options.batch_attempts:
        _give_up(sweep, claim)
    else:
        _sweep(sweep, claim, now)


def _sweep(sweep: Sweep, claim: Claim, now: datetime) -> None:
    try:
        if claim.batch.kind is BatchKind.LATE:
            clean_late_writes(sweep.store, claim, sweep.options, now)
            return
        rule = sweep.rule(claim.run.policy, claim.run.started_at)
        sweep_threads(sweep, claim, rule, now)
    except (LiveThreadFilterError, ConfigurationError) as error:
        event(log, logging.ERROR, "run_failed", trace=error, **_ids(claim), error=error)
        _stop(sweep, claim, RunOutcome.FAILED, str(error))


def _stop(sweep: Sweep, claim: Claim, outcome: RunOutcome, reason: str) -> None:
    """Start no further batch of the run, and leave the rest of this one alone."""
    sweep.store.runs.stop(claim.run.run_id, outcome, reason, sweep.clock())
    _record_open(sweep, claim, ThreadOutcome(Outcome.CANCELLED, reason))


def _give_up(sweep: Sweep, claim: Claim) -> None:
    reason = f"given up after {sweep.options.batch_attempts} attempts"
    event(log, logging.ERROR, "batch_given_up", **_ids(claim), attempts=claim.batch.attempts - 1)
    _record_open(sweep, claim, ThreadOutcome(Outcome.FAILED, reason))


def _ids(claim: Claim) -> dict[str, Any]:
    return {"run": claim.run.run_id, "batch": claim.batch.number}


def _record_open(sweep: Sweep, claim: Claim, thread: ThreadOutcome) -> None:
    if claim.batch.kind is BatchKind.SWEEP and claim.batch.open_indexes():
        sweep.store.runs.record(claim, dict.fromkeys(claim.batch.open_indexes(), thread))
