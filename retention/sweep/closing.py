"""Closing a run: one winner totals it and hands out its result."""

import logging
from datetime import datetime

from retention.errors import ConfigurationError, StoreError
from retention.events import event
from retention.runs import Outcome, Run
from retention.sweep.context import Sweep
from retention.sweep.result import SweepResult, ThreadLists, outcome_of

log = logging.getLogger("retention.sweep")


def finish(sweep: Sweep, run_id: str) -> SweepResult | None:
    """Close a run without open batches and hand out its result; None if it is not ours to close.

    Records of runs older than the history go with it, and ledger entries of threads that never
    came to hold anything; a bounded number of each.
    """
    now = sweep.clock()
    run = sweep.store.runs.close(run_id, now)
    if run is None:
        return None
    _log_closed(run)
    result = publish(sweep, run)
    _tidy_up(sweep, run, now)
    # Last: a monitor that answers slowly keeps nobody waiting for the result.
    sweep.metrics.push(run_id, sweep.store.runs)
    return result


def _tidy_up(sweep: Sweep, run: Run, now: datetime) -> None:
    """A failure here takes nothing from the closed run: the next sweep tidies up as well."""
    options = sweep.options
    try:
        sweep.store.runs.forget(now - options.history, options.forget_runs)
        sweep.store.ledger.drop_bare(now - run.policy.waiting, options.bare_entries)
    except (StoreError, ConfigurationError) as error:
        event(log, logging.ERROR, "old_records_stay", run=run.run_id, error=error)


def _log_closed(run: Run) -> None:
    total = run.counts.total
    event(
        log,
        logging.INFO,
        "run_closed",
        run=run.run_id,
        outcome=run.outcome,
        planned=run.planned,
        swept=total(Outcome.DELETED),
        spared=total(Outcome.SPARED),
        failed=total(Outcome.FAILED),
        reason=run.reason,
    )


def publish(sweep: Sweep, run: Run) -> SweepResult:
    """Hand out the result of a closed run, and note that it was."""
    result = result_of(sweep, run)
    if sweep.dispatch.publish(result):
        sweep.store.runs.mark_published(run.run_id, sweep.clock())
    return result


def result_of(sweep: Sweep, run: Run) -> SweepResult:
    """The result of a run, closed or not, with the threads its batches name."""
    lists = ThreadLists(sweep.options.result_threads)
    lists.add_batches(sweep.store.runs.batches(run.run_id), run.counts)
    return SweepResult(
        run.run_id,
        run.outcome or outcome_of(run.counts, None),
        sweep.store.provider,
        run.policy,
        run.started_at,
        planned=run.planned,
        counts=run.counts,
        threads=lists,
        skipped=sweep.store.waiting_skipped,
        reason=run.reason,
        duration=(run.closed_at or sweep.clock()) - run.started_at,
    )
