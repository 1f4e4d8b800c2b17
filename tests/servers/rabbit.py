"""RabbitMQ for tests: a server of our own from the system's package, or one TEST_AMQP_URL names."""

import contextlib
import os
import shutil
import signal
import socket
from abc import ABC, abstractmethod
from pathlib import Path

from amqp.exceptions import NotFound
from kombu import Connection, Exchange, Queue

from tests.servers.process import ServerProcess, ServiceMissingError, clean_environment
from tests.servers.redis import free_port

# The scripts that Debian puts on PATH change the user to run as; these do not.
_SCRIPTS = Path("/usr/lib/rabbitmq/bin")
_CONFIGURATION = """\
listeners.tcp.1 = 127.0.0.1:{port}
disk_free_limit.absolute = 1MB
log.console = true
log.console.level = warning
"""


class Rabbit(ABC):
    """A running RabbitMQ whose queues tests may use, empty and delete."""

    @abstractmethod
    def url(self) -> str:
        """The address of its virtual host."""

    def purge(self, queue: str) -> None:
        """Empty a queue, if it is there."""
        with self._connected() as connection, contextlib.suppress(NotFound):
            Queue(queue, channel=connection.default_channel).purge()

    def delete(self, queue: str) -> None:
        """Delete a queue and the exchange of the same name, which may be of either type."""
        with self._connected() as connection:
            Queue(queue, channel=connection.default_channel).delete()
            Exchange(queue, channel=connection.default_channel).delete()

    def _connected(self) -> Connection:
        return Connection(self.url())


class ExternalRabbit(Rabbit):
    """A server that somebody else runs. Tests use the virtual host in its address."""

    def __init__(self, url: str) -> None:
        self._url = url

    def url(self) -> str:
        """The given address."""
        return self._url


class Epmd(ServerProcess):
    """Erlang's port mapper: one of our own, so that no node of somebody else's is met."""

    def __init__(self, program: Path) -> None:
        super().__init__("rt-epmd-")
        self._program = program
        self.port = free_port()

    def start(self) -> None:
        """Start it in the foreground; a node would leave one behind as a daemon."""
        self._launch([str(self._program), "-port", str(self.port), "-address", "127.0.0.1"])

    def is_ready(self) -> bool:
        """Whether it takes connections."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False


class RabbitServer(ServerProcess, Rabbit):
    """A node of our own on the loopback device, with its port mapper, cookie and data."""

    def __init__(self) -> None:
        self._program = installed_program("rabbitmq-server")
        epmd = installed_program("epmd")
        super().__init__("rt-rabbit-")
        self._epmd = Epmd(epmd)
        self.port, self._peer_port = free_port(), free_port()

    def url(self) -> str:
        """The address of its default virtual host."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def start(self) -> None:
        """Start the node, with the data it had before if there was one."""
        if self._epmd.pid is None:
            self._epmd.start()
        (self.folder / "rabbitmq.conf").write_text(_CONFIGURATION.format(port=self.port))
        (self.folder / "plugins").write_text("[].")
        (self.folder / "environment").touch()
        self._launch([str(self._program)])

    def stop(self) -> None:
        """Let the node shut down in order, keeping what is durable."""
        self._end(signal.SIGTERM)

    def close(self) -> None:
        """End the node and its port mapper."""
        try:
            super().close()
        finally:
            self._epmd.close()

    def is_ready(self) -> bool:
        """Whether it lets a client in."""
        try:
            with Connection(self.url(), connect_timeout=2) as connection:
                connection.connect()
        except OSError:
            return False
        return True

    def _environment(self) -> dict[str, str]:
        data = str(self.folder / "data")
        return {
            **clean_environment(),
            "HOME": str(self.folder),
            "ERL_EPMD_PORT": str(self._epmd.port),
            "RABBITMQ_NODENAME": f"rt{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._peer_port),
            "RABBITMQ_MNESIA_BASE": data,
            "RABBITMQ_LOG_BASE": data,
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "environment"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            # The script becomes the node instead of waiting for it: one process to signal. Two
            # schedulers are enough, and their busy waiting would slow what is tested.
            "RABBITMQ_ALLOW_INPUT": "true",
            "RABBITMQ_SERVER_START_ARGS": "-noinput",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none -kernel "
            "inet_dist_use_interface {127,0,0,1}",
        }


def installed_program(name: str) -> Path:
    """The path of one of the package's programs."""
    found = shutil.which(name, path=f"{_SCRIPTS}:{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if found is None:
        raise ServiceMissingError(f"{name} is not installed (Debian: rabbitmq-server)")
    return Path(found)
