"""Reading metrics as Prometheus does, and HTTP servers that answer as a test needs."""

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client.parser import text_string_to_metric_families

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
