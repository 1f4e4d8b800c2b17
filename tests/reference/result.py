"""docs/reference/result.md."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from retention.policy import RetentionPolicy
from retention.runs import Candidate, Counts, Outcome, RunOutcome, ThreadOutcome
from retention.sweep import SweepResult
from retention.sweep.result import ThreadLists
from retention.threads import Horizon
from tests.reference import markdown
from tests.reference.markdown import code, table

_INTRODUCTION = """\
The same fields come from `retention.sweep`, from `celery -A worker result ID`, and from `retention
sweep run`, `start --wait` and `history RUN` with `--json`; in a dry run "swept" reads "would be
swept". The counts are exact. The lists hold at most `SWEEP_RESULT_THREADS` entries each; `retention
sweep history RUN --threads` gives every thread.
"""

_OUTCOMES = {
    RunOutcome.COMPLETED: "every thread of the plan was settled: deleted, or left for a reason",
    RunOutcome.PARTIAL: "some threads failed, or the run was cancelled; the rest was swept",
    RunOutcome.FAILED: "the run could not go on, as when a filter fails; nothing after it goes",
    RunOutcome.BUDGET_EXHAUSTED: "it lasted longer than SWEEP_TIME_BUDGET_SECONDS",
    RunOutcome.SKIPPED_LOCKED: "another sweep holds the store; nothing was done",
    RunOutcome.REFUSED: "the plan is above a safety limit, sweeps are paused, or the window is "
    "closed; nothing was deleted",
}

_FIELDS = {
    "run_id": "The run; also the Celery id of its task.",
    "outcome": "How the run ended, see above.",
    "dry_run": "Whether nothing was changed.",
    "provider": "The kind of store.",
    "waiting_minutes": "The waiting retention in force.",
    "finished_minutes": "The finished retention in force.",
    "swept_count": "Threads deleted.",
    "finished_count": "Threads deleted past their due time, after a mark.",
    "waiting_count": "Threads deleted as idle for too long.",
    "spared_count": "Threads that a live-thread filter claimed.",
    "failed_count": "Threads that could not be deleted.",
    "held_count": "Threads that an operator holds.",
    "restarted_count": "Threads started, written to or marked anew since the plan.",
    "busy_count": "Threads in use at that instant.",
    "undatable_count": "Threads whose age cannot be told; never deleted for age.",
    "cancelled_count": "Threads left alone when the run ended early.",
    "planned_count": "Threads of the plan.",
    "finished_swept": "Ids of the threads that `finished_count` counts.",
    "waiting_swept": "Ids of the threads that `waiting_count` counts.",
    "undatable": "Ids of the undatable threads.",
    "spared": "The spared threads: `thread_id`, `horizon`, `owner` (the filter's).",
    "failed": "The failed threads: `thread_id`, `horizon`, `error`.",
    "truncated": "Whether a list was cut.",
    "skipped": "Why the waiting horizon was not swept.",
    "reason": "Why the run ended as it did, where that is not plain from its outcome.",
    "started_at": "When it began, in UTC.",
    "duration_seconds": "How long it took, from its start to its close.",
}

_TYPES = {
    str: "text",
    bool: "true or false",
    int: "number",
    float: "number",
    list: "list",
    type(None): "text or null",
}


def page() -> str:
    """Every field of a result, as a sweep gives it."""
    document = _sample().to_json()
    return markdown.page(
        "The result of a sweep",
        _INTRODUCTION,
        "## Outcomes",
        table(("outcome", "meaning"), [(code(o), _OUTCOMES[o]) for o in RunOutcome]),
        "A `partial` or `failed` run is a Celery SUCCESS whose result says so.",
        "## Fields",
        table(("field", "value", "meaning"), _rows(document)),
        "## Example",
        f"```json\n{json.dumps(document, indent=2)}\n```",
    )


def _rows(document: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [(code(name), _TYPES[type(v)], _FIELDS[name]) for name, v in document.items()]


def _sample() -> SweepResult:
    swept = [
        (Candidate("order-1001", Horizon.FINISHED), ThreadOutcome(Outcome.DELETED)),
        (Candidate("chat-17", Horizon.WAITING), ThreadOutcome(Outcome.DELETED)),
        (Candidate("approval-7", Horizon.WAITING), ThreadOutcome(Outcome.SPARED, "flows-engine")),
    ]
    lists = ThreadLists(1000)
    for candidate, outcome in swept:
        lists.add(candidate, outcome)
    return SweepResult(
        "0f4a3c1e-5d5b-4d0e-9b0a-1f6f1c1f7a55",
        RunOutcome.COMPLETED,
        "postgres",
        RetentionPolicy(),
        datetime(2026, 1, 31, 3, 0, tzinfo=UTC),
        planned=len(swept),
        counts=Counts.of(iter(swept)),
        threads=lists,
        duration=timedelta(seconds=1.25),
    )
