"""``retention thread erase``."""

import sys
from typing import Any

import click

from retention.erasing import ErasureOutcome, Receipt, holdings
from retention.erasing import erase as erase_thread
from retention.errors import RetentionError
from retention.explaining import hold_words
from retention.statuses import hold_on
from retention.threads import Hold
from stores import Access
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.opening import opened
from worker.cli.printing import print_json, print_line, print_table
from worker.cli.thread_ids import by_option, thread_argument, unknown_thread, who
from worker.wiring import Plugins


@click.command()
@thread_argument
@by_option
@click.option("--yes", is_flag=True, help="Erase it without asking.")
@common_options
@pass_invocation
def erase(invocation: Invocation, thread_id: str, by: str | None, yes: bool) -> ExitStatus:
    """Delete a thread now, whatever the horizons say, and print a receipt that proves it.

    A hold keeps it. Without --yes a terminal is asked; elsewhere it is only said what would go.
    The receipt counts what each table or key held, and what is left there: nothing. Hooks are
    told; one that fails is named there, and told again by the next tick of a sweep.
    """
    if not yes:
        held = _look(invocation, thread_id)
        if not _is_confirmed(invocation, thread_id):
            _say_what_would_go(invocation, thread_id, held)
            return ExitStatus.DONE
    with opened(invocation, Access.WRITE, plugins=Plugins.TOLD) as sweep:
        receipt = erase_thread(sweep, thread_id, who(by))
    if receipt.hold is not None:
        raise _kept(thread_id, receipt.hold)
    if receipt.outcome is ErasureOutcome.UNKNOWN:
        raise unknown_thread(thread_id)
    _show(invocation, receipt)
    if receipt.outcome is ErasureOutcome.LEFT:
        left = sum(receipt.left.values())
        raise RetentionError(
            f"thread {thread_id!r} is not wholly gone: {left} rows or keys are left under its id, "
            "see the receipt"
        )
    return ExitStatus.DONE


def _look(invocation: Invocation, thread_id: str) -> dict[str, int]:
    """What a thread holds now.

    Raises:
        RetentionError: There is no such thread, or it is held, or whether it is cannot be read.
    """
    with opened(invocation, Access.READ) as sweep:
        facts = sweep.store.threads.facts([thread_id])[thread_id].checked()
        held, hold = holdings(sweep, thread_id), hold_on(facts, sweep.clock())
    if hold is not None:
        raise _kept(thread_id, hold)
    if not any(held.values()):
        raise unknown_thread(thread_id)
    return held


def _kept(thread_id: str, hold: Hold) -> RetentionError:
    return RetentionError(f"thread {thread_id!r} is not erased: {hold_words(hold)}")


def _is_confirmed(invocation: Invocation, thread_id: str) -> bool:
    is_asked = sys.stdin.isatty() and sys.stderr.isatty() and not invocation.as_json
    question = f"erase thread {thread_id!r} for good?"
    return is_asked and click.confirm(question, err=True)


def _say_what_would_go(invocation: Invocation, thread_id: str, held: dict[str, int]) -> None:
    if invocation.as_json:
        print_json({"thread_id": thread_id, "would_erase": True, "holds": held})
        return
    words = ", ".join(f"{count} in {name}" for name, count in held.items() if count)
    print_line(f"would erase thread {thread_id!r}: {words}; nothing was changed: --yes does it")


def _show(invocation: Invocation, receipt: Receipt) -> None:
    document: dict[str, Any] = receipt.to_json()
    if invocation.as_json:
        print_json(document)
        return
    tables = document["tables"].items()
    print_table(("table or key", "held", "left"), [(n, c["held"], c["left"]) for n, c in tables])
    if receipt.removed_late:
        print_line(f"written meanwhile, and removed too: {receipt.removed_late}")
    print_line(
        f"thread {receipt.thread_id!r}: {receipt.outcome} at {document['erased_at']} by "
        f"{receipt.by!r}; {document['left']} left"
    )
    for name, error in receipt.hooks.items():
        failed = f"failed, and is told again by the next tick of a sweep: {error}"
        print_line(f"hook {name!r}: {failed if error else 'told'}")
