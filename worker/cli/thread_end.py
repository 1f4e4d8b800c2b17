"""``retention thread end``."""

from datetime import timedelta

import click

from retention.abilities import ThreadState
from retention.ending import EndRule
from retention.ending import end as end_thread
from retention.errors import RetentionError
from retention.statuses import QUIET, state_of, status_of
from retention.sweep import Sweep
from retention.threads import Ended
from stores import Access
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.opening import opened
from worker.cli.printing import print_json, print_line
from worker.cli.thread_ids import by_option, thread_argument, unknown_thread, who


@click.command()
@thread_argument
@click.option("--reason", required=True, metavar="TEXT", help="Why it is ended.")
@click.option("--head", metavar="CHECKPOINT", help="End it only if this is still its head.")
@click.option(
    "--idle-seconds",
    type=click.FloatRange(0, 86_400 * 365),
    default=QUIET.total_seconds(),
    show_default=True,
    metavar="N",
    help="A thread that was active within the last N seconds counts as running.",
)
@by_option
@click.option("--yes", is_flag=True, help="End it. Without this, only say what would be done.")
@common_options
@pass_invocation
def end(
    invocation: Invocation,
    thread_id: str,
    reason: str,
    head: str | None,
    idle_seconds: float,
    by: str | None,
    yes: bool,
) -> ExitStatus:
    """End a thread that nobody works on: it is marked, and nothing more can run on it.

    Only an interrupted, failed, cancelled or idle thread is ended, and only if its head has not
    moved since it was looked at. A later start, or put of our savers, is refused.
    """
    with opened(invocation, Access.WRITE if yes else Access.READ) as sweep:
        now = sweep.clock()
        found = _look(sweep, thread_id)
        shown = found.facts.head
        rule = EndRule(now, timedelta(seconds=idle_seconds), head or shown)
        word = Ended(now, who(by), reason)
        why = end_thread(sweep.store, thread_id, word, rule) if yes else rule(found)
    if why is not None:
        raise RetentionError(why)
    status = status_of(found, now, rule.quiet)
    if invocation.as_json:
        said = {"head": shown, "status": str(status), "by": word.by, "reason": reason}
        print_json({"thread_id": thread_id, "ended": yes, "would_end": not yes, **said})
    elif yes:
        print_line(f"thread {thread_id!r} is ended: nothing more can run on it")
    else:
        print_line(
            f"would end thread {thread_id!r}, which is {status}, at its head {shown}; nothing was "
            "changed: --yes does it"
        )
    return ExitStatus.DONE


def _look(sweep: Sweep, thread_id: str) -> ThreadState:
    """Where a thread stands now.

    Raises:
        RetentionError: There is no such thread, or it cannot be read.
    """
    facts = sweep.store.threads.facts([thread_id])[thread_id].checked()
    if facts.head is None and facts.entry is None:
        raise unknown_thread(thread_id)
    return state_of(sweep.store, facts)
