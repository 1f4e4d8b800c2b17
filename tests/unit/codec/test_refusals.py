"""What is not kept is refused where it lies, and nothing is turned into something else."""

import collections
import enum
import ipaddress
import math
import pathlib
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Any, Generic, TypeVar
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnableLambda
from langgraph.types import Send
from pydantic import BaseModel, SecretStr

from retention.errors import CheckpointSerializationError
from stores.codec import FaithfulCodec
from stores.codec.refusals import MAX_DEPTH
from tests.unit.codec.things import CODEC, HOLDERS, Colour, Frozen, Mutable, Outer, Point

HERE = FaithfulCodec(allowed_modules=[__name__, "tests.unit.codec.things", "pydantic", "http"])

_Item = TypeVar("_Item")


def refusal(value: Any, path: str = "$") -> str:
    """The message with which a value is refused."""
    with pytest.raises(CheckpointSerializationError) as caught:
        HERE.encode(value, path)
    return str(caught.value)


class Whole(int):
    pass


class Table(dict[str, int]):
    pass


class Said(HumanMessage):
    pass


class Sent(Send):
    pass


class Box(BaseModel, Generic[_Item]):
    item: _Item


class Fixed(tzinfo):
    """A zone of the application's own."""

    def utcoffset(self, _at: datetime | None) -> timedelta:
        return timedelta(hours=1)

    def dst(self, _at: datetime | None) -> None:
        return None

    def tzname(self, _at: datetime | None) -> str:
        return "X"


class Wide(enum.IntFlag):
    A = 1


class Point3(Point):
    """A named tuple that holds more than its fields."""


@dataclass
class Listed(list[int]):
    """A dataclass, most of which is a list."""

    name: str = ""


@dataclass(frozen=True)
class Same:
    number: int

    def __hash__(self) -> int:
        return 1


@dataclass
class Broken:
    """Its attributes cannot be looked at."""

    number: int = 0

    def __getattribute__(self, name: str) -> Any:
        raise KeyError(name)


Moved = enum.Enum("Moved", "A")
Moved.__qualname__ = "Elsewhere"


def local_class() -> Any:
    """An instance of a class that no path leads to."""

    class Local(BaseModel):
        pass

    return Local()


def stretched_model() -> Any:
    made = Outer.Inner()
    object.__setattr__(made, "more", 2)
    return made


def stretched() -> Point3:
    made = Point3(1)
    made.__dict__["more"] = 2
    return made


REFUSED: dict[str, tuple[Any, str]] = {
    "object": (object(), "is of type object, which is not kept"),
    "function": (len, "builtin_function_or_method, which is not kept"),
    "lambda": (lambda: 1, "is of type function, which is not kept"),
    "class": (int, "is of type type, which is not kept"),
    "module": (math, "is of type module, which is not kept"),
    "generator": ((n for n in [1]), "is of type generator, which is not kept"),
    "lock": (threading.Lock(), "which is not kept"),
    "ellipsis": (..., "is of type ellipsis, which is not kept"),
    "complex": (1j, "is of type complex, which is not kept"),
    "range": (range(3), "is of type range, which is not kept"),
    "memoryview": (memoryview(b"x"), "is of type memoryview, which is not kept"),
    "NaN": (math.nan, "is the float nan, which JSON cannot hold"),
    "inf": (-math.inf, "is the float -inf, which JSON cannot hold"),
    "path": (pathlib.Path("x"), "Path, which is not kept"),
    "pattern": (re.compile("x"), "re.Pattern, which is not kept"),
    "address": (ipaddress.ip_address("::1"), "ipaddress.IPv6Address, which is not kept"),
    "deque": (collections.deque([1]), "collections.deque, which is not kept"),
    "ordered": (collections.OrderedDict(a=1), "OrderedDict, which is not kept: it would come back"),
    "default": (collections.defaultdict(int), "it would come back as its base, dict"),
    "int subclass": (Whole(1), "Whole, which is not kept: it would come back as its base, int"),
    "dict subclass": (Table(), "Table, which is not kept: it would come back as its base, dict"),
    "secret": (SecretStr("x"), "pydantic.types.SecretStr, which is not kept"),
    "message subclass": (Said(content="x"), "Said, which LangChain's loader does not revive"),
    "runnable": (RunnableLambda(len), "RunnableLambda, which is not kept"),
    "parser": (StrOutputParser(), "StrOutputParser, which LangChain's loader does not revive"),
    "Send subclass": (Sent("a", 1), "Sent, which is not kept"),
    "generic model": (Box[int](item=1), "Box[int]: a generic model has no path of its own"),
    "dataclass of a list": (Listed("x"), "Listed, which extends a built-in type"),
    "stretched model": (stretched_model(), "is a model with an attribute 'more' beside"),
    "typed prompt": (
        ChatPromptTemplate([("human", "{q}")], input_types={"q": int}),
        "is a prompt that holds what LangChain's loader does not revive",
    ),
    "stretched": (stretched(), "with attributes beside its fields"),
    "local": (local_class(), "Local, which is local to a function: move it out"),
    "moved": (Moved.A, "Elsewhere, which is not found under that path"),
    "jinja": (
        PromptTemplate.model_construct(input_variables=[], template="x", template_format="jinja2"),
        "whose template format LangChain's loader does not revive",
    ),
    "zone": (datetime(2026, 1, 1, tzinfo=Fixed()), "has a tzinfo of type"),
    "time in a zone": (time(1, tzinfo=Fixed()), "kept are datetime.timezone, zoneinfo.ZoneInfo"),
    "bare zone": (Fixed(), "Fixed, which is not kept"),
    "crowded": ({Same(n) for n in range(101)}, "holds more than 100 elements with the same hash"),
    "crowded keys": (dict.fromkeys(map(Same, range(101))), "more than 100 elements"),
    "broken": (Broken(), "is of a class that raised KeyError"),
    "broad flag": (Wide(1 << 5000), "is no flag of at most 4096 bits"),
}
PATHS: tuple[tuple[Callable[[Any], Any], str], ...] = (
    (lambda value: [0, value], "[1]"),
    (lambda value: ("a", "b", value), "[2]"),
    (lambda value: {"key": value}, ".key"),
    (lambda value: {"a key": value}, "['a key']"),
    (lambda value: {"$": value}, "['$']"),
    (lambda value: {7: value}, "[7]"),
    (lambda value: {(1,): value}, "[a key of type tuple]"),
    (lambda value: HumanMessage("x", additional_kwargs={"k": value}), ".additional_kwargs.k"),
    (lambda value: AIMessage("x", extra=value), ".extra"),
    *HOLDERS.items(),
)


