"""Every way a command can fail, as one line on stderr and an exit status."""

import contextlib
import os
import sys
import traceback
from collections.abc import Callable

import click

from retention.errors import ConfigurationError, RetentionError
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation
from worker.cli.lines import one_line, scrub


class InterruptedCommandError(Exception):
    """The user pressed Ctrl-C; the message says what is left behind."""


def guarded(call: Callable[[], int | None], invocation: Invocation) -> int:
    """Call a command; give its exit status, having said in one line what went wrong."""
    try:
        status = call() or ExitStatus.DONE
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return ExitStatus.ERROR
    except Exception as error:  # noqa: BLE001 - the outermost boundary: a person reads a line
        return _report(error, invocation)
    return status


def say(text: str, invocation: Invocation) -> None:
    """Print one line on stderr, without control characters and without passwords."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"retention: {one_line(scrub(text, invocation.addresses))}\n")


def _report(error: Exception, invocation: Invocation) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        sys.stderr.write(f"{error.format_message()}\n")
        return ExitStatus.USAGE
    if invocation.debug:
        trace = "".join(traceback.format_exception(error))
        sys.stderr.write(scrub(trace, invocation.addresses))
    text, status = _explain(error)
    say(text, invocation)
    return status


def _explain(error: Exception) -> tuple[str, ExitStatus]:
    match error:
        case InterruptedCommandError():
            return str(error), ExitStatus.INTERRUPTED
        case RetentionError():
            wrong = isinstance(error, ConfigurationError)
            return str(error), ExitStatus.USAGE if wrong else ExitStatus.ERROR
        case click.Abort() | click.ClickException():
            return _explain_click(error)
        case ModuleNotFoundError():
            extras = "pip install 'langgraph-retention[all]'"
            return f"this command needs {error.name}: {extras}", ExitStatus.USAGE
        case OSError():
            return f"{error.filename or 'output'}: {error.strerror or error}", ExitStatus.ERROR
    name = type(error).__name__
    hint = "this should not happen; --debug shows the traceback"
    return f"unexpected {name}: {error} ({hint})", ExitStatus.ERROR


def _explain_click(error: click.Abort | click.ClickException) -> tuple[str, ExitStatus]:
    match error:
        case click.Abort():
            return "interrupted", ExitStatus.INTERRUPTED
        case click.UsageError():
            return _usage(error), ExitStatus.USAGE
        case _:
            return error.format_message(), ExitStatus.ERROR


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "retention"
    return f"{error.format_message().rstrip('.')} ({path} --help shows what there is)"


def _forget_stdout() -> None:
    """Let nothing be written to a reader that is gone, not even by Python's own exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
