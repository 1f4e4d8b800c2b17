"""The command as a whole: its nouns, and the one way out."""

import io
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from worker.cli.demo import demo
from worker.cli.failures import InterruptedCommandError, guarded
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.logs import log_to_stderr
from worker.cli.policy import policy
from worker.cli.serve import serve
from worker.cli.store import store
from worker.cli.sweep import sweep
from worker.cli.thread import thread


class Program(click.Group):
    """A group whose commands return their exit status, and whose errors are one line each."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run a command and leave with its exit status."""
        for stream in (sys.stdout, sys.stderr):
            # A name that the terminal's encoding lacks must not end the command.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        invocation = Invocation()

        def call() -> int | None:
            status: int | None = super(Program, self).main(
                args, prog_name or "retention", complete_var, False, obj=invocation, **extra
            )
            return status

        sys.exit(int(guarded(call, invocation)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that the arguments name."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptedCommandError("interrupted") from None


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="langgraph-retention")
@common_options
@pass_invocation
def retention(invocation: Invocation) -> None:
    """Sweep expired LangGraph threads out of a checkpoint store.

    Exit status: 0 done, 1 error, 2 usage or configuration, 3 partial or out of time, 4 another
    sweep holds the store, 5 refused by a safety limit or a pause.
    """
    log_to_stderr(invocation)


for _command in (sweep, thread, policy, store, serve, demo):
    retention.add_command(_command)
