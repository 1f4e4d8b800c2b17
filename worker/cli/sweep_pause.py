"""``retention sweep pause`` and ``resume``."""

from datetime import datetime
from typing import Any

import click

from retention.brakes import Pause
from retention.sweep import Sweep
from retention.sweep import pause as pause_sweeps
from retention.sweep import resume as resume_sweeps
from stores import Access
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.opening import opened
from worker.cli.printing import print_json, print_line
from worker.cli.thread_ids import by_option, who
from worker.cli.until import end_of


@click.command()
@click.option(
    "--until",
    callback=end_of,
    metavar="TIME",
    help="When the pause ends: 2026-07-01T06:00:00Z, or a while from now such as 30m or 2h. "
    "Default: when it is resumed.",
)
@click.option("--reason", metavar="TEXT", help="Why, for whoever looks at the status.")
@by_option
@common_options
@pass_invocation
def pause(
    invocation: Invocation, until: datetime | None, reason: str | None, by: str | None
) -> ExitStatus:
    """Let no sweep begin, and the live one begin no further batch.

    Batches at work are finished first. A second pause replaces the first.
    """
    with opened(invocation, Access.WRITE) as sweep:
        placed = pause_sweeps(sweep, until, who(by), reason)
        live = _live(sweep)
    if invocation.as_json:
        print_json({"pause": pause_json(placed), "run_id": live})
        return ExitStatus.DONE
    print_line(f"sweeps are {placed}")
    if live is not None:
        print_line(f"run {live} begins no further batch; batches at work are finished first")
    return ExitStatus.DONE


@click.command()
@common_options
@pass_invocation
def resume(invocation: Invocation) -> ExitStatus:
    """End the pause. The next sweep goes on with the live run; `sweep start` asks for one now."""
    with opened(invocation, Access.WRITE) as sweep:
        was_paused = resume_sweeps(sweep)
        live = _live(sweep)
    if invocation.as_json:
        print_json({"pause": None, "was_paused": was_paused, "run_id": live})
        return ExitStatus.DONE
    print_line("sweeps are resumed" if was_paused else "sweeps are not paused")
    if was_paused and live is not None:
        print_line(f"the next sweep goes on with run {live}: `retention sweep start` asks for one")
    return ExitStatus.DONE


def pause_json(pause: Pause) -> dict[str, Any]:
    """What a pause says, as JSON types."""
    return {
        "at": pause.at.isoformat(),
        "until": None if pause.until is None else pause.until.isoformat(),
        "by": pause.by,
        "reason": pause.reason,
    }


def _live(sweep: Sweep) -> str | None:
    run = sweep.store.runs.live()
    return None if run is None else run.run_id
