"""Redis for tests: a server of our own from a wheel, or one that TEST_REDIS_URL names."""

import contextlib
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import redis

from tests.servers.process import ServerFailedError, ServerProcess
from tests.servers.redis_programs import packaged_redis

_START_TRIES = 5


class Redis(ABC):
    """A running Redis whose databases tests may use and empty."""

    @abstractmethod
    def url(self, database: int = 0) -> str:
        """The address of one of its databases."""

    def flush(self) -> None:
        """Empty what the tests use of this server."""
        with contextlib.closing(redis.Redis.from_url(self.url())) as client:
            client.flushdb()


class ExternalRedis(Redis):
    """A server that somebody else runs. Tests use, and empty, only the database in its address."""

    def __init__(self, url: str) -> None:
        self._url = url
        with contextlib.closing(redis.Redis.from_url(url)) as client:
            if client.dbsize():
                place = urlsplit(url).hostname
                raise ServerFailedError(
                    f"the database on {place} that TEST_REDIS_URL names holds keys;"
                    " the tests would delete them"
                )

    def url(self, database: int = 0) -> str:
        """The given address; there is only one database to use."""
        if database:
            raise ValueError("an external Redis lends the tests one database only")
        return self._url


class RedisServer(ServerProcess, Redis):
    """A server of our own on a port and a socket; `persistent` keeps keys over restarts.

    It has the databases 0 to 15 and evicts nothing, unless `settings` say otherwise.
    """

    def __init__(
        self,
        *,
        persistent: bool = False,
        settings: Mapping[str, str] | None = None,
        program: Path | None = None,
        modules: Sequence[Path] = (),
    ) -> None:
        self._program = program or packaged_redis()
        super().__init__("rt-redis-")
        self._modules = modules
        keep = {"appendonly": "yes"} if persistent else {}
        self._settings = {**keep, **(settings or {})}
        self.port: int | None = None

    def url(self, database: int = 0) -> str:
        """The address over TCP, which brokers need."""
        return f"redis://127.0.0.1:{self.port}/{database}"

    def socket_url(self, database: int = 0) -> str:
        """The address of the Unix socket."""
        return f"unix://{self.folder}/redis.sock?db={database}"

    def start(self) -> None:
        """Start the server, at the address it had before if there was one."""
        if self.port is not None:
            self._launch(self._command(self.port))
            return
        for tries_left in reversed(range(_START_TRIES)):
            self.port = free_port()
            try:
                self._launch(self._command(self.port))
            except ServerFailedError:
                # Somebody else may have taken the port since it was found free.
                if not tries_left or "Address already in use" not in self.log:
                    raise
            else:
                return

    def is_ready(self) -> bool:
        """Whether this very server answers, and no other on the same port."""
        try:
            with contextlib.closing(redis.Redis.from_url(self.socket_url())) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def flush(self) -> None:
        """Empty all databases."""
        with contextlib.closing(redis.Redis.from_url(self.socket_url())) as client:
            client.flushall()

    def stop_hard(self) -> None:
        """End the server at once."""
        self.kill()

    def _command(self, port: int) -> list[str]:
        settings = {
            "bind": "127.0.0.1",
            "port": str(port),
            "unixsocket": str(self.folder / "redis.sock"),
            "dir": str(self.folder),
            "save": "",
            "maxmemory-policy": "noeviction",
            **self._settings,
        }
        modules = [("loadmodule", str(module)) for module in self._modules]
        pairs = [*settings.items(), *modules]
        return [str(self._program), *(part for pair in pairs for part in (f"--{pair[0]}", pair[1]))]


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
