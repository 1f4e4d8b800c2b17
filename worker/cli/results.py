"""Showing the result of a sweep."""

from collections.abc import Mapping
from typing import Any

from worker.cli.lines import span
from worker.cli.printing import print_facts, print_line, print_table

_ROWS = (
    ("finished_count", "past its due time"),
    ("waiting_count", "idle for too long"),
    ("spared_count", "spared by a live-thread filter"),
    ("failed_count", "failed"),
    ("held_count", "held"),
    ("restarted_count", "restarted meanwhile"),
    ("busy_count", "in use just then"),
    ("undatable_count", "of unknown age"),
    ("cancelled_count", "left alone when the run ended early"),
)
_ALWAYS = ("finished_count", "waiting_count", "spared_count")
_NAMED = 10


def show_result(result: Mapping[str, Any]) -> None:
    """Print a sweep's result, in the form ``SweepResult.to_json`` gives it, for people."""
    done = "would delete" if result["dry_run"] else "deleted"
    print_facts(
        [
            ("run", result["run_id"]),
            ("outcome", result["outcome"] or result.get("state")),
            ("why", result["reason"]),
            ("dry run", "nothing was changed" if result["dry_run"] else None),
            ("store", result["provider"]),
            ("retention", _retention(result)),
            ("waiting threads", result["skipped"]),
            ("took", span(result["duration_seconds"])),
        ]
    )
    print_table(
        ("threads", "number"),
        [
            (f"{done}: {text}" if name in _ALWAYS[:2] else text, result[name])
            for name, text in _ROWS
            if name in _ALWAYS or result[name]
        ],
    )
    _show_threads(result)


def _retention(result: Mapping[str, Any]) -> str:
    waiting, finished = result["waiting_minutes"] * 60, result["finished_minutes"] * 60
    return f"waiting {span(waiting)}, finished {span(finished)}"


def _show_threads(result: Mapping[str, Any]) -> None:
    """Name the threads that somebody may want to look at, the first few of each kind."""
    rows = [
        *(("failed", t["thread_id"], t["error"]) for t in result["failed"][:_NAMED]),
        *(("spared", t["thread_id"], t["owner"]) for t in result["spared"][:_NAMED]),
        *(("undatable", thread_id, None) for thread_id in result["undatable"][:_NAMED]),
    ]
    if not rows:
        return
    print_table(("", "thread", "owner or error"), rows)
    named = ("failed_count", "spared_count", "undatable_count")
    if not result["dry_run"] and sum(result[name] for name in named) > len(rows):
        print_line(f"all of them: retention sweep history {result['run_id']} --threads")
