"""What a caller may set about an opened store."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum

from retention.errors import ConfigurationError
from retention.policy import RetentionPolicy, ThreadRetention
from retention.ports import Clock
from stores.module_names import checked_modules
from stores.variables import COMPRESS, FINISHED, MODULES, WAITING, checked_variables

#: Bytes above which an encoded value is compressed unless told otherwise.
DEFAULT_COMPRESS_BYTES = 65_536


class Access(Enum):
    """What opening a store may do to it."""

    #: Make the store, and its tables, where they are missing.
    CREATE = "create"
    #: Make this project's own tables where they are missing; the store itself must be there.
    WRITE = "write"
    #: Make and change nothing.
    READ = "read"


def now() -> datetime:
    """The instant, in UTC: the clock of every store that is not given another."""
    return datetime.now(UTC)


def platform_policy(environ: Mapping[str, str] | None = None) -> RetentionPolicy:
    """The platform's two horizons as the environment states them, else their defaults.

    Raises:
        ConfigurationError: A value is no whole number of minutes, or finished is above waiting;
            or a variable of the store is misspelt or was removed.
    """
    variables = checked_variables(environ)
    default = RetentionPolicy()
    return RetentionPolicy(
        _minutes(variables, WAITING, default.waiting_minutes),
        _minutes(variables, FINISHED, default.finished_minutes),
    )


def platform_compress_bytes(environ: Mapping[str, str] | None = None) -> int | None:
    """Bytes above which an encoded value is compressed, as the environment states; None is off.

    Raises:
        ConfigurationError: The value is neither a whole number of bytes nor ``null``.
    """
    text = checked_variables(environ).get(COMPRESS)
    if text is None:
        return DEFAULT_COMPRESS_BYTES
    if text == "null":
        return None
    if not re.fullmatch("[0-9]{1,20}", text):
        raise ConfigurationError(
            f"{COMPRESS}={text[:40]!r} must be a whole number of bytes, or null"
        )
    return int(text)


def platform_allowed_modules(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Modules whose classes may be kept, as the environment names them, by commas; else none.

    Raises:
        ConfigurationError: One of the names is no module name.
    """
    text = checked_variables(environ).get(MODULES, "")
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    return checked_modules(names, MODULES)


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """How a store is opened.

    ``policy`` is the platform's default and ceiling; ``retention`` is what the opened ledger
    declares for a thread where its ``start`` is given nothing. A value whose encoding is longer
    than ``compress_above`` bytes is stored compressed, in a store that allows it. Redis keeps
    values of the application's own classes where ``allowed_modules`` names the module of the class,
    or a package above it; no other module is imported when a value is read. Facts of a thread hold
    what the metadata of its head says under ``metadata_keys``. Timeouts bound each statement and
    each wait for a lock.
    """

    policy: RetentionPolicy = field(default_factory=platform_policy)
    retention: ThreadRetention | None = None
    access: Access = Access.CREATE
    compress_above: int | None = field(default_factory=platform_compress_bytes)
    allowed_modules: Collection[str] = field(default_factory=platform_allowed_modules)
    metadata_keys: Collection[str] = ()
    clock: Clock = now
    statement_timeout: timedelta = timedelta(seconds=60)
    lock_timeout: timedelta = timedelta(seconds=5)

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed_modules", checked_modules(self.allowed_modules))

    def patient(self, statement_timeout: timedelta) -> "StoreOptions":
        """The same, with another time for each statement."""
        return replace(self, statement_timeout=statement_timeout)


def _minutes(variables: Mapping[str, str], name: str, default: int) -> int:
    text = variables.get(name)
    if text is None:
        return default
    if not re.fullmatch("[+-]?[0-9]{1,20}", text.strip()):
        raise ConfigurationError(f"{name}={text[:40]!r} must be a whole number of minutes")
    return int(text)
