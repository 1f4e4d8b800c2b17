"""``retention thread hold``, ``release`` and ``holds``."""

from datetime import datetime
from typing import Any

import click

from retention.abilities import HoldsPage, SupportsHoldsListing, cannot
from retention.explaining import hold_json
from retention.threads import Hold, LedgerEntry
from stores import Access
from worker.cli.exit_status import ExitStatus
from worker.cli.failures import say
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.opening import opened
from worker.cli.printing import print_json, print_line, print_table
from worker.cli.thread_ids import by_option, thread_argument, unknown_thread, who
from worker.cli.until import end_of

_MOST = 100_000


@click.command()
@thread_argument
@click.option("--reason", required=True, metavar="TEXT", help="Why it must stay.")
@click.option(
    "--until",
    callback=end_of,
    metavar="TIME",
    help="When the hold ends: 2026-07-01T00:00:00Z, or a while from now such as 2h or 3d. "
    "Default: when it is released.",
)
@by_option
@common_options
@pass_invocation
def hold(
    invocation: Invocation, thread_id: str, reason: str, until: datetime | None, by: str | None
) -> ExitStatus:
    """Keep a thread from every rule, an erase included, until its hold ends or is released.

    A second hold replaces the first. On Redis it stops the time to live of the thread's keys.
    """
    with opened(invocation, Access.WRITE) as sweep:
        held = sweep.store.ledger.hold([thread_id], Hold(reason, until, who(by)))
        entry = sweep.store.ledger.entries([thread_id]).get(thread_id) if held else None
        now = sweep.clock()
    if entry is None or entry.hold is None:
        raise unknown_thread(thread_id)
    if invocation.as_json:
        print_json({"thread_id": thread_id, **hold_json(entry.hold, now)})
    else:
        until_words = "it is released" if until is None else until.isoformat()
        print_line(f"thread {thread_id!r} is held until {until_words}")
    return ExitStatus.DONE


@click.command()
@thread_argument
@common_options
@pass_invocation
def release(invocation: Invocation, thread_id: str) -> ExitStatus:
    """Take the hold off a thread: from then on every rule counts again."""
    with opened(invocation, Access.WRITE) as sweep:
        released = thread_id in sweep.store.ledger.release([thread_id])
        facts = sweep.store.threads.facts([thread_id])[thread_id]
    if not released and facts.head is None and facts.entry is None:
        raise unknown_thread(thread_id)
    if invocation.as_json:
        print_json({"thread_id": thread_id, "released": released})
    elif released:
        print_line(f"thread {thread_id!r} is no longer held")
    else:
        print_line(f"thread {thread_id!r} is not held: there is nothing to release")
    return ExitStatus.DONE


@click.command()
@click.option(
    "--limit",
    type=click.IntRange(1, _MOST),
    default=100,
    show_default=True,
    help="List so many at most.",
)
@click.option("--after", metavar="CURSOR", help="Go on where a list ended (its next_cursor).")
@common_options
@pass_invocation
def holds(invocation: Invocation, limit: int, after: str | None) -> ExitStatus:
    """List the threads that are held, by whom, until when and why; lapsed holds too.

    One whose entry cannot be read is named on stderr, and the exit status is 3.
    """
    with opened(invocation, Access.READ) as sweep:
        ledger, now = sweep.store.ledger, sweep.clock()
        if not isinstance(ledger, SupportsHoldsListing):
            raise cannot(sweep.store, "list holds")
        page = ledger.holds_page(after, limit)
    if invocation.as_json:
        found = [_document(entry, now) for entry in page.entries]
        unread = [{"thread_id": t, "error": fault} for t, fault in page.faults.items()]
        print_json({"holds": found, "unreadable": unread, "next_cursor": page.cursor})
    else:
        _show(page, now)
    for fault in page.faults.values():
        say(fault, invocation)
    return ExitStatus.PARTIAL if page.faults else ExitStatus.DONE


def _document(entry: LedgerEntry, now: datetime) -> dict[str, Any]:
    assert entry.hold is not None, "the listing gives held threads alone"
    return {"thread_id": entry.thread_id, **hold_json(entry.hold, now)}


def _show(page: HoldsPage, now: datetime) -> None:
    documents = [_document(entry, now) for entry in page.entries]
    if documents:
        print_table(
            ("thread", "until", "by", "since", "reason"),
            [
                (d["thread_id"], d["until"] if d["on"] else "lapsed", d["by"], d["at"], d["reason"])
                for d in documents
            ],
        )
    elif page.cursor is None and not page.faults:
        print_line("no thread is held")
    if page.cursor is not None:
        print_line(f"more: --after {page.cursor}")
