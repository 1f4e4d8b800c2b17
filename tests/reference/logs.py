"""docs/reference/logs.md."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.reference import markdown
from tests.reference.markdown import code, table

_ROOT = Path(__file__).resolve().parents[2]

_INTRODUCTION = """\
Each event is one line, in the worker, in beat and on the command's stderr. `SWEEP_LOG_FORMAT=kv`
(the default) writes `key=value`, `SWEEP_LOG_FORMAT=json` the same as one JSON object:

    time=2026-01-31T03:00:00.125Z level=WARNING event=thread_spared run=0f4a… batch=0
    thread=approval-7 horizon=waiting owner=flows-engine task=retention.sweep_batch task_id=9c1b…
    logger=retention.sweep

(one line, broken here for the page). A line begins with `time` (UTC), `level` and `event`; then
come the fields of the event, the Celery task it happened in (`task`, `task_id`), and the `logger`.
A value with blanks, quotes, `=` or anything unprintable is a JSON string, so no thread id can forge
a line. No line holds a thread's state or a password. An exception is `error=`, its type and
message; `traceback=` is there only at `--loglevel DEBUG`, or with `--debug`.

Level and file are Celery's: `celery -A worker worker --loglevel INFO --logfile FILE`. An
application that uses `stores` and `retention` without our worker reads the same events through its
own logging, as `thread_spared run=… batch=…`.
"""

_CELERY = """\
What Celery says of a task has an event of its own: `task_received`, `task_succeeded` (with
`seconds`), `task_failed` and `task_retried` (with `error`), `task_ignored` (a sweep that opened a
run: whoever closes that stores the result), `task_rejected`. Any other line of Celery or of a
driver is `event=log` with its text as `message`.
"""

_MEANINGS = {
    "batch_held_up": "No batch may begin now: sweeps are paused, or the server is behind.",
    "batch_done": "A batch was worked on and closed.",
    "batch_given_up": "A batch was tried too often; its open threads count as failed.",
    "batch_left_alone": "A batch was done already, or another worker holds it.",
    "batch_taken_over": "The claim on a batch ran out and another worker has it.",
    "batches_not_sent": "The broker did not take batches; the next tick sends them.",
    "batches_sent_again": "Batches of a live run that nobody works on were sent again.",
    "broker_file_unreadable": "A file of the filesystem broker holds no message; it was moved.",
    "budget_exhausted": "The run lasted longer than its time budget and starts no more batches.",
    "called_again": "The task is sent once more, for when another worker's claim ends.",
    "delivery_given_up": "Hooks failed for as long as history is kept; they are told no more.",
    "delivery_put_off": "The store failed when hooks were to be told; the next tick tells them.",
    "erase_unfinished": "An erase died, and its thread holds something: hooks hear of no erase.",
    "expiry_blocks": "The server expires keys in its main thread: a large thread holds all up.",
    "finish_not_sent": "The broker did not take the closing of a run; the next tick sends it.",
    "hook_failed": "A hook raised or took too long; it is told again, later each time.",
    "marks_not_kept": "Marked threads did not go whole and lost their marks; age alone finds them.",
    "metrics_not_pushed": "The Pushgateway did not take the metrics; the next run makes up for it.",
    "monitors_not_told": "The event for Flower and other monitors was not sent.",
    "not_called_again": "The broker did not take a task's second call; the next tick repairs.",
    "old_records_stay": "Old runs could not be dropped; the next sweep tries again.",
    "batch_unreadable": "A batch in the run log cannot be read; its threads are left alone.",
    "counts_unreadable": "Counts in the run log cannot be read; the run's numbers miss them.",
    "plan_failed": "The plan met an error of the store, so the run failed.",
    "plan_made_again": "The plan of a run that nobody renewed is made anew.",
    "plan_refused": "The plan is above a safety limit; nothing is deleted.",
    "plan_taken_over": "Another worker plans this run by now.",
    "result_not_stored": "The result backend did not take the result; the next tick tries again.",
    "result_stored": "The result can be had under the run's id.",
    "run_closed": "A run is over; its outcome and counts.",
    "run_failed": "A filter or a setting failed the run; nothing after this is deleted.",
    "run_not_marked": "How a run ended could not be read, or the ledger did not answer: its "
    "threads stay unmarked and leave on the waiting horizon.",
    "run_mended": "A run whose record could not be read was ended at an operator's word.",
    "run_planned": "The plan is whole; its batches are sent.",
    "run_unreadable": "A run in the log cannot be read; lists leave it out.",
    "skipped_run_not_counted": "The totals in the store miss a sweep that was skipped.",
    "store_not_read": "The metrics were asked for, and the store could not be read.",
    "sweep_asked_for": "A sweep was asked for.",
    "sweep_not_begun": "A sweep may not begin now: sweeps are paused, or the window is closed.",
    "sweep_skipped": "Another run holds the store.",
    "thread_ids_unreadable": "Threads whose id is no UTF-8 text, in a SQLite store, are left alone;"
    " the first is named, as a literal of SQL.",
    "thread_erased": "An operator erased a thread, or a hold kept it: see its outcome.",
    "thread_failed": "A thread could not be deleted; the others go on.",
    "thread_spared": "A live-thread filter claimed a thread past its horizon.",
    "waiting_policies_unused": "Waiting threads go by themselves here: policies shorten only the "
    "finished horizon.",
    "worker_starting": "A worker starts: its versions, broker, queues and pool.",
}

#: The fields behind what a call takes from elsewhere.
_SPREAD = {
    "**where": ("run", "batch", "thread", "horizon"),
    "**_ids(claim)": ("run", "batch"),
}


def page() -> str:
    """Every event with its level and its fields, from the calls that log it."""
    events = {name: row for call in _calls() for name, row in _rows(call)}
    return markdown.page(
        "The log",
        _INTRODUCTION,
        "## Events",
        table(("event", "level", "fields", "meaning"), [events[name] for name in sorted(events)]),
        "## Celery's own lines",
        _CELERY,
    )


def _calls() -> Iterator[ast.Call]:
    for package in ("retention", "stores", "worker"):
        for path in sorted((_ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "event":
                    yield node


def _rows(call: ast.Call) -> Iterator[tuple[str, tuple[str, ...]]]:
    level = ast.unparse(call.args[1]).removeprefix("logging.")
    fields = ", ".join(code(name) for name in _fields(call))
    for name in _names(call.args[2]):
        if name not in _MEANINGS:
            raise LookupError(f"tests/reference/logs.py does not say what event {name!r} means")
        yield name, (code(name), level, fields, _MEANINGS[name])


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.IfExp):
        return [*_names(node.body), *_names(node.orelse)]
    return [str(ast.literal_eval(node))]


def _fields(call: ast.Call) -> Iterator[str]:
    for keyword in call.keywords:
        if keyword.arg is None:
            yield from _SPREAD[f"**{ast.unparse(keyword.value)}"]
        elif keyword.arg != "trace":
            yield keyword.arg
