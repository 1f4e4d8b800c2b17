"""The brokers that a deployment can have: where they are, and how their queue is emptied."""

import os
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.servers import Rabbit, Redis


@dataclass
class BrokerPlace(ABC):
    """A broker for one test, and the settings that go with it."""

    url: str
    queue: str = "retention"
    settings: dict[str, str] = field(default_factory=dict)

    @abstractmethod
    def empty(self) -> None:
        """Lose every message that nobody has taken yet."""

    def lose_everything(self) -> None:
        """Lose what there is to lose while everybody is connected."""
        self.empty()

    @abstractmethod
    def close(self) -> None:
        """Leave nothing on a server that others use."""


class FilesystemPlace(BrokerPlace):
    """A folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"filesystem://{folder}")
        self.messages = folder / "messages"

    def empty(self) -> None:
        for path in self.messages.glob("*.msg"):
            path.unlink(missing_ok=True)

    def lose_everything(self) -> None:
        """Messages and bindings."""
        for folder in (self.messages, self.messages.with_name("control")):
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """The folder is the test's own."""


class RedisPlace(BrokerPlace):
    """A database of a Redis server, which holds the results too."""

    def __init__(self, server: Redis) -> None:
        super().__init__(server.url())
        self._server = server

    def empty(self) -> None:
        """Messages, bindings, those not acknowledged yet, results: all goes."""
        self._server.flush()

    def close(self) -> None:
        self._server.flush()


class RabbitPlace(BrokerPlace):
    """A queue of a RabbitMQ server; results are files."""

    def __init__(self, server: Rabbit, queue: str, results: Path) -> None:
        results.mkdir(exist_ok=True)
        settings = {"CELERY_RESULT_BACKEND": f"file://{results}", "SWEEP_QUEUE": queue}
        super().__init__(server.url(), queue, settings)
        self._server = server

    def empty(self) -> None:
        self._server.purge(self.queue)

    def close(self) -> None:
        self._server.delete(self.queue)


def broker_place(request: pytest.FixtureRequest, kind: str, folder: Path) -> BrokerPlace:
    """A broker of a kind, on the session's server where it has one."""
    if kind == "filesystem":
        return FilesystemPlace(folder / "broker")
    if kind == "redis":
        request.getfixturevalue("redis_url")
        return RedisPlace(request.getfixturevalue("redis_server"))
    server: Rabbit = request.getfixturevalue("rabbit_server")
    made = RabbitPlace(server, f"retention-{os.getpid()}", folder / "results")
    if kind == "quorum":
        made.settings["SWEEP_QUEUE_TYPE"] = "quorum"
    return made
