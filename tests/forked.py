"""Processes forked from one that has imported the project: they start in a tenth of the time.

Each is a process of its own, with its own folder, environment, output and exit status. Only what
is read at import is the fork server's: a program that needs another environment by then is executed
anew, and so are the programs whose start is what a test is about.
"""

import atexit
import multiprocessing
import multiprocessing.forkserver
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

#: What forks them; a test may have its own functions run by it, too.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        *("celery.bin.celery", "flower.app"),
        *("worker.app", "worker.cli.program", "worker.cli.sweep", "worker.cli.store"),
        *("stores.memory", "stores.sqlite", "stores.postgres", "stores.redis"),
        "tests.integration.test_opening_together",
    ]
)
# Variables that Celery and its parts read when they are imported.
_READ_AT_IMPORT = {"REMAP_SIGTERM"}


#: A process that was forked.
Process = ForkServerProcess
#: What a console script calls: it reads its arguments from `sys.argv`.
Main = Callable[[], object]


def start(
    main: Main, arguments: Sequence[str], folder: Path, env: Mapping[str, str], out: Path, err: Path
) -> Process:
    """Start a program in a session of its own; its output is added to two files.

    The process is ended with the test run, if nobody ended it before.
    """
    process = CONTEXT.Process(
        target=_run,
        args=(main, list(arguments), folder, dict(env), out, err),
        # What a log line says of a process that nobody forked.
        name="MainProcess",
        daemon=True,
    )
    process.start()
    return process


def run(
    main: Main, *arguments: str, folder: Path, env: Mapping[str, str], seconds: float = 60
) -> tuple[int, str, str]:
    """Run a program to its end: its status, its stdout and its stderr.

    Raises:
        TimeoutError: It has not ended in time; it was killed.
    """
    with tempfile.TemporaryDirectory() as said:
        out, err = Path(said, "out"), Path(said, "err")
        process = start(main, arguments, folder, env, out, err)
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"{' '.join(arguments)}\n{err.read_text()}")
        return process.exitcode, out.read_text(), err.read_text()


def _run(
    main: Main, arguments: list[str], folder: Path, env: dict[str, str], out: Path, err: Path
) -> None:
    os.setsid()
    for number, path in ((1, out), (2, err)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    if _READ_AT_IMPORT & env.keys():
        script = f"from {main.__module__} import {main.__name__}; {main.__name__}()"
        os.execve(sys.executable, [sys.executable, "-c", script, *arguments], env)  # noqa: S606
    sys.argv[1:] = arguments
    try:
        main()
    except Exception:  # noqa: BLE001 - what the interpreter does with what nobody caught
        sys.excepthook(*sys.exc_info())
        sys.exit(1)


def _end_fork_server() -> None:
    # It writes what it covered when it ends: by the end of the test run, and not some time later.
    for process in multiprocessing.active_children():
        process.kill()
        process.join()
    multiprocessing.forkserver._forkserver._stop()  # type: ignore[attr-defined] # not in the stubs


atexit.register(_end_fork_server)
