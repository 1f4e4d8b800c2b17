"""The settings of the broker and the result backend: Celery's own variables."""

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retention.errors import ConfigurationError
from worker.settings.variables import Variables

BROKER = "CELERY_BROKER_URL"
RESULTS = "CELERY_RESULT_BACKEND"

_REFUSED_BROKERS = {
    "memory": "its messages never leave their process, and beat and the workers are several",
    "sqla": "a database as broker answers no remote command (inspect, revoke, Flower)",
    "sqlalchemy": "a database as broker answers no remote command (inspect, revoke, Flower)",
}
_BROKER_RULE = (
    "a URL such as redis://host:6379/0, amqp://user:password@host:5672/vhost or "
    "filesystem:///absolute/folder is needed"
)
_RESULTS_RULE = (
    "a URL such as redis://host:6379/0, db+postgresql://host/name or file:///absolute/folder is "
    "needed"
)

_REFUSED_BACKENDS = {
    "rpc": "only the caller could read a result, so the id of a sweep could not be resolved later",
    "cache+memory": "its results never leave their process",
    "disabled": "the id of a sweep could not be resolved",
}

_REDIS = frozenset({"redis", "rediss", "sentinel"})
_RABBIT = frozenset({"amqp", "amqps", "pyamqp"})

_WITH_HOST = _REDIS | _RABBIT | {"db"}
_PLACE_RULE = (
    "a host and a port from 1 to 65535, as host:6379, are needed, and special characters in a "
    "password as %XX"
)
_NUMBERED = frozenset({"redis", "rediss"})
_NUMBER_RULE = "the number of a Redis database, as redis://host:6379/0, is needed"

# Stock Kombu looks once a second.
_POLLING_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Where messages and results go.

    Attributes:
        broker_url: The broker, for Celery; it may hold a password.
        result_backend: The result backend, for Celery; it may hold a password.
        folder: The folder of a filesystem broker; None for any other.
    """

    broker_url: str = field(repr=False)
    result_backend: str = field(repr=False)
    folder: Path | None = None

    @property
    def is_redis(self) -> bool:
        """Whether the broker is Redis: plain, encrypted, on a socket or behind Sentinel."""
        return _kind(self.broker_url) in _REDIS

    @property
    def is_rabbit(self) -> bool:
        """Whether the broker is RabbitMQ, encrypted or not."""
        return _kind(self.broker_url) in _RABBIT

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that a filesystem broker needs: messages, bindings and results."""
        if self.folder is None:
            return ()
        return tuple(self.folder / name for name in ("messages", "control", "results"))

    @property
    def transport_options(self) -> dict[str, Any]:
        """What Kombu's transport must be told about the places named here."""
        if self.folder is None:
            return {}
        messages, control, _ = map(str, self.folders)
        return {
            "data_folder_in": messages,
            "data_folder_out": messages,
            "control_folder": control,
            "polling_interval": _POLLING_SECONDS,
        }


def broker_settings(variables: Variables) -> BrokerSettings:
    """Make the broker's settings from the variables in force; nothing is connected or created.

    Raises:
        ConfigurationError: The broker is not set, or one of the two cannot work here.
    """
    from kombu.transport import TRANSPORT_ALIASES

    url = variables.get(BROKER)
    if not url:
        raise ConfigurationError(f"{BROKER} is not set: {_BROKER_RULE}")
    _check(variables, BROKER, _BROKER_RULE, _REFUSED_BROKERS, TRANSPORT_ALIASES)
    folder = _folder(variables, url) if _kind(url) == "filesystem" else None
    results = _result_backend(variables, url, folder)
    # Kombu warns of a URL without a host on every connection.
    return BrokerSettings(f"filesystem://localhost{folder}" if folder else url, results, folder)


def _result_backend(variables: Variables, broker: str, folder: Path | None) -> str:
    from celery.app.backends import BACKEND_ALIASES

    url = variables.get(RESULTS)
    if url:
        _check(variables, RESULTS, _RESULTS_RULE, _REFUSED_BACKENDS, BACKEND_ALIASES)
        return url
    if folder is not None:
        return f"file://{folder / 'results'}"
    if _kind(broker) in _REDIS:
        return broker
    raise ConfigurationError(
        f"{RESULTS} is not set: with {_kind(broker)}:// as broker, results need a place of their "
        f"own, and {_RESULTS_RULE}"
    )


def _check(
    variables: Variables,
    name: str,
    rule: str,
    refused: Mapping[str, str],
    known: Container[str],
) -> None:
    """Check the scheme of a URL: it must be one that Celery knows and that works here."""
    url = variables.get(name) or ""
    scheme, kind = url.partition("://")[0], _kind(url)
    # An entry with a driver, as cache+memory, is more exact than one without.
    for bad in (scheme, kind):
        if bad in refused:
            raise variables.refusal(name, f"{bad}:// cannot work, as {refused[bad]}")
    # A dotted scheme is a class of somebody's own, which Celery imports by that path.
    if "://" not in url or (kind not in known and "." not in kind):
        raise variables.refusal(name, rule)
    if kind in _WITH_HOST:
        _check_places(variables, name, kind)


def _check_places(variables: Variables, name: str, kind: str) -> None:
    """Check each place that a URL names: a broker may have several, and so has Sentinel."""
    url = variables.get(name) or ""
    for part in url.split(";") if name == BROKER or kind == "sentinel" else [url]:
        _check_place(variables, name, part)


def _check_place(variables: Variables, name: str, url: str) -> None:
    """Check what Kombu reads from a URL only when it connects: the port, and Redis' database."""
    from kombu.utils.url import url_to_parts

    try:
        parts = url_to_parts(url)
    except ValueError:
        parts = None
    if parts is None or parts.port == 0:
        raise variables.refusal(name, _PLACE_RULE)
    if parts.scheme in _NUMBERED and not re.fullmatch(r"/*[0-9]{0,6}/*", parts.path or ""):
        raise variables.refusal(name, _NUMBER_RULE)


def _kind(url: str) -> str:
    """Give the scheme of a URL without the driver that may follow, as in ``redis+socket``."""
    return url.partition("://")[0].partition("+")[0]


def _folder(variables: Variables, url: str) -> Path:
    text = url.removeprefix("filesystem://").removeprefix("localhost")
    if not text.startswith("/") or not text.strip("/") or "\0" in text:
        rule = "an absolute folder after three slashes, as filesystem:///var/spool/x, is needed"
        raise variables.refusal(BROKER, rule)
    return Path(text)
