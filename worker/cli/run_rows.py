"""One run of the log, as JSON and as a row of a table."""

from typing import Any

from retention.runs import Outcome, Run
from worker.cli.lines import span

RUN_COLUMNS = ("run", "began (UTC)", "outcome", "took", "planned", "deleted", "spared", "failed")


def run_json(run: Run) -> dict[str, Any]:
    """What the log says of a run; a run that is live has no outcome and no counts yet."""
    return {
        "run_id": run.run_id,
        "state": str(run.state),
        "outcome": None if run.outcome is None else str(run.outcome),
        "reason": run.reason,
        "waiting_minutes": run.policy.waiting_minutes,
        "finished_minutes": run.policy.finished_minutes,
        "started_at": run.started_at.isoformat(),
        "closed_at": None if run.closed_at is None else run.closed_at.isoformat(),
        "duration_seconds": _seconds(run),
        "planned_count": run.planned,
        "swept_count": run.counts.total(Outcome.DELETED),
        "spared_count": run.counts.total(Outcome.SPARED),
        "failed_count": run.counts.total(Outcome.FAILED),
    }


def run_row(run: Run) -> tuple[object, ...]:
    """The cells of a run under ``RUN_COLUMNS``."""
    seconds = _seconds(run)
    return (
        run.run_id,
        f"{run.started_at:%Y-%m-%d %H:%M:%S}",
        run.outcome or run.state,
        None if seconds is None else span(seconds),
        run.planned,
        run.counts.total(Outcome.DELETED),
        run.counts.total(Outcome.SPARED),
        run.counts.total(Outcome.FAILED),
    )


def _seconds(run: Run) -> float | None:
    if run.closed_at is None:
        return None
    return round((run.closed_at - run.started_at).total_seconds(), 3)
