"""One server process with a folder of its own."""

import importlib.util
import os
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.servers.guard import Guard

_START_SECONDS = 30
_STOP_SECONDS = 30


class ServiceMissingError(Exception):
    """The server's programs are not installed here, so tests that need it cannot run."""


class ServerFailedError(Exception):
    """The server is installed but did not start, or did not stop; the message holds its log."""


def packaged_program(package: str, *parts: str) -> Path:
    """The path of a program that a wheel brought, without importing the wheel's code."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ServiceMissingError(f"the package {package} is not installed")
    program = Path(spec.origin).parent.joinpath(*parts)
    if not program.exists():
        raise ServiceMissingError(f"{package} brings no {program.name} for this platform")
    return program


def short_folder(prefix: str) -> Path:
    """A new folder with a path so short that sockets fit in it (about 100 characters)."""
    parent = "/tmp" if os.access("/tmp", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))


class ServerProcess(ABC):
    """A server that starts on entry, and on exit stops and leaves nothing behind."""

    def __init__(self, prefix: str) -> None:
        self.folder = short_folder(prefix)
        self._guard = Guard(self.folder)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def start(self) -> None:
        """Start the server and return when it answers."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether the server answers."""

    @property
    def pid(self) -> int | None:
        """The process id of the running server, or None."""
        return self._process.pid if self._process else None

    @property
    def log(self) -> str:
        """What the server has written to its log so far."""
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def close(self) -> None:
        """End the server, kindly where it can, and remove its folder."""
        try:
            self.stop()
        finally:
            self._guard.dismiss()

    def stop(self) -> None:
        """Let the server shut down in order; does nothing if it is not running."""
        self._end(signal.SIGINT)

    def stop_hard(self) -> None:
        """End the server as a crash would, without a chance to write anything."""
        self._end(signal.SIGQUIT)

    def kill(self) -> None:
        """End the server's process at once and unconditionally."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop in order and start again, at the same address."""
        self.stop()
        self.start()

    def _launch(self, command: Sequence[str], user: int | None = None) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self._environment(),
                start_new_session=True,
                user=user,
            )
        self._guard.watch(self._process.pid)
        self._wait_until_ready()

    def _environment(self) -> dict[str, str]:
        return clean_environment()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self.is_ready():
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                self.stop_hard()
                raise self._failure("did not start")
            time.sleep(0.02)

    def _failure(self, what: str) -> ServerFailedError:
        return ServerFailedError(f"{type(self).__name__} {what}:\n{self.log[-4000:]}")

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise self._failure("did not stop") from None
        finally:
            self._guard.watch(0)


def clean_environment() -> dict[str, str]:
    """An environment without anything that could steer a server elsewhere, such as PGDATA."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
