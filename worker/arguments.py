"""The arguments of the tasks: whoever can write to the broker chooses them, so each is checked."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retention.errors import ConfigurationError
from stores.address import sqlite_path
from worker.settings import StoreSettings, redact

_JSON_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (int, "a number"),
    (float, "a number"),
    (str, "a text"),
    (list, "a list"),
    (dict, "an object"),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: its rule in words, and whether a value keeps it."""

    rule: str
    fits: Callable[[object], bool]


FLAG = Kind("true or false", lambda value: isinstance(value, bool))
TEXT = Kind("a text", lambda value: isinstance(value, str) and bool(value))
OPTIONAL_TEXT = Kind("a text or null", lambda value: value is None or isinstance(value, str))
NUMBER = Kind(
    "a whole number from 0 up",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a task takes.

    Attributes:
        task: The task's name.
        kinds: Its arguments in their order.
        defaults: The values of those that may be left out.
    """

    task: str
    kinds: Mapping[str, Kind]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Give each argument its value.

        Raises:
            ConfigurationError: One is unknown, missing, given twice or of the wrong kind. The line
                shows no value: it may be a secret in the wrong place.
        """
        if len(args) > len(self.kinds):
            raise self._refusal(f"takes {len(self.kinds)} arguments, not {len(args)}")
        placed = dict(zip(self.kinds, args, strict=False))
        for name in kwargs:
            self._check_name(name, placed)
        given = {**self.defaults, **placed, **kwargs}
        for name, kind in self.kinds.items():
            self._check_value(name, kind, given)
        return given

    def _check_name(self, name: str, placed: Mapping[str, Any]) -> None:
        if name in placed:
            raise self._refusal(f"was given {name} twice")
        if name not in self.kinds:
            near = difflib.get_close_matches(name, self.kinds, n=1, cutoff=0.6)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise self._refusal(f"takes no argument {name[:60]!r}{hint}; it takes {self._known()}")

    def _check_value(self, name: str, kind: Kind, given: Mapping[str, Any]) -> None:
        if name not in given:
            raise self._refusal(f"needs {name}; it takes {self._known()}")
        if not kind.fits(given[name]):
            raise self._refusal(f"needs {name} as {kind.rule}, not as {_kind_of(given[name])}")

    def _known(self) -> str:
        return ", ".join(self.kinds)

    def _refusal(self, what: str) -> ConfigurationError:
        return ConfigurationError(f"{self.task} {what}")


def refuse_other_store(own: StoreSettings, asked: str | None) -> None:
    """Refuse a store that is not the deployment's own.

    Args:
        own: The store the worker was started for.
        asked: Its provider, or its address with or without its password; None asks for nothing.

    Raises:
        ConfigurationError: Another store is named.
    """
    if asked is None or asked == own.provider:
        return
    if _comparable(asked, own) in {_comparable(form, own) for form in _forms(own.address)}:
        return
    raise ConfigurationError(
        f"store={redact(asked)[:120]!r} is refused: this worker sweeps {own.provider} at "
        f"{redact(own.address)}, and a task cannot send it to another store"
    )


def _forms(address: str) -> tuple[str, ...]:
    """The address as it is, and without its password in the ways people leave one out."""
    return (
        address,
        redact(address),
        re.sub(r"(?<=://)([^/@]*):[^@]*@", r"\1@", address),
        re.sub(r"(?<=://):[^@]*@", "", address),
    )


def _comparable(address: str, own: StoreSettings) -> str:
    if own.provider == "sqlite" and (not re.match(r"\w+://", address) or "sqlite" in address[:9]):
        return str(Path(sqlite_path(address)).absolute())
    return address.strip()


def _kind_of(value: object) -> str:
    return next((name for kind, name in _JSON_NAMES if isinstance(value, kind)), "null")
