"""``retention sweep history``: the runs, one run, and every thread of one run."""

from dataclasses import replace

import click

from retention.errors import ConfigurationError
from retention.runs import Run
from retention.sweep import Sweep, result_of
from stores import Access
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.opening import opened
from worker.cli.owed import Owed
from worker.cli.printing import print_json, print_line, print_table
from worker.cli.results import show_result
from worker.cli.run_rows import RUN_COLUMNS, run_json, run_row
from worker.cli.run_threads import Place, list_threads

_RUNS = 20
#: More than any store holds, and a number that each of them can take.
_MOST = 1_000_000_000


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False)
@click.option("--threads", is_flag=True, help="List every thread of RUN and what became of it.")
@click.option(
    "--limit", type=click.IntRange(1, _MOST), help=f"List at most so many [{_RUNS} runs]."
)
@click.option("--after", metavar="CURSOR", help="Go on where a list ended (its next_cursor).")
@common_options
@pass_invocation
def history(
    invocation: Invocation, run_id: str | None, threads: bool, limit: int | None, after: str | None
) -> ExitStatus:
    """List the latest sweeps, or show one."""
    _check(run_id, threads, limit, after)
    place = Place.parse(after) if threads and after else None
    with opened(invocation, Access.READ) as sweep:
        if run_id is None:
            _list_runs(invocation, sweep, limit or _RUNS, after)
        elif threads:
            list_threads(sweep, _existing(sweep, run_id), invocation.as_json, place, limit)
        else:
            _show_run(invocation, sweep, _existing(sweep, run_id))
    return ExitStatus.DONE


def _check(run_id: str | None, threads: bool, limit: int | None, after: str | None) -> None:
    if threads and run_id is None:
        raise click.UsageError("--threads needs the RUN whose threads to list")
    if run_id is not None and not threads and (limit or after):
        raise click.UsageError("--limit and --after belong to a list: of runs, or with --threads")


def _existing(sweep: Sweep, run_id: str) -> Run:
    run = sweep.store.runs.get(run_id)
    if run is None:
        raise ConfigurationError(f"no run {run_id!r} in the log of this store")
    return run


def _list_runs(invocation: Invocation, sweep: Sweep, limit: int, after: str | None) -> None:
    first = _existing(sweep, after) if after else None
    found = sweep.store.runs.history(limit + 1, first)
    runs, more = found[:limit], len(found) > limit
    if invocation.as_json:
        cursor = runs[-1].run_id if more else None
        print_json({"runs": [run_json(run) for run in runs], "next_cursor": cursor})
        return
    if not runs:
        print_line("no sweep is in the log")
        return
    print_table(RUN_COLUMNS, map(run_row, runs))
    if more:
        print_line(f"older ones: --after {runs[-1].run_id}")


def _show_run(invocation: Invocation, sweep: Sweep, run: Run) -> None:
    is_live = run.closed_at is None
    if is_live:
        run = replace(run, counts=sweep.store.runs.progress(run.run_id))
    result = {**result_of(sweep, run).to_json(), "state": str(run.state)}
    if is_live:
        result["outcome"] = None
    owed = Owed.of(sweep, run.run_id)
    if invocation.as_json:
        print_json({**result, **owed.to_json()})
    else:
        show_result(result)
        owed.show()
