"""Redis over TLS for tests: the packaged server lacks TLS, so something in front speaks it."""

import asyncio
import contextlib
import shutil
import ssl
import subprocess
import threading
from pathlib import Path
from urllib.parse import quote

from tests.servers.process import ServerFailedError, ServiceMissingError
from tests.servers.redis import RedisServer

_CHUNK = 65_536
_START_SECONDS = 10
# Strict enough for Python 3.13, whatever this machine's openssl.cnf says.
_REQUEST = """\
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = localhost
[extensions]
basicConstraints = critical, CA:TRUE
keyUsage = critical, digitalSignature, keyCertSign
subjectKeyIdentifier = hash
subjectAltName = IP:127.0.0.1, DNS:localhost
"""


class TlsFront:
    """Takes TLS connections on a port and passes what they say to a socket of this machine."""

    def __init__(self, certificate: Path, key: Path, socket: Path) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        # A client may show a certificate of its own; one that it shows must be right.
        self._context.load_verify_locations(certificate)
        self._context.verify_mode = ssl.CERT_OPTIONAL
        self._socket = socket
        self._listens = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self.port = 0

    def start(self) -> None:
        """Listen, on a port that is free; `port` names it afterwards."""
        self._thread.start()
        if not self._listens.wait(_START_SECONDS):
            raise ServerFailedError("nothing listens for TLS connections")

    def close(self) -> None:
        """Drop all connections and listen no more."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0, ssl=self._context)
        self.port = server.sockets[0].getsockname()[1]
        self._loop = asyncio.get_running_loop()
        self._listens.set()
        await self._stop.wait()
        server.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            inner_reader, inner_writer = await asyncio.open_unix_connection(self._socket)
            with contextlib.closing(inner_writer):
                ways = _pump(reader, inner_writer), _pump(inner_reader, writer)
                tasks = [asyncio.create_task(way) for way in ways]
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    task.cancel()


class TlsRedis(RedisServer):
    """A server of our own with TLS on a port; its socket stays plain."""

    def __init__(self) -> None:
        openssl = shutil.which("openssl")
        if openssl is None:
            raise ServiceMissingError("openssl is not on PATH: no certificate can be made")
        super().__init__()
        self._openssl = openssl
        self.certificate = self.folder / "certificate.pem"
        self.key = self.folder / "key.pem"
        self._front: TlsFront | None = None

    def url(self, database: int = 0) -> str:
        """The address over TLS, with the certificate to trust."""
        return f"{self.bare_url(database)}?ssl_ca_certs={quote(str(self.certificate), safe='/')}"

    def bare_url(self, database: int = 0) -> str:
        """The same without the certificate, so whoever checks it must refuse it."""
        assert self._front is not None, "the server was never started"
        return f"rediss://127.0.0.1:{self._front.port}/{database}"

    def start(self) -> None:
        """Start the server, and what speaks TLS, after making the certificate the first time."""
        super().start()
        if self._front is None:
            self._make_certificate()
            front = TlsFront(self.certificate, self.key, self.folder / "redis.sock")
            front.start()
            self._front = front

    def close(self) -> None:
        """End both."""
        try:
            if self._front is not None:
                self._front.close()
        finally:
            super().close()

    def _make_certificate(self) -> None:
        request = self.folder / "request.cnf"
        request.write_text(_REQUEST)
        kind = ["-x509", "-days", "30", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        places = ["-config", str(request), "-keyout", str(self.key), "-out", str(self.certificate)]
        command = [self._openssl, "req", "-nodes", *kind, *places]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ServerFailedError(f"openssl failed:\n{done.stderr}")


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
