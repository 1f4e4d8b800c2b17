"""Bringing a live run on its way again, and stopping one."""

import logging
from datetime import datetime

from retention.errors import StoreError, StoreUnavailableError
from retention.events import event
from retention.ports import SupportsMendingRuns
from retention.runs import Run, RunOutcome, RunState
from retention.sweep.braking import pause_in_force, resume
from retention.sweep.closing import finish, publish
from retention.sweep.context import Sweep
from retention.sweep.delivering import deliver_pending
from retention.sweep.opening import lease_given_back, plan_run

log = logging.getLogger("retention.sweep")

#: Lost results handed out again in one pass.
_RESULTS_A_PASS = 10


def repair(sweep: Sweep) -> None:
    """Resend batches whose claims ran out, make a stopped plan again, close what is done.

    While sweeps are paused nothing is planned or sent. Results that were lost are handed out
    again, and hooks told of what they were not.
    """
    _publish_again(sweep)
    _repair_live(sweep)
    deliver_pending(sweep)


def _is_paused(sweep: Sweep) -> bool:
    """Whether sweeps are paused; a pause that lapsed is taken off."""
    if pause_in_force(sweep) is not None:
        return True
    resume(sweep)
    return False


def _repair_live(sweep: Sweep) -> None:
    paused = _is_paused(sweep)
    run, now = sweep.store.runs.live(), sweep.clock()
    if run is None:
        return
    if run.state is RunState.PLANNING:
        if not paused:
            _plan_again(sweep, run, now)
        return
    if run.state is RunState.STOPPING and run.outcome is not None:
        sweep.store.runs.stop(run.run_id, run.outcome, run.reason or "", now)
    if sweep.store.runs.count_open(run.run_id) == 0:
        finish(sweep, run.run_id)
    elif not paused:
        _resend(sweep, run, now)


def _publish_again(sweep: Sweep) -> None:
    """Hand out results that were lost, as long as somebody takes them."""
    for closed in sweep.store.runs.unpublished(_RESULTS_A_PASS):
        publish(sweep, closed)
        run = sweep.store.runs.get(closed.run_id)
        if run is not None and run.published_at is None:
            return


def cancel(sweep: Sweep, reason: str) -> Run | None:
    """Stop the live run, leaving its remaining threads alone; the run as it then stands.

    A batch that somebody works on is finished first: the run closes after it.
    """
    run = sweep.store.runs.live()
    return None if run is None else cancel_run(sweep, run.run_id, reason)


def cancel_run(sweep: Sweep, run_id: str, reason: str) -> Run | None:
    """Stop this run if it is live; the run as it then stands, None where there is no such run.

    One whose record cannot be read is written anew as a failed run, where the store can do that.

    Raises:
        StoreError: The record cannot be read, and the store cannot mend it.
    """
    runs = sweep.store.runs
    try:
        run = runs.get(run_id)
    except StoreUnavailableError:
        raise
    except StoreError as error:
        if not isinstance(runs, SupportsMendingRuns):
            raise
        event(log, logging.WARNING, "run_mended", run=run_id, error=error)
        runs.mend(run_id, sweep.policy, f"{reason}: its record could not be read", sweep.clock())
        finish(sweep, run_id)
        return runs.get(run_id)
    if run is None or run.closed_at is not None:
        return run
    runs.stop(run_id, RunOutcome.PARTIAL, reason, sweep.clock())
    finish(sweep, run_id)
    return runs.get(run_id)


def _plan_again(sweep: Sweep, run: Run, now: datetime) -> None:
    token = sweep.new_token()
    if not run.is_stale(now):
        return
    with lease_given_back(sweep, run.run_id):
        if sweep.store.runs.take_plan(run.run_id, token, now, sweep.lease_until()):
            event(log, logging.WARNING, "plan_made_again", run=run.run_id)
            plan_run(sweep, run, token)


def _resend(sweep: Sweep, run: Run, now: datetime) -> None:
    """Queued batches are sent again only where nobody renewed the run: its queue was lost."""
    numbers = sweep.store.runs.open_batches(run.run_id, now, unclaimed=run.is_stale(now))
    if not numbers:
        return
    sweep.store.runs.renew(run.run_id, sweep.lease_until())
    event(log, logging.WARNING, "batches_sent_again", run=run.run_id, batches=len(numbers))
    sweep.dispatch.batches(run.run_id, numbers)
