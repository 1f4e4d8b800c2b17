"""Local processes in the places where pytest-celery has containers."""

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from celery.__main__ import main as celery
from pytest_celery import CeleryTestBackend, CeleryTestBroker, CeleryTestWorker

from tests import forked
from tests.waiting import eventually

#: What a node's id is in a container; here it is the host part of a worker's name.
HOST = "local"


class Place:
    """A broker or backend that is no process of the test's own: a shared server, a folder."""

    id = HOST
    name = "place"
    status = "running"

    def __init__(self, url: str) -> None:
        self.celeryconfig = {"url": url, "host_url": url}

    def ready(self) -> bool:
        """Whoever started it saw to that."""
        return True

    def logs(self) -> str:
        """Somebody else's."""
        return ""

    def teardown(self) -> None:
        """Nothing to end."""


class WorkerProcess:
    """A `celery -A worker worker` with a log, in a process group of its own."""

    id = HOST

    def __init__(
        self, name: str, folder: Path, env: Mapping[str, str], options: Sequence[str] = ()
    ) -> None:
        self.name = name
        self._folder = folder
        self._env = env
        self._options = options
        self._log = folder / f"{name}.log"
        self._process: forked.Process | None = None
        self.celeryconfig: dict[str, str] = {}

    @property
    def status(self) -> str:
        """A container's word for whether it runs."""
        ended = self._process is None or self._process.exitcode is not None
        return "exited" if ended else "running"

    def worker_name(self) -> str:
        """The part of the node name before the host."""
        return self.name

    def worker_queue(self) -> str:
        """The queue it reads."""
        return str(self._env.get("SWEEP_QUEUE", "retention"))

    def start(self) -> None:
        """Start it; `ready` waits until it takes tasks."""
        arguments = ("-A", "worker", *self._arguments())
        self._process = forked.start(
            celery, arguments, self._folder, self._env, self._log, self._log
        )

    def _arguments(self) -> Sequence[str]:
        name = f"{self.name}@{HOST}"
        # By default each worker waits a second at its start for what its neighbours have revoked.
        alone = ("--without-mingle", "--hostname", name)
        return ("worker", "--loglevel", "INFO", *alone, *self._options)

    def ready(self) -> bool:
        """Wait until it takes tasks."""
        eventually(self._is_ready, f"worker {self.name} ready\n{self.logs()}")
        return True

    def _is_ready(self) -> bool:
        if self.status != "running":
            raise AssertionError(f"worker {self.name} ended:\n{self.logs()}")
        return f"{self.name}@{HOST} ready." in self.logs()

    def logs(self) -> str:
        """What it has written so far, over its restarts."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def children(self) -> list[int]:
        """The process ids of its pool."""
        return [child.pid for child in psutil.Process(self._pid).children()]

    @property
    def _pid(self) -> int:
        assert self._process is not None
        assert self._process.pid is not None
        return self._process.pid

    def kill(self, signal: str | int = "SIGKILL") -> None:
        """Signal the whole process group, as a container's end would, and wait for the end."""
        assert self._process is not None
        # One that has just been started has no group yet, or no children.
        for send in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                send(self._pid, _number(signal))
        self._process.join(timeout=30)
        assert self._process.exitcode is not None

    def restart(self, timeout: int = 10) -> None:
        """Start it anew."""
        self.teardown()
        self._log.unlink(missing_ok=True)
        self.start()
        self.ready()

    def reload(self) -> None:
        """The status is always read afresh."""

    def ask_to_end(self) -> None:
        """Let it end in order, which takes a worker without an event loop some seconds."""
        if self._process is not None:
            self._process.terminate()

    def teardown(self) -> None:
        """End it, kindly at first."""
        self.ask_to_end()
        if self._process is not None:
            self._process.join(timeout=15)
            if self._process.exitcode is None:
                self.kill()


class BeatProcess(WorkerProcess):
    """A `celery -A worker beat` with a schedule file of its own."""

    def _arguments(self) -> Sequence[str]:
        return ("beat", "--loglevel", "INFO", "--schedule", f"schedule-{self.name}")


def _number(name: str | int) -> int:
    return getattr(signal, name).value if isinstance(name, str) else name


class LocalBroker(CeleryTestBroker):  # type: ignore[misc] # the package has no types
    """A broker whose address is all there is to know."""


class LocalBackend(CeleryTestBackend):  # type: ignore[misc] # the package has no types
    """A result backend whose address is all there is to know."""


class LocalWorker(CeleryTestWorker):  # type: ignore[misc] # the package has no types
    """A worker process of this machine."""
