"""What stands between a store and its server: PgBouncer, and a pooler that drops an option."""

import contextlib
import shutil
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.servers import ServiceMissingError
from tests.servers.postgres import unprivileged
from tests.servers.process import ServerProcess

#: What a client sends to ask for encryption; the pooler declines.
_SSL_AND_GSS = (80877103, 80877104)


@contextmanager
def dropping_options(dsn: str) -> Iterator[str]:
    """A pooler on a port of its own that drops ``options`` from each start of a session."""
    server = conninfo_to_dict(dsn)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        acceptor = threading.Thread(target=_accept, args=(listener, server), daemon=True)
        acceptor.start()
        port = listener.getsockname()[1]
        yield f"postgresql://{server['user']}@127.0.0.1:{port}/{server['dbname']}"
        listener.shutdown(socket.SHUT_RDWR)
        acceptor.join(timeout=5)


def _accept(listener: socket.socket, server: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_serve, args=(client, server), daemon=True).start()


def _serve(client: socket.socket, server: dict[str, Any]) -> None:
    with contextlib.suppress(OSError), client, _connect(server) as upstream:
        upstream.sendall(_without_options(_startup(client)))
        back = threading.Thread(target=_pump, args=(upstream, client), daemon=True)
        back.start()
        _pump(client, upstream)
        back.join(timeout=5)


def _connect(server: dict[str, Any]) -> socket.socket:
    host, port = str(server["host"]), int(server.get("port") or 5432)
    if not host.startswith("/"):
        return socket.create_connection((host, port))
    upstream = socket.socket(socket.AF_UNIX)
    upstream.connect(f"{host}/.s.PGSQL.{port}")
    return upstream


def _startup(client: socket.socket) -> bytes:
    while True:
        (length,) = struct.unpack("!I", _exactly(client, 4))
        body = _exactly(client, length - 4)
        if struct.unpack("!I", body[:4])[0] not in _SSL_AND_GSS:
            return body
        client.sendall(b"N")


def _without_options(body: bytes) -> bytes:
    words = body[4:].rstrip(b"\0").split(b"\0")
    pairs = [pair for pair in zip(words[::2], words[1::2], strict=True) if pair[0] != b"options"]
    kept = body[:4] + b"".join(key + b"\0" + value + b"\0" for key, value in pairs) + b"\0"
    return struct.pack("!I", len(kept) + 4) + kept


def _exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = source.recv(size - len(data))
        if not chunk:
            raise OSError("the client is gone")
        data += chunk
    return data


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)


class PgBouncer(ServerProcess):
    """PgBouncer in transaction mode, with fewer server connections than a store has clients."""

    def __init__(self, dsn: str) -> None:
        program = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        if program is None:
            raise ServiceMissingError("pgbouncer is not on PATH")
        self._program = program
        self._server = conninfo_to_dict(dsn)
        super().__init__("rt-pgb-")
        self._wrapper, self._user = unprivileged()

    @property
    def dsn(self) -> str:
        """The address of the database behind the pooler."""
        return f"postgresql://postgres@/{self._server['dbname']}?host={self.folder}&port=6432"

    def start(self) -> None:
        """Start the pooler."""
        server = " ".join(
            f"{name}={self._server[name]}"
            for name in ("host", "port", "user")
            if self._server.get(name)
        )
        config = self.folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n* = {server}\n[pgbouncer]\npool_mode = transaction\n"
            f"listen_addr =\nunix_socket_dir = {self.folder}\nlisten_port = 6432\n"
            "auth_type = any\ndefault_pool_size = 2\nignore_startup_parameters = options\n"
        )
        Path(self.folder).chmod(0o777)
        self._launch([*self._wrapper, self._program, str(config)], self._user)

    def is_ready(self) -> bool:
        """Whether the pooler lets a session through."""
        try:
            psycopg.connect(self.dsn, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True