@pytest.mark.parametrize("name", REFUSED)
def test_every_other_type_is_refused(name: str) -> None:
    value, said = REFUSED[name]
    message = refusal(value)
    assert message.startswith("$ ")
    assert said in message
    assert "\n" not in message


@given(
    st.sampled_from(sorted(set(REFUSED) - {"NaN", "inf"})),
    st.lists(st.sampled_from(range(len(PATHS))), max_size=5),
)
def test_a_refusal_names_the_path(name: str, holders: list[int]) -> None:
    value, said = REFUSED[name]
    path = "$.channel_values"
    for holder in reversed(holders):
        value = PATHS[holder][0](value)
    for holder in holders:
        path += PATHS[holder][1]
    message = refusal(value, "$.channel_values")
    assert message.startswith(path + " ")
    assert said in message


@pytest.mark.parametrize("holder", PATHS, ids=[step for _, step in PATHS])
def test_a_float_that_is_not_finite_is_refused_where_it_lies(
    holder: tuple[Callable[[Any], Any], str],
) -> None:
    hold, step = holder
    assert refusal(hold(math.inf)) == f"${step} is the float inf, which JSON cannot hold"


def test_keys_and_elements_are_refused_too() -> None:
    assert refusal({Whole(1): 2}).startswith("$[a key of type")
    assert refusal({1.5, math.nan}).endswith("is the float nan, which JSON cannot hold")
    assert refusal([{len}]).startswith("$[0][0] is of type")


def test_long_paths_and_keys_are_shown_in_part() -> None:
    value: Any = object()
    for _ in range(50):
        value = {"key": value}
    assert refusal(value).startswith("$" + ".key" * 6 + "…" + ".key" * 6 + " is of type object")
    assert len(refusal({"k" * 10_000: object()})) < 200
    assert len(refusal({1 << 100_000: object()})) < 200


def nested(depth: int, hold: Callable[[Any], Any]) -> Any:
    """Containers within each other."""
    value: Any = hold(1)
    for _ in range(depth - 1):
        value = hold(value)
    return value


@pytest.mark.parametrize(
    "hold",
    [
        lambda value: [value],
        lambda value: {"k": value},
        lambda value: {1: value},
        lambda value: (value,),
        lambda value: frozenset({value}),
        Frozen,
        lambda value: Outer.Inner(anything=value),
        Point,
    ],
    ids=["list", "dict", "pairs", "tuple", "frozenset", "dataclass", "model", "namedtuple"],
)
def test_nesting_has_one_limit_for_writing_and_reading(hold: Callable[[Any], Any]) -> None:
    deepest = nested(MAX_DEPTH, hold)
    assert CODEC.encode(CODEC.decode(CODEC.encode(deepest))) == CODEC.encode(deepest)
    assert "lies more than 100 containers deep" in refusal(nested(MAX_DEPTH + 1, hold))


def test_what_holds_itself_is_refused() -> None:
    held: list[Any] = []
    held.append({"again": held})
    assert "or holds itself" in refusal(held)
    model = Mutable(None)
    model.anything = [model]
    assert "or holds itself" in refusal(model)


def test_far_too_deep_is_refused_alike() -> None:
    assert "lies more than 100 containers deep" in refusal(nested(100_000, lambda value: [value]))


def at_the_bottom(stack: int, call: Callable[[], Any]) -> Any:
    """What a call gives that many calls further down."""
    return at_the_bottom(stack - 1, call) if stack else call()


def test_a_stack_with_no_room_left_is_the_documented_error() -> None:
    value = nested(MAX_DEPTH, lambda value: (value,))
    stored = CODEC.encode(value)
    for call in (lambda: CODEC.encode(value), lambda: CODEC.decode(stored)):
        errors = set()
        for stack in range(sys.getrecursionlimit() - 500, sys.getrecursionlimit()):
            try:
                at_the_bottom(stack, call)
            except (CheckpointSerializationError, RecursionError) as error:
                errors.add(type(error))
        assert CheckpointSerializationError in errors


def test_a_zone_from_a_file_has_no_key() -> None:
    file = next(path for root in ("/usr/share/zoneinfo",) if (path := Path(root, "UTC")).exists())
    with file.open("rb") as opened:
        keyless = ZoneInfo.from_file(opened)
    assert refusal({"at": datetime(2026, 1, 1, tzinfo=keyless)}) == (
        "$.at is a zone read from a file: it has no key to keep it by"
    )
    assert refusal([keyless]).startswith("$[0] is a zone read from a file")


def test_a_failure_tells_no_state() -> None:
    assert "number" not in refusal(Broken())


def test_members_without_a_name_are_refused() -> None:
    forged = object.__new__(Colour)
    forged._name_, forged._value_ = "NONE", 1
    assert refusal([forged]).endswith("that has a name")
