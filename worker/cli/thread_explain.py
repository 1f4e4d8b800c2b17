"""``retention thread explain``."""

from typing import Any

import click

from retention.explaining import explain as explain_thread
from retention.policy import in_minutes
from stores import Access
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.lines import span
from worker.cli.opening import opened
from worker.cli.printing import print_facts, print_json, print_line
from worker.cli.thread_ids import thread_argument, unknown_thread
from worker.wiring import Plugins

_SHOWN = (
    "status",
    "head",
    "started_at",
    "marked_at",
    "owner",
    "due_at",
    "expires_at",
    "keys_expire_at",
)


@click.command()
@thread_argument
@common_options
@pass_invocation
def explain(invocation: Invocation, thread_id: str) -> ExitStatus:
    """Say when a thread goes, or why it stays, and what decides it. Changes nothing."""
    with opened(invocation, Access.READ, plugins=Plugins.ASKED) as sweep:
        explanation = explain_thread(sweep, thread_id)
    if explanation is None:
        raise unknown_thread(thread_id)
    document = explanation.to_json()
    if invocation.as_json:
        print_json(document)
    else:
        _show(document)
    return ExitStatus.DONE


def _show(document: dict[str, Any]) -> None:
    print_line(f"{document['thread_id']}: {document['sentence']}")
    print_line()
    age = document["head_age_seconds"]
    print_facts(
        [
            *((name.replace("_", " "), document[name]) for name in _SHOWN),
            ("age of head", None if age is None else span(age)),
            *((horizon, _limit(document[horizon])) for horizon in ("waiting", "finished")),
            *((f"filter {a['owner']}", _answer(a)) for a in document["filters"]),
        ]
    )


def _limit(limit: dict[str, Any]) -> str:
    declared = limit["declared_minutes"]
    said = "nothing" if declared is None else in_minutes(declared)
    return (
        f"{in_minutes(limit['minutes'])} ({limit['source']}); the platform says "
        f"{in_minutes(limit['platform_minutes'])}, the owner declared {said}"
    )


def _answer(answer: dict[str, Any]) -> str:
    return answer["error"] or ("claims it" if answer["claims"] else "does not claim it")
