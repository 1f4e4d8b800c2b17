"""Serving the metrics of a store over HTTP, for a Prometheus that scrapes without a gateway."""

import logging
import socket
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client.exposition import choose_encoder

from retention.errors import ConfigurationError, StoreError
from retention.events import event
from retention.ports import RunLog
from worker.metrics.families import Reading, registry_of

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

log = logging.getLogger(__name__)

_TEXT = "text/plain; charset=utf-8"
_REQUEST_SECONDS = 10

#: Status, content type and body of an answer.
Answer = tuple[str, str, bytes]


class MetricsApp:
    """A WSGI application: ``GET /metrics`` and ``GET /healthz``, read from the store each time."""

    def __init__(self, runs: RunLog, prefix: str) -> None:
        """Serve the totals of this run log."""
        self._runs = runs
        self._prefix = prefix

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer a request."""
        status, content_type, body = self._answer(environ)
        headers = [("Content-Type", content_type), ("Content-Length", str(len(body)))]
        start_response(status, [*headers, ("Cache-Control", "no-store")])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _answer(self, environ: "WSGIEnvironment") -> Answer:
        pages = {"/metrics": self._metrics, "/healthz": self._health}
        page = pages.get(environ.get("PATH_INFO", ""))
        if page is None:
            return "404 Not Found", _TEXT, b"there are /metrics and /healthz\n"
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return "405 Method Not Allowed", _TEXT, b"only GET and HEAD are answered\n"
        try:
            return page(environ)
        except (StoreError, ConfigurationError, ValueError, OverflowError) as error:
            # A total that somebody broke is the store's fault as well. The reason may name hosts
            # and roles: it is for the log, not for whoever asks.
            event(log, logging.ERROR, "store_not_read", error=error)
            return "503 Service Unavailable", _TEXT, b"the store cannot be read\n"

    def _metrics(self, environ: "WSGIEnvironment") -> Answer:
        encode, content_type = choose_encoder(environ.get("HTTP_ACCEPT", ""))
        registry = registry_of(self._prefix, Reading.of(self._runs))
        return "200 OK", content_type, encode(registry)

    def _health(self, _: "WSGIEnvironment") -> Answer:
        self._runs.totals()
        return "200 OK", _TEXT, b"ok\n"


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _ServerV6(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    # One who connects and says nothing must not keep a thread for ever.
    timeout = _REQUEST_SECONDS

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Say nothing of a request: there is one every few seconds."""


def metrics_server(
    host: str, port: int, app: Callable[["WSGIEnvironment", "StartResponse"], Iterable[bytes]]
) -> WSGIServer:
    """A server that listens, and answers once ``serve_forever`` is called.

    Args:
        host: The address to listen on.
        port: The port; 0 takes a free one.
        app: What answers.

    Raises:
        ConfigurationError: It cannot listen there.
    """
    kind = _ServerV6 if ":" in host else _Server
    try:
        return make_server(host, port, app, kind, _Handler)
    except OSError as error:
        raise ConfigurationError(
            f"--host {host} --port {port}: cannot listen there: {error.strerror or error}"
        ) from None
