"""``retention sweep cancel``."""

import click

from retention.runs import Run
from retention.sweep import cancel as cancel_run
from stores import Access
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.opening import opened
from worker.cli.printing import print_json, print_line


@click.command()
@click.option("--yes", is_flag=True, help="Cancel it. Without this, only say what would be done.")
@common_options
@pass_invocation
def cancel(invocation: Invocation, yes: bool) -> ExitStatus:
    """End the live sweep: threads that are not deleted yet stay.

    Batches at work are finished first. What was deleted is gone, whole.
    """
    with opened(invocation, Access.WRITE if yes else Access.READ) as sweep:
        live = sweep.store.runs.live()
        run = cancel_run(sweep, "cancelled by an operator") if yes else live
    if invocation.as_json:
        print_json(_answer(run, yes))
    else:
        print_line(_words(run, yes))
    return ExitStatus.DONE


def _answer(run: Run | None, yes: bool) -> dict[str, object]:
    return {
        "run_id": run.run_id if run else None,
        "cancelled": yes and run is not None,
        "would_cancel": not yes and run is not None,
        "state": str(run.state) if run else None,
    }


def _words(run: Run | None, yes: bool) -> str:
    if run is None:
        return "no sweep is live: there is nothing to cancel"
    if not yes:
        return (
            f"would cancel run {run.run_id}, planned to examine {run.planned} threads; "
            "nothing was changed: --yes does it"
        )
    if run.closed_at is None:
        return f"run {run.run_id} starts no further batch and ends with those at work"
    return f"run {run.run_id} is cancelled"
