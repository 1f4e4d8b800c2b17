"""One value of each type that a run's state may hold."""

import math
import pathlib
import re
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from ipaddress import IPv4Address
from typing import Any, Final, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Command, Interrupt, Send
from pydantic import BaseModel, PrivateAttr

#: The module an application would name.
MODULE: Final = __name__


class Colour(Enum):
    """An enum."""

    RED = "red"


class Level(IntEnum):
    """An enum of numbers."""

    HIGH = 2


class Mood(StrEnum):
    """An enum of texts."""

    GOOD = "good"


class Right(Flag):
    """A flag."""

    READ = 1
    WRITE = 2


class Model(BaseModel):
    """A pydantic model that holds anything."""

    anything: Any = None
    _seen: int = PrivateAttr(default=0)


class Moment(BaseModel):
    """A model that parses a time."""

    at: datetime


@dataclass
class Record:
    """A dataclass with a field that its constructor does not take."""

    anything: Any
    derived: str = field(default="", init=False)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A frozen dataclass with slots."""

    anything: Any


class Point(NamedTuple):
    """A named tuple."""

    x: Any
    y: int = 0


class Outer:
    """A class that another lies in."""

    class Inner(BaseModel):
        """The inner one."""

        anything: Any = None


def _seen() -> Model:
    model = Model(anything=(1,))
    model._seen = 3  # noqa: SLF001  # as the model's own code would
    return model


def _derived() -> Record:
    record = Record((1,))
    record.derived = "d"
    return record


_PARIS = ZoneInfo("Europe/Paris")
_PARSED = '{"at": "2026-01-02T03:04:05+05:30"}'
_CALL: Any = {"name": "t", "args": {"a": 1}, "id": "1", "type": "tool_call"}

#: A value of each type, by what it is.
VALUES: Final[dict[str, Any]] = {
    "None, bool, int, str": [None, True, 1, "text"],
    "int beyond 64 bits": [2**70],
    "float": [0.1, -0.0],
    "NaN": [math.nan],
    "lone surrogate": ["\ud800"],
    "bytes": b"\x00",
    "bytes nested": [b"\x00"],
    "bytearray nested": [bytearray(b"\x00")],
    "tuple": [(1, (2,))],
    "set, frozenset": [{1}, frozenset({2})],
    "dict, int keys": {1: 2},
    "dict, tuple keys": {(1, 2): 3},
    "dict like an envelope": {"$": "tuple", "v": [1]},
    "datetime, UTC": [datetime(2026, 1, 2, 3, tzinfo=UTC)],
    "datetime, IANA zone": [datetime(2026, 1, 2, 3, tzinfo=_PARIS)],
    "datetime, fold": [datetime(2024, 10, 27, 2, 30, tzinfo=_PARIS, fold=1)],
    "datetime, named offset": [datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=1), "X"))],
    "datetime, pydantic's offset": Moment.model_validate_json(
        '{"at": "2026-01-02T03:04:05+05:30"}'
    ),
    "date, time, timedelta": [date(2026, 1, 2), time(3, 4, fold=1), timedelta(microseconds=-1)],
    "timezone, ZoneInfo": [timezone(timedelta(hours=1), "X"), _PARIS],
    "Decimal": [Decimal("1.10"), Decimal("-0")],
    "UUID": [UUID(int=7)],
    "enum": [Colour.RED],
    "int enum": [Level.HIGH],
    "str enum": [Mood.GOOD],
    "flag": [Right.READ | Right.WRITE],
    "pydantic model": [Model(anything=1)],
    "pydantic model, tuple in it": [Model(anything=(1,))],
    "pydantic model, model in Any": [Model(anything=Model())],
    "pydantic model, private attribute": [_seen()],
    "pydantic model in a class": [Outer.Inner()],
    "dataclass, init=False": [_derived()],
    "dataclass, frozen, slots": [Frozen((1,))],
    "named tuple": [Point((1,))],
    "messages": [HumanMessage("x"), AIMessage("", tool_calls=[_CALL])],
    "message with an artifact": [ToolMessage("x", tool_call_id="1", artifact=(1,))],
    "message.text": [AIMessage("x").text],
    "Document": [Document("x", metadata={"at": date(2026, 1, 2)})],
    "prompt": [ChatPromptTemplate.from_messages([("human", "{q}"), MessagesPlaceholder("h")])],
    "Send, Command, Interrupt": [Send("n", (1,)), Command(goto="a"), Interrupt("v", id="i")],
    "delta snapshot": [_DeltaSnapshot((1,))],
    "exception": [ValueError("x")],
    "path": [pathlib.Path("x")],
    "pattern": [re.compile("x")],
    "deque": [deque([1])],
    "IP address": [IPv4Address("127.0.0.1")],
}


def same(found: Any, wanted: Any) -> bool:
    """Whether a value is as it was, type included, at every level."""
    if type(found) is not type(wanted):
        return type(found).__name__ == "CheckpointedException"
    if isinstance(wanted, list | tuple):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, dict):
        return same(list(found.items()), list(wanted.items()))
    if isinstance(wanted, BaseModel):
        private = found.__pydantic_private__ == wanted.__pydantic_private__
        return private and same(vars(found), vars(wanted))
    if isinstance(wanted, datetime | time):
        return (found, found.fold) == (wanted, wanted.fold) and _zone(found) == _zone(wanted)
    return repr(found) == repr(wanted) if isinstance(wanted, float) else bool(found == wanted)


def _zone(value: datetime | time) -> str:
    """A zone by its text: what pydantic attaches counts as the ``timezone`` that it equals."""
    name = type(value.tzinfo).__name__
    return f"{value.tzinfo}" if name in ("TzInfo", "timezone") else f"{name} {value.tzinfo}"
