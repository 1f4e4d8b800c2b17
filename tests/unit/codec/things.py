"""Classes as applications have them, values of every kind that is kept, and what "same" means."""

import dataclasses
import functools
from collections import namedtuple
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Command, Interrupt, Overwrite, Send
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, RootModel, computed_field

from stores.codec import FaithfulCodec

MODULE = __name__
#: The codec of an application that names the module of its classes.
CODEC = FaithfulCodec(allowed_modules=[MODULE], compress_above=None)

_Item = TypeVar("_Item")


class Colour(Enum):
    RED = "red"
    CRIMSON = "red"  # noqa: PIE796  # an alias
    WEIGHTS = (1, 2)


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mood(StrEnum):
    GOOD = "good"


class OldMood(str, Enum):  # noqa: UP042  # as applications still write it
    BAD = "bad"


class Right(Flag):
    READ = 1
    WRITE = 2


class Bits(IntFlag):
    A = 1
    B = 1 << 80


class Plain(BaseModel):
    name: str = "n"
    items: list[Any] = Field(default_factory=list)
    anything: Any = None


class Rich(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    anything: Any
    hidden: Any = Field(default=None, exclude=True)
    other: Any = Field(default=1, alias="another")
    _private: Any = PrivateAttr(default=0)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def doubled(self) -> str:
        return str(self.other) * 2

    @functools.cached_property
    def slow(self) -> object:
        return object()


class Late(BaseModel):
    """A model with defaults of every kind."""

    shared: list[int] = [1]  # pydantic copies it
    made: list[int] = Field(default_factory=lambda: [2])
    worked_out: int = Field(default_factory=lambda fields: len(fields["shared"]))
    _never: int = PrivateAttr()
    _once: int = PrivateAttr(default=3)


class Strict(BaseModel):
    """A model whose validation changes or refuses what it once held."""

    number: int = 0

    def __init__(self, **data: Any) -> None:
        super().__init__(**{name: value + 1 for name, value in data.items()})


class Numbers(RootModel[list[int]]):
    pass


class Outer:
    class Inner(BaseModel):
        anything: Any = None


@dataclass
class Mutable:
    anything: Any
    derived: str = field(init=False, default="")
    _: KW_ONLY
    only: int = 0
    many: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.derived = f"of {self.only}"
        self.stray = "not a field"

    @functools.cached_property
    def slow(self) -> object:
        return object()


@dataclass(frozen=True, slots=True)
class Frozen:
    anything: Any


@dataclass(slots=True)
class LeftOpen:
    given: int
    left_open: int = field(init=False)


class Slots:
    __slots__ = ("__hidden", "__weakref__")

    def hide(self, value: int) -> None:
        self.__hidden = value

    def found(self) -> int:
        return self.__hidden


@dataclass(slots=True)
class Hiding(Slots):
    """A dataclass whose base has a slot of its own."""

    shown: int = 0


@dataclass
class Guarded:
    """A dataclass with a property for a field."""

    level: int

    @property  # type: ignore[no-redef]
    def level(self) -> int:
        return self._level

    @level.setter
    def level(self, value: int) -> None:
        self._level = value


@dataclass(frozen=True)
class Generic_(Generic[_Item]):  # noqa: N801
    item: _Item


class Point(NamedTuple):
    x: Any
    y: Any = 0


OldPoint = namedtuple("OldPoint", "x y")  # as applications still write it


def rich(anything: Any, private: Any) -> Rich:
    """A model with extra and private attributes, and something worked out."""
    made = Rich(anything=anything, added={"x": anything}, another=[anything])
    made._private = private
    assert made.slow
    return made


def mutable(anything: Any) -> Mutable:
    """A dataclass that has worked something out."""
    made = Mutable(anything, only=3)
    assert made.slow
    return made


ZONES = (None, UTC, timezone(timedelta(hours=-3, microseconds=1), "näme"), ZoneInfo("Europe/Paris"))

texts = st.text(st.characters(codec=None), max_size=6) | st.sampled_from(
    ["$", "\ud83d\ude00", '{"$":"tuple","v":[]}', "\x00", "😀"]
)
hashable_scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(2**9000), max_value=2**9000),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
    st.binary(max_size=6),
    st.datetimes(timezones=st.sampled_from(ZONES)),
    st.datetimes(timezones=st.just(ZONES[3])).map(lambda at: at.replace(fold=1)),
    st.dates(),
    st.times(timezones=st.sampled_from(ZONES)),
    st.timedeltas(),
    st.sampled_from([zone for zone in ZONES if zone]),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.sampled_from([*Colour, *Level, *Mood, *OldMood, Right.READ | Right.WRITE, Right(0), Bits.B]),
    st.integers(min_value=0, max_value=2**100).map(Bits),
)
scalars: st.SearchStrategy[Any] = hashable_scalars | st.binary(max_size=6).map(bytearray)
hashables: st.SearchStrategy[Any] = st.recursive(
    hashable_scalars,
    lambda inner: st.one_of(
        st.tuples(inner, inner),
        st.frozensets(inner, max_size=3),
        inner.map(Generic_),
        st.tuples(inner, inner).map(lambda two: Point(*two)),
    ),
    max_leaves=4,
)


