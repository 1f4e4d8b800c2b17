"""Opening a run: one at a time, planned whole before a batch is sent."""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from retention.errors import ClaimLostError, ConfigurationError, StoreError, StoreUnavailableError
from retention.events import event
from retention.ports import BatchPlan
from retention.runs import BatchKind, Run, RunOutcome
from retention.sweep.braking import check_strain, pause_in_force, refuse
from retention.sweep.closing import finish
from retention.sweep.context import Sweep
from retention.sweep.limits import check_manager, over_limit
from retention.sweep.plan import candidates, in_batches
from retention.sweep.result import SweepResult
from retention.threads import Horizon

log = logging.getLogger("retention.sweep")

#: Batches recorded in one transaction of a plan.
_BATCHES_A_STEP = 10


def open_run(sweep: Sweep, run_id: str, *, allow_over_limit: bool) -> SweepResult | None:
    """Open a run, plan it and send its batches.

    Returns:
        The result, where the sweep is over at once: another run is live, the plan failed or is
        above a safety limit, sweeps are paused, or there is nothing to do. None where batches were
        sent, or where this run was opened before: whoever closes it hands out the result.

    Raises:
        ConfigurationError: Another program runs the store, and the operator does not insist; or
            what the back-off goes by cannot be read.
    """
    check_manager(sweep)
    check_strain(sweep)
    paused = pause_in_force(sweep)
    if paused is not None and sweep.store.runs.get(run_id) is None:
        return refuse(sweep, run_id, f"sweeps are {paused}")
    token = sweep.new_token()
    now = sweep.clock()
    run = Run(run_id, sweep.policy, now, sweep.lease_until(), allow_over_limit=allow_over_limit)
    with lease_given_back(sweep, run_id):
        if sweep.store.runs.open(run, token):
            return plan_run(sweep, run, token)
    if sweep.store.runs.get(run_id) is not None:
        return None
    return _skipped(sweep, run)


@contextmanager
def lease_given_back(sweep: Sweep, run_id: str) -> Iterator[None]:
    """End the lease of a run where this process is told to end, or loses the store, within.

    So the next try need not wait for it. The lease may have been taken although nothing said so.
    """
    try:
        yield
    except (StoreUnavailableError, KeyboardInterrupt, SystemExit):
        with suppress(StoreError, ConfigurationError):
            sweep.store.runs.renew(run_id, sweep.clock())
        raise


def plan_run(sweep: Sweep, run: Run, token: str) -> SweepResult | None:
    """Record the plan of an open run, hold it against the limits, and send its batches.

    Raises:
        StoreUnavailableError: Another try may work.
    """
    try:
        due, batches = _record_plan(sweep, run, token)
        sweep.store.runs.note_due(run.run_id, token, due, sweep.lease_until())
        refusal = None if run.allow_over_limit else over_limit(sweep, due.total())
        if refusal is not None:
            event(log, logging.WARNING, "plan_refused", run=run.run_id, reason=refusal)
            return _end(sweep, run, RunOutcome.REFUSED, refusal)
        sweep.store.runs.end_plan(run.run_id, token, sweep.lease_until())
    except ClaimLostError:
        event(log, logging.WARNING, "plan_taken_over", run=run.run_id)
        return None
    except StoreUnavailableError:
        raise
    except (StoreError, ConfigurationError) as error:
        event(log, logging.ERROR, "plan_failed", trace=error, run=run.run_id, error=error)
        return _end(sweep, run, RunOutcome.FAILED, str(error))
    event(log, logging.INFO, "run_planned", run=run.run_id, threads=due.total(), batches=batches)
    if batches == 0:
        return finish(sweep, run.run_id)
    sweep.dispatch.batches(run.run_id, range(batches))
    return None


def _record_plan(sweep: Sweep, run: Run, token: str) -> tuple[Counter[Horizon], int]:
    """Record all batches; how many threads past each horizon and batches that makes."""
    options, runs = sweep.options, sweep.store.runs
    found = candidates(
        sweep.store.threads, sweep.rule(run.policy, run.started_at), options.batch_size
    )
    due, batches = Counter(dict.fromkeys(Horizon, 0)), 0
    for some in in_batches(in_batches(found, options.batch_size), _BATCHES_A_STEP):
        plans = [BatchPlan(BatchKind.SWEEP, threads) for threads in some]
        runs.add_batches(run.run_id, token, batches, plans, sweep.lease_until())
        batches += len(plans)
        due.update(candidate.horizon for threads in some for candidate in threads)
    late = _late_batches(sweep, run)
    runs.add_batches(run.run_id, token, batches, late, sweep.lease_until())
    return due, batches + len(late)


def _late_batches(sweep: Sweep, run: Run) -> Sequence[BatchPlan]:
    """Look again at threads deleted lately: in the sweep after, and once a day later."""
    aged = run.started_at - sweep.options.tombstone_age
    sources = sweep.store.runs.late_sources(aged, sweep.options.late_batches)
    return [BatchPlan(BatchKind.LATE, source=source) for source in sources]


def _end(sweep: Sweep, run: Run, outcome: RunOutcome, reason: str) -> SweepResult | None:
    sweep.store.runs.stop(run.run_id, outcome, reason, sweep.clock())
    return finish(sweep, run.run_id)


def _skipped(sweep: Sweep, run: Run) -> SweepResult:
    live = sweep.store.runs.live()
    _count_skipped(sweep, run)
    holder = live.run_id if live else None
    event(log, logging.INFO, "sweep_skipped", run=run.run_id, live_run=holder)
    lease = f" {live.run_id}, its lease runs until {live.lease_until.isoformat()}" if live else ""
    return SweepResult(
        run.run_id,
        RunOutcome.SKIPPED_LOCKED,
        sweep.store.provider,
        run.policy,
        run.started_at,
        skipped=sweep.store.waiting_skipped,
        reason=f"another sweep holds the store: run{lease}",
    )


def _count_skipped(sweep: Sweep, run: Run) -> None:
    """A run without a record still counts; where it cannot, the answer stays the same."""
    try:
        sweep.store.runs.count_unopened(RunOutcome.SKIPPED_LOCKED)
    except (StoreError, ConfigurationError) as error:
        event(log, logging.ERROR, "skipped_run_not_counted", run=run.run_id, error=error)
    sweep.metrics.push(run.run_id, sweep.store.runs)
