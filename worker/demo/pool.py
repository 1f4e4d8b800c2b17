"""A real worker with beat on a broker made of files, and Celery's own commands to talk to it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from retention.errors import RetentionError

_START_SECONDS = 60.0
_COMMAND_SECONDS = 60.0
_STOP_SECONDS = 10.0
# Another deployment's settings in this environment must not reach the demonstration.
_SETTINGS = ("LLM_PROVIDER_CHECKPOINT", "FLOW_CHECKPOINT_", "SWEEP_", "CELERY_")

#: Told what is done next.
Tell = Callable[[str], None]


class DemoPool:
    """The worker of one folder, and the commands that a person would type."""

    def __init__(self, folder: Path, store: Path, tell: Tell) -> None:
        """Start nothing yet."""
        self._folder = folder
        self._log = folder / "worker.log"
        self._tell = tell
        self._environment = _environment(folder, store)
        self._group: int | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """A worker with beat that answers; it is stopped with all its processes at the end.

        Raises:
            RetentionError: It ended, or did not answer in time; the message ends with its log.
        """
        self._tell("celery -A worker worker -B")
        worker = None
        try:
            with _interrupts_later():
                worker = self._start()
            self._wait(worker)
            yield
        finally:
            if worker is not None:
                _stop(worker)

    def sweep(self) -> dict[str, Any]:
        """Have the store swept; the result of the run.

        Raises:
            RetentionError: A command failed or took too long.
        """
        self._tell("celery -A worker call retention.sweep")
        run_id = self.run("call", "retention.sweep").strip()
        self._tell(f"celery -A worker result {run_id}")
        answer = self.run("result", run_id)
        try:
            result: dict[str, Any] = json.loads(answer)
        except ValueError:
            raise self._failure(f"the sweep's result is no JSON: {answer.strip()}") from None
        return result

    def _start(self) -> subprocess.Popen[bytes]:
        command = self._command("worker", "-B", "--concurrency", "1", "--loglevel", "INFO")
        with self._log.open("wb") as log:
            worker = subprocess.Popen(  # noqa: S603 - our own command
                [*command, "--schedule", str(self._folder / "beat")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=self._environment,
                # A group of its own: Ctrl-C is for us, and all of it can be ended at once.
                process_group=0,
            )
        self._group = worker.pid
        return worker

    def _wait(self, worker: subprocess.Popen[bytes]) -> None:
        self._tell("celery -A worker inspect ping")
        deadline = time.monotonic() + _START_SECONDS
        while self._call("inspect", "--timeout", "1", "ping").returncode != 0:
            if worker.poll() is not None:
                raise self._failure(f"the worker ended with status {worker.returncode}")
            if time.monotonic() > deadline:
                raise self._failure(f"the worker did not answer within {_START_SECONDS:g} s")

    def run(self, *arguments: str) -> str:
        """Run `celery -A worker` with these arguments; what it printed.

        Raises:
            RetentionError: It failed or took too long.
        """
        done = self._call(*arguments)
        if done.returncode != 0:
            said = done.stderr.strip().rpartition("\n")[2]
            raise self._failure(f"celery {arguments[0]} ended with {done.returncode}: {said}")
        return done.stdout

    def _call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(  # noqa: S603 - our own command
                self._command(*arguments),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_COMMAND_SECONDS,
                cwd=self._folder,
                env=self._environment,
                # The worker's group: an interrupted command ends with it.
                process_group=self._group,
            )
        except subprocess.TimeoutExpired:
            raise self._failure(
                f"celery {arguments[0]} did not answer within {_COMMAND_SECONDS:g} s"
            ) from None

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "celery", "-A", "worker", *arguments]

    def _failure(self, what: str) -> RetentionError:
        log = self._log.read_text(errors="replace").strip() if self._log.exists() else ""
        return RetentionError(f"{what}; the worker's log ends: {log[-500:] or 'empty'}")


def _environment(folder: Path, store: Path) -> dict[str, str]:
    inherited = {n: v for n, v in os.environ.items() if not n.upper().startswith(_SETTINGS)}
    return inherited | {
        "CELERY_BROKER_URL": f"filesystem://{folder / 'broker'}",
        "LLM_PROVIDER_CHECKPOINT": "sqlite",
        "LLM_PROVIDER_CHECKPOINT_CONN_STRING": str(store),
    }


def _stop(worker: subprocess.Popen[bytes]) -> None:
    """End the worker in order, then whatever is left of its group; Ctrl-C does not cut it short."""
    with _interrupts_to(lambda *_: None):
        worker.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(_STOP_SECONDS)
        _end_group(worker)
        worker.wait()


def _end_group(leader: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a group, and wait until it is gone: its folder is removed next."""
    deadline = time.monotonic() + _STOP_SECONDS
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(leader.pid, signal.SIGKILL)
            # A leader that nobody asked after would keep the group.
            leader.poll()
            time.sleep(0.02)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold an interrupt back until the block is over: what is started in it is known by then."""
    came: list[int] = []
    with _interrupts_to(lambda number, _: came.append(number)):
        yield
    if came:
        signal.raise_signal(came[0])


@contextmanager
def _interrupts_to(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
