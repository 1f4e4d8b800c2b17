"""``retention sweep cancel``."""

import click

from retention.errors import ConfigurationError, StoreError, StoreUnavailableError
from retention.runs import Run
from retention.sweep import Sweep, cancel_run
from retention.sweep import cancel as cancel_live
from stores import Access
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.opening import opened
from worker.cli.printing import print_json, print_line

_REASON = "cancelled by an operator"


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--yes", is_flag=True, help="Cancel it. Without this, only say what would be done.")
@common_options
@pass_invocation
def cancel(invocation: Invocation, run_id: str | None, yes: bool) -> ExitStatus:
    """End the live sweep, or RUN if it is live: threads that are not deleted yet stay.

    Batches at work are finished first. What was deleted is gone, whole. A RUN whose record somebody
    broke, so that no sweep can go on, is ended as failed.
    """
    with opened(invocation, Access.WRITE if yes else Access.READ) as sweep:
        if run_id is None:
            live = sweep.store.runs.live()
            name = live.run_id if live else None
            run = cancel_live(sweep, _REASON) if yes else live
        else:
            name, run = _named(sweep, run_id, yes)
    if invocation.as_json:
        print_json(_answer(name, run, yes))
    else:
        print_line(_words(name, run, yes))
    return ExitStatus.DONE


def _named(sweep: Sweep, run_id: str, yes: bool) -> tuple[str | None, Run | None]:
    """The run of a name, cancelled where that is asked for; no name where it was closed before.

    Raises:
        ConfigurationError: There is no such run.
    """
    try:
        run = sweep.store.runs.get(run_id)
    except StoreUnavailableError:
        raise
    except StoreError:
        # Its record is broken: nothing can be said of it but its name.
        return run_id, cancel_run(sweep, run_id, _REASON) if yes else None
    if run is None:
        raise ConfigurationError(f"no run {run_id!r} in the log of this store")
    if run.closed_at is not None:
        return None, None
    return run_id, cancel_run(sweep, run_id, _REASON) if yes else run


def _answer(name: str | None, run: Run | None, yes: bool) -> dict[str, object]:
    return {
        "run_id": name,
        "cancelled": yes and name is not None,
        "would_cancel": not yes and name is not None,
        "state": str(run.state) if run else None,
    }


def _words(name: str | None, run: Run | None, yes: bool) -> str:
    if name is None:
        return "no sweep is live: there is nothing to cancel"
    if not yes:
        planned = f"planned to examine {run.planned} threads" if run else "whose record is broken"
        return f"would cancel run {name}, {planned}; nothing was changed: --yes does it"
    if run is not None and run.closed_at is None:
        return f"run {name} starts no further batch and ends with those at work"
    return f"run {name} is cancelled"
