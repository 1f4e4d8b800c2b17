"""Exceptions as readable records, and what comes back from one."""

import contextlib
from collections.abc import Callable
from typing import Any, TypeAlias, TypeGuard

from stores.codec.refusals import Refused, guarded, type_name

Record: TypeAlias = dict[str, Any]

#: The keys of a record, all of them, in order.
KEYS = ("id", "message", "kwargs", "repr_kwargs", "cause")
#: How far causes and exceptions held as attributes are followed, and how many records are made in
#: all. What lies beyond is told by its ``repr``, and a cause there is left out.
_DEEPEST = 20
_MOST = 100
#: How deep the attributes may be nested; deeper ones are told by their ``repr``.
_ATTRIBUTE_DEPTH = 20


class CheckpointedException(Exception):  # noqa: N818  # the documented name
    """An exception that was stored. It carries the record of the original.

    ``record`` has exactly the keys ``id`` (module path and class name), ``message``, ``kwargs``
    (the attributes), ``repr_kwargs`` (names of those kept as their ``repr`` only) and ``cause``
    (the record of the exception it was raised from, or None). Two are equal if their records are.
    A cause is also the ``__cause__`` of this exception, and notes are its notes.
    """

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.record = record
        if record["cause"] is not None:
            self.__cause__ = CheckpointedException(record["cause"])
        for note in _notes(record):
            self.add_note(note)

    @property
    def id(self) -> list[str]:
        """Module path and class name of the original, in parts."""
        return list(self.record["id"])

    @property
    def message(self) -> str:
        """What the original said."""
        return str(self.record["message"])

    @property
    def kwargs(self) -> dict[str, Any]:
        """The attributes of the original."""
        return dict(self.record["kwargs"])

    @property
    def repr_kwargs(self) -> list[str]:
        """Which attributes are kept as their ``repr`` only."""
        return list(self.record["repr_kwargs"])

    @property
    def cause(self) -> "CheckpointedException | None":
        """What the original was raised from."""
        record = self.record["cause"]
        return None if record is None else CheckpointedException(record)

    def __str__(self) -> str:
        return f"{'.'.join(self.id)}: {self.message}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CheckpointedException):
            return NotImplemented
        return self.record == other.record

    def __hash__(self) -> int:
        return hash((*self.id, self.message))


def record_of(error: BaseException) -> Record:
    """The record of an exception. Causes that lead back to it end in None."""
    return _Recorder().record(error, ())


def checked_record(record: Any) -> Record:
    """A record, once it is known to be one.

    Raises:
        Refused: It is none.
    """
    inner = record
    while inner is not None:
        if type(inner) is not dict or set(inner) != set(KEYS) or not _is_whole(inner):
            raise Refused("cannot be read back: it is no record of an exception")
        inner = inner["cause"]
    return dict(record)


def _is_whole(record: Record) -> bool:
    return (
        type(record["message"]) is str
        and type(record["kwargs"]) is dict
        and all(type(name) is str for name in record["kwargs"])
        and _is_texts(record["id"])
        and _is_texts(record["repr_kwargs"])
    )


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


def _notes(record: Record) -> list[str]:
    notes = record["kwargs"].get("__notes__")
    return notes if _is_texts(notes) else []


class _Recorder:
    """Makes the record of one exception, and of those it holds."""

    def __init__(self) -> None:
        self._left = _MOST

    def record(self, error: BaseException, above: tuple[int, ...]) -> Record:
        """The record of an exception that lies under those with the ids ``above``."""
        if type(error) is CheckpointedException:
            return error.record
        # Above all a bound on width: shared exceptions are told in each place.
        self._left -= 1
        above = (*above, id(error))
        cause, kwargs, by_repr = error.__cause__, {}, []
        # The cause first: what is cut off by the bounds is then an attribute.
        told = self.record(cause, above) if self._follows(cause, above) else None
        for name, value in _attributes(error).items():
            kept, kwargs[name] = self._attribute(value, above)
            if not kept:
                by_repr.append(name)
        return {
            "id": [*str(type(error).__module__).split("."), *type(error).__qualname__.split(".")],
            "message": _told(str, error),
            "kwargs": kwargs,
            "repr_kwargs": by_repr,
            "cause": told,
        }

    def _attribute(self, value: Any, above: tuple[int, ...]) -> tuple[bool, Any]:
        """Whether an attribute is kept as it is, and what is kept."""
        if self._follows(value, above):
            return True, self.record(value, above)
        if isinstance(value, _Members) and all(self._follows(one, above) for one in value):
            return True, [self.record(one, above) for one in value]
        if not _is_json(value, _ATTRIBUTE_DEPTH):
            return False, _told(repr, value)
        return True, value

    def _follows(self, error: object, above: tuple[int, ...]) -> TypeGuard[BaseException]:
        return (
            isinstance(error, BaseException)
            and self._left > 0
            and len(above) < _DEEPEST
            and id(error) not in above
        )


class _Members(tuple[BaseException, ...]):
    """The exceptions of a group."""


def _attributes(error: BaseException) -> dict[str, Any]:
    """What an exception holds by name."""
    found: dict[str, Any] = {}
    for cls in reversed(type(error).__mro__):
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            with contextlib.suppress(AttributeError):  # a slot that is not filled
                found[name] = getattr(error, name)
    if isinstance(error, BaseExceptionGroup):
        found["exceptions"] = _Members(error.exceptions)
    found.update({name: value for name, value in vars(error).items() if type(name) is str})
    return found


def _told(tell: Callable[[object], str], value: object) -> str:
    """The text that a ``str`` or ``repr`` gives, or that it gives none: errors are always kept."""
    try:
        return str.__str__(guarded(tell, value))
    except Refused:
        return f"<{type_name(type(value))}, which cannot be shown>"


def _is_json(value: Any, depth: int) -> bool:
    """Whether JSON holds a value as it is."""
    kind = type(value)
    if kind is float:
        return bool(value - value == 0)
    if kind is list:
        return depth > 0 and all(_is_json(item, depth - 1) for item in value)
    if kind is dict:
        return (
            depth > 0
            and all(type(key) is str for key in value)
            and all(_is_json(item, depth - 1) for item in value.values())
        )
    return kind in (str, int, bool, type(None))
