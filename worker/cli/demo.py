"""``retention demo``."""

import sys

import click

from retention.errors import ConfigurationError, RetentionError
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, output_options, pass_invocation
from worker.cli.printing import print_json, print_line, print_table
from worker.cli.results import show_result

_OWN_STORE = """\
To sweep your own PostgreSQL, take it over once, look, and then start a worker:
  export LLM_PROVIDER_CHECKPOINT=postgres DATABASE_URL=postgresql://user:password@host:5432/database
  retention store adopt --yes
  retention sweep run --dry-run
  CELERY_BROKER_URL=redis://localhost:6379/0 celery -A worker worker -B --loglevel INFO"""


@click.command()
@output_options
@pass_invocation
def demo(invocation: Invocation) -> ExitStatus:
    """Show a whole sweep: a store of its own, a worker, what went, what stayed and why.

    Needs no server and touches nothing but a temporary folder.
    """
    if invocation.storage is not None:
        raise click.UsageError("the demo makes a store of its own: leave --storage out")
    try:
        from worker.demo import Outcome, run_demo
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the demo needs {error.name}: pip install 'langgraph-retention[all,demo]'"
        ) from error
    outcome: Outcome = run_demo(_tell)
    if invocation.as_json:
        print_json(
            {
                "threads": outcome.rows,
                "result": outcome.result,
                "resumed": outcome.resumed,
                "problems": outcome.problems,
            }
        )
    else:
        _show(outcome.rows, outcome.resumed)
        show_result(outcome.result)
    if outcome.problems:
        raise RetentionError(f"the demo went wrong: {'; '.join(outcome.problems)}")
    if not invocation.as_json:
        for line in _OWN_STORE.splitlines():
            print_line(line)
    return ExitStatus.DONE


def _tell(step: str) -> None:
    sys.stderr.write(f"demo: {step}\n")


def _show(rows: list[dict[str, object]], resumed: list[str]) -> None:
    print_table(
        ("thread", "its past", "checkpoints", "fate", "why"),
        [
            (
                row["thread_id"],
                row["story"],
                f"{row['checkpoints_before']} -> {row['checkpoints_after']}",
                row["fate"],
                row["why"],
            )
            for row in rows
        ],
    )
    print_line(f"approval-7 was resumed after the sweep: {', '.join(resumed)}")
    print_line()
