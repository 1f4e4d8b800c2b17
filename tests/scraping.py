"""Reading metrics as Prometheus does, and HTTP servers that answer as a test needs."""

import json
import shutil
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError

from prometheus_client.parser import text_string_to_metric_families

from tests.commands import PROGRAM, environment

PREFIX = "tai42_checkpoint_sweep_"

#: A series: its name without the prefix, and its own labels by name.
Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def series_of(text: str, store: str | None = None) -> Series:
    """Our series in a text, of one store if a gateway gives those of several; no group labels."""
    found: Series = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = dict(sample.labels)
            ours = sample.name.startswith(PREFIX)
            if ours and (store is None or labels.get("store") == store):
                own = sorted(
                    (k, v) for k, v in labels.items() if k not in ("job", "store", "instance")
                )
                found[sample.name.removeprefix(PREFIX), tuple(own)] = sample.value
    return found


def value(series: Series, name: str, **labels: str) -> float:
    """The value of one series."""
    return series[name, tuple(sorted(labels.items()))]


def lint(text: str) -> str:
    """What promtool has against a text; nothing where it is not installed."""
    program = shutil.which("promtool")
    if program is None:
        return ""
    done = subprocess.run(
        [program, "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@dataclass
class Requests:
    """What a server was asked for."""

    url: str
    seen: list[tuple[str, str, str, bytes]] = field(default_factory=list)


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[Requests]:
    """A real HTTP server whose PUT is answered by a function; notes method, path, auth, body."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            auth = self.headers.get("Authorization", "")
            requests.seen.append((self.command, self.path, auth, body))
            answer(self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        requests = Requests(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield requests
        finally:
            server.shutdown()
            thread.join()


def status(code: int, body: bytes = b"") -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer with a status and a text."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@dataclass
class Serving:
    """A `retention serve` that answers."""

    process: subprocess.Popen[str]
    url: str

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
        """Status, content type and body of an answer."""
        request = urllib.request.Request(  # noqa: S310 - our own server
            self.url + path, method=method, headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
                return answer.status, answer.headers["Content-Type"], answer.read().decode()
        except HTTPError as error:
            return error.code, error.headers["Content-Type"], error.read().decode()


@contextmanager
def serving(
    *arguments: str, folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[Serving]:
    """Start it on a free port, and end it as a supervisor does."""
    process = subprocess.Popen(
        [*PROGRAM, "serve", "--port", "0", "--json", *arguments],
        cwd=folder,
        env=environment(**(settings or {})),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield Serving(process, json.loads(line)["url"].removesuffix("/metrics"))
    finally:
        process.terminate()
        process.communicate(timeout=20)
