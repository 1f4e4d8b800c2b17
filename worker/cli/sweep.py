"""``retention sweep``: the verbs, and the sweep in this process."""

import uuid

import click

from retention.sweep import LocalDispatch, SweepResult, run_sweep
from retention.sweep import dry_run as examine
from stores import Access
from worker.background import stand_back
from worker.cli.ending import ended_in_order
from worker.cli.exit_status import ExitStatus, status_of
from worker.cli.failures import InterruptedCommandError
from worker.cli.invocation import Invocation, common_options, pass_invocation, sweep_options
from worker.cli.opening import opened
from worker.cli.printing import print_json
from worker.cli.progress import ProgressBar
from worker.cli.results import show_result
from worker.cli.sweep_cancel import cancel
from worker.cli.sweep_history import history
from worker.cli.sweep_pause import pause, resume
from worker.cli.sweep_start import start
from worker.cli.sweep_status import status
from worker.wiring import Plugins


@click.group()
@common_options
def sweep() -> None:
    """Delete the threads whose retention is over."""


@sweep.command()
@sweep_options
@common_options
@pass_invocation
def run(invocation: Invocation, dry_run: bool, allow_over_limit: bool) -> ExitStatus:
    """Sweep the store in this process, without a worker."""
    run_id = str(uuid.uuid4())
    work = _examine if dry_run else _run
    result = work(invocation, run_id, allow_over_limit)
    if invocation.as_json:
        print_json(result.to_json())
    else:
        show_result(result.to_json())
    return status_of(result.outcome)


def _examine(invocation: Invocation, run_id: str, allow_over_limit: bool) -> SweepResult:
    with (
        opened(invocation, Access.READ, plugins=Plugins.ALL) as assembled,
        ProgressBar("", "examining"),
    ):
        return examine(assembled, run_id, allow_over_limit=allow_over_limit)


def _run(invocation: Invocation, run_id: str, allow_over_limit: bool) -> SweepResult:
    local = LocalDispatch()
    stand_back(invocation.sweep().nice)
    with opened(invocation, Access.WRITE, local, Plugins.ALL) as assembled:
        try:
            with ended_in_order(), ProgressBar("batches", "planning") as bar:
                return run_sweep(
                    assembled,
                    local,
                    run_id,
                    allow_over_limit=allow_over_limit,
                    progress=bar.batch_done,
                )
        except KeyboardInterrupt:
            raise InterruptedCommandError(
                f"interrupted; what was deleted is recorded, and the next sweep works on the rest "
                f"of run {run_id}; `retention sweep cancel --yes` ends it"
            ) from None


for _verb in (start, status, history, cancel, pause, resume):
    sweep.add_command(_verb)
