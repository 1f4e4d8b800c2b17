"""One Pushgateway: takes a group of series whole, within a bounded time."""

import queue
import threading
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit, urlunsplit

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import basic_auth_handler, default_handler, push_to_gateway

from worker.settings import redact

JOB = "retention"
"""The ``job`` of every group that is pushed."""

# What an answer may say of its reason.
_REASON_BYTES = 300


class PushError(Exception):
    """The gateway did not take what it was sent; the message says why, without a secret."""


class Gateway:
    """A Pushgateway's address, with the password that it may ask for."""

    def __init__(self, url: str, timeout: float) -> None:
        """Connect to nothing yet.

        Args:
            url: Its address, with user and password before the host where it asks for them.
            timeout: Seconds after which a push is given up, whatever it then waits for.
        """
        parts = urlsplit(url)
        user_info, _, place = parts.netloc.rpartition("@")
        self._address = urlunsplit(parts._replace(netloc=place))
        self._user, self._password = map(unquote, user_info.partition(":")[::2])
        self._timeout = timeout
        self._late = f"no answer within {timeout:g} seconds"
        self.shown = redact(url)

    def put(self, registry: CollectorRegistry, store: str) -> None:
        """Replace a store's group of series: the same twice leaves what once does.

        Raises:
            PushError: The gateway cannot be reached, does not answer in time, or refuses.
        """
        answer: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        # A socket's timeout begins anew with each byte, and a name's look-up has none at all.
        threading.Thread(target=self._attempt, args=(registry, store, answer), daemon=True).start()
        try:
            fault = answer.get(timeout=self._timeout)
        except queue.Empty:
            fault = self._late
        if fault is not None:
            raise PushError(fault)

    def _attempt(
        self, registry: CollectorRegistry, store: str, answer: "queue.SimpleQueue[str | None]"
    ) -> None:
        try:
            push_to_gateway(
                self._address,
                JOB,
                registry,
                grouping_key={"store": store},
                timeout=self._timeout,
                handler=self._handler,
            )
        except HTTPError as error:
            answer.put(_refusal(error))
        except (OSError, HTTPException, ValueError) as error:
            # The socket's own timeout is as long, and may be over first.
            late = TimeoutError in (type(error), type(getattr(error, "reason", None)))
            answer.put(self._late if late else f"{type(error).__name__}: {error}")
        else:
            answer.put(None)

    def _handler(self, **request: Any) -> Callable[[], None]:
        if not self._user:
            return default_handler(**request)
        return basic_auth_handler(**request, username=self._user, password=self._password)


def _refusal(error: HTTPError) -> str:
    """What the gateway said, in one line; its answer may be of any length."""
    try:
        said = error.read(_REASON_BYTES).decode(errors="replace")
    except (OSError, HTTPException):
        said = ""
    return f"HTTP {error.code} {' '.join((said or error.reason).split())}"
