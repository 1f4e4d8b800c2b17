"""Redis behind Sentinel for tests: one master and the sentinel that tells its address."""

import contextlib
from typing import Any

import redis

from tests.servers.redis import RedisServer

SERVICE = "main"
_CONFIGURATION = """\
bind 127.0.0.1
port {port}
unixsocket {folder}/redis.sock
dir {folder}
sentinel monitor {service} 127.0.0.1 {master} 1
sentinel down-after-milliseconds {service} 1000
"""


class SentinelRedis(RedisServer):
    """A sentinel of our own; it starts its master first and ends it last."""

    def __init__(self) -> None:
        super().__init__()
        self.master = RedisServer()

    def url(self, database: int = 0) -> str:
        """The address of one of the master's databases, by way of the sentinel."""
        return f"redis+sentinel://127.0.0.1:{self.port}/{SERVICE}/{database}"

    def start(self) -> None:
        """Start the sentinel, and before it the master if that does not run."""
        if self.master.pid is None:
            self.master.start()
        super().start()

    def close(self) -> None:
        """End the sentinel and its master."""
        try:
            super().close()
        finally:
            self.master.close()

    def is_ready(self) -> bool:
        """Whether it tells where the master is."""
        try:
            with contextlib.closing(redis.Redis.from_url(self.socket_url())) as client:
                send: Any = client.execute_command
                return bool(send("SENTINEL GET-MASTER-ADDR-BY-NAME", SERVICE))
        except redis.RedisError:
            return False

    def flush(self) -> None:
        """Empty all databases of the master."""
        self.master.flush()

    def _command(self, port: int) -> list[str]:
        # A sentinel writes what it learns into its configuration, so it must be a file.
        path = self.folder / "sentinel.conf"
        path.write_text(
            _CONFIGURATION.format(
                port=port, folder=self.folder, service=SERVICE, master=self.master.port
            )
        )
        return [str(self._program), str(path), "--sentinel"]