def _holders(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    mapping = st.dictionaries(texts, inner, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        mapping,
        st.dictionaries(hashables, inner, max_size=3),
        st.sets(hashables, max_size=3),
        st.frozensets(hashables, max_size=3),
        st.tuples(inner, inner).map(lambda two: rich(*two)),
        st.tuples(inner, inner).map(lambda two: OldPoint(*two)),
        mapping.map(lambda given: HumanMessage("text", additional_kwargs=given)),
        mapping.map(lambda given: Document("text", metadata=given)),
        *(inner.map(hold) for hold in HOLDERS),
    )


#: What holds one value of any type, and the step of a path that leads to it.
HOLDERS: dict[Callable[[Any], Any], str] = {
    lambda value: Plain(anything=value): ".anything",
    mutable: ".anything",
    Frozen: ".anything",
    Generic_: ".item",
    Point: ".x",
    lambda value: Outer.Inner(anything=value): ".anything",
    lambda value: ToolMessage("text", tool_call_id="1", artifact=value): ".artifact",
    lambda value: Send("node", value): ".arg",
    lambda value: Command(update=value): ".update",
    lambda value: Command(goto=Send("node", value)): ".goto.arg",
    lambda value: Interrupt(value, id="id"): ".value",
    _DeltaSnapshot: ".value",
    Overwrite: ".value",
}

#: Every supported value nested in every container.
values = st.recursive(scalars, _holders, max_leaves=6)

#: One value of each kind, small: what is damaged on purpose.
SAMPLES: tuple[Any, ...] = (
    None,
    [True, 1, -(2**70), -0.0, 1e300, "text", "\ud800", {"a": {"b": []}}],
    {"$": "tuple", "v": [1]},
    {(1, "two"): {3, 4}, None: frozenset({b"5"})},
    (b"bytes", bytearray(b"array")),
    b"top-level bytes",
    [Decimal("-1.50E-7"), Decimal("sNaN12"), UUID(int=7)],
    [datetime(2024, 10, 27, 2, 30, tzinfo=ZONES[3], fold=1), datetime(1, 1, 1), date(9999, 12, 31)],  # noqa: DTZ001
    [time(1, 2, 3, 4, tzinfo=ZONES[2]), timedelta(-1, 2, 3), *ZONES],
    [Colour.WEIGHTS, Level.HIGH, Mood.GOOD, Right.READ, Bits.B],
    [Plain(anything=(1,)), rich({1}, b"p"), Numbers([1]), Outer.Inner()],
    [mutable((2,)), Frozen(3), Generic_(4), Point(5), OldPoint(6, 7)],
    [
        HumanMessage("hi", id="1", name="n"),
        SystemMessage([{"type": "text", "text": "be kind"}]),
        AIMessage(
            "",
            tool_calls=[{"name": "t", "args": {"a": 1}, "id": "c", "type": "tool_call"}],
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        ToolMessage("sunny", tool_call_id="c", artifact=(1,)),
        AIMessageChunk(content="part"),
        ChatMessage(content="said", role="critic"),
        FunctionMessage(content="out", name="f"),
        RemoveMessage(id="1"),
        BaseMessage("bare", type="human"),
    ],
    [Document("page", metadata={"at": date(2026, 1, 2)})],
    [Send("n", {"x": (1,)}, timeout=3), Command(goto=["a"]), Interrupt("v", id="i"), Overwrite(1)],
    _DeltaSnapshot([1]),
)


def difference(found: Any, wanted: Any) -> str | None:
    """What of a value is not as it was; None if nothing. Stricter than ``==``."""
    if type(found) is not type(wanted):
        return f"{type(found)} for {type(wanted)}"
    if isinstance(wanted, BaseModel):
        found, wanted = _model(found), _model(wanted)
    elif dataclasses.is_dataclass(wanted) and not isinstance(wanted, type):
        found, wanted = _held(found), _held(wanted)
    if isinstance(wanted, dict):
        found, wanted = list(found.items()), list(wanted.items())
    if isinstance(wanted, set | frozenset):
        return None if all(any(not difference(f, w) for f in found) for w in wanted) else "set"
    if isinstance(wanted, list | tuple):
        parts = zip(found, wanted, strict=True)
        return next((differs for f, w in parts if (differs := difference(f, w))), None)
    return None if _exact(found) == _exact(wanted) else f"{found!r} for {wanted!r}"


def _model(model: BaseModel) -> list[Any]:
    fields = {name: vars(model)[name] for name in type(model).model_fields}
    parts = (model.__pydantic_extra__, model.__pydantic_private__, model.model_fields_set)
    return [fields, *parts]


def _held(value: Any) -> list[Any]:
    names = [each.name for each in dataclasses.fields(value)]
    held = {name: getattr(value, name, "nothing") for name in names}
    return [held, getattr(value, "stray", None)]


def _exact(value: Any) -> Any:
    """What tells values apart that are equal: zeros, folds, names of zones."""
    if isinstance(value, Decimal):
        return value.as_tuple()
    if isinstance(value, datetime | time):
        return value.replace(tzinfo=None), value.fold, repr(value.tzinfo)
    return repr(value) if isinstance(value, float | timezone) else value
