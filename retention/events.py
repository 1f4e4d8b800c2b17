"""Events for the log: a fixed name, and fields, as one line.

Every log call of this project goes through `event`. Whatever a field holds, the text of an event
is one line of printable characters: a thread id may be any string, and must not be able to forge
a second event. Without a formatter of its own an application reads
``thread_spared run=8c1f… batch=0 thread=order-1001 horizon=waiting owner=flows-engine``; the
worker and the command put the time, the level and the Celery ids in front of it.
"""

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass

#: What may stand without quotes: nothing that ends a word, a value or a line.
_BARE = re.compile(r"[^\s\"'=\\]+")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; the message of a log record."""

    name: str
    fields: Mapping[str, object]

    def __str__(self) -> str:
        """The event as a reader of plain log lines sees it."""
        return " ".join(filter(None, (self.name, key_values(self.fields))))


def event(
    log: logging.Logger,
    level: int,
    name: str,
    /,
    *,
    trace: BaseException | None = None,
    **fields: object,
) -> None:
    """Log an event.

    Args:
        log: The logger of the module where it happens.
        level: One of the levels of `logging`.
        name: What happened, in snake case; programs search for it, so it never changes.
        trace: The exception whose traceback helps to find a fault.
        fields: Ids, numbers and words; never a thread's state.
    """
    log.log(level, Event(name, fields), exc_info=trace, stacklevel=2)


def key_values(fields: Mapping[str, object]) -> str:
    """Fields as ``key=value``, quoted as JSON strings where a value could be misread."""
    return " ".join(f"{key}={quoted(value)}" for key, value in fields.items())


def quoted(value: object) -> str:
    """A value as one word, or in double quotes with everything unprintable as an escape."""
    text = plain(value)
    if not isinstance(text, str):
        return json.dumps(text)
    if _BARE.fullmatch(text) and text.isprintable():
        return text
    return "".join(map(_escaped, json.dumps(text, ensure_ascii=False)))


def plain(value: object) -> str | int | float | None:
    """A value as a JSON scalar; an exception is its type and its message."""
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}".removesuffix(": ")
    return str(value)


def _escaped(character: str) -> str:
    # As JSON has it, so that a quoted value can be read back by any JSON parser.
    return character if character.isprintable() else json.dumps(character)[1:-1]
