"""What is kept comes back as it was, type included."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timezone
from decimal import Decimal, localcontext
from typing import Any
from uuid import UUID, SafeUUID, uuid1

import pytest
from hypothesis import given, settings
from langchain_core.agents import AgentAction, AgentFinish
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration
from langchain_core.prompt_values import ChatPromptValue, StringPromptValue
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.store.base import Item, SearchItem
from langgraph.types import PregelTask, StateSnapshot

from retention.errors import CheckpointSerializationError
from stores.codec import FaithfulCodec
from tests.unit.codec.forging import read
from tests.unit.codec.things import (
    CODEC,
    MODULE,
    SAMPLES,
    Bits,
    Colour,
    Guarded,
    Hiding,
    Late,
    LeftOpen,
    Numbers,
    Strict,
    difference,
    scalars,
    values,
)


def round_trip(value: Any) -> Any:
    """What comes back."""
    return CODEC.decode(CODEC.encode(value))


def kind(value: object) -> str:
    """The name of a value's type, for the name of its test."""
    return type(value).__name__


@given(values)
@settings(max_examples=200)
def test_every_value_in_every_container_comes_back_as_it_was(value: Any) -> None:
    assert difference(round_trip(value), value) is None


@given(scalars)
@settings(max_examples=200)
def test_every_scalar_comes_back_as_it_was(value: Any) -> None:
    assert difference(round_trip(value), value) is None


@pytest.mark.parametrize("value", SAMPLES, ids=kind)
def test_samples_come_back_as_they_were_compressed_or_not(value: Any) -> None:
    compressing = FaithfulCodec([MODULE], compress_above=0)
    for writer in (CODEC, compressing):
        for reader in (CODEC, compressing):
            assert difference(reader.decode(writer.encode(value)), value) is None


def test_what_is_stored_is_json_after_tag_and_checksum() -> None:
    stored = CODEC.encode({"a": (1, "x")})
    assert stored[:1] == b"j"
    assert int(stored[1:9], 16) >= 0
    assert json.loads(stored[9:]) == {"a": {"$": "tuple", "v": [1, "x"]}}


def test_a_message_is_stored_with_what_was_set_only() -> None:
    stored = CODEC.encode(HumanMessage("hi", id="7"))
    assert json.loads(stored[9:]) == {
        "$": "langchain",
        "c": "HumanMessage",
        "v": {"content": "hi", "id": "7"},
    }


def test_bytes_are_stored_as_they_are() -> None:
    assert CODEC.encode(b"\x00\xff")[9:] == b"\x00\xff"


@pytest.fixture
def _no_limit_on_digits() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.usefixtures("_no_limit_on_digits")
def test_whole_numbers_of_any_size_are_exact() -> None:
    for value in (2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**100_000, -(1 << 1_000_000)):
        assert round_trip([value]) == [value]


@pytest.mark.parametrize(
    "text", ["NaN", "-NaN7", "sNaN", "Infinity", "-0", "-0E-9", "1E+999999", "0.10"]
)
def test_decimals_keep_sign_digits_and_exponent(text: str) -> None:
    value = Decimal(text)
    assert round_trip(value).as_tuple() == value.as_tuple()


def test_decimals_are_the_same_under_any_context() -> None:
    value = Decimal("1.23456789E+30")
    with localcontext() as context:
        context.prec, context.capitals = 3, 0
        assert round_trip(value).as_tuple() == value.as_tuple()


def test_a_uuid_keeps_whether_it_is_safe() -> None:
    for safe in SafeUUID:
        assert round_trip(UUID(int=5, is_safe=safe)).is_safe is safe
    assert round_trip(uuid1()).version == 1


def test_an_alias_of_an_enum_member_is_that_member() -> None:
    assert round_trip([Colour.CRIMSON, Bits.A | Bits.B]) == [Colour.RED, Bits.A | Bits.B]


def test_models_are_not_validated_again() -> None:
    assert round_trip(Strict(number=1)).number == 2
    constructed = Numbers.model_construct(_fields_set=set(), root=("no", "numbers"))  # type: ignore[arg-type]
    assert difference(round_trip(constructed), constructed) is None
    assert round_trip(constructed).model_fields_set == set()


def test_a_field_that_was_never_set_is_not_set_afterwards() -> None:
    found = round_trip([LeftOpen(1)])[0]
    assert type(found) is LeftOpen
    assert found.given == 1
    assert not hasattr(found, "left_open")


def test_defaults_of_every_kind_are_found_for_what_is_not_stored() -> None:
    stored = {"$": "model", "c": f"{MODULE}:Late", "v": {}}
    found, other = read(stored), read(stored)
    assert difference(found, Late()) is None
    assert found.shared is not other.shared
    assert difference(round_trip(found), found) is None
    assert not hasattr(found, "_never")


def test_slots_of_a_base_and_properties_for_fields_are_kept() -> None:
    hiding = Hiding(1)
    hiding.hide(2)
    found = round_trip(hiding)
    assert (found.shown, found.found()) == (1, 2)
    assert round_trip(Guarded(3)).level == 3


def test_utc_is_the_one_object_for_it() -> None:
    assert round_trip(timezone.utc) is timezone.utc  # noqa: UP017


PROMPTS = (
    PromptTemplate.from_template("hi {x}"),
    PromptTemplate.from_template("{{x}}", template_format="mustache", partial_variables={"x": "y"}),
    ChatPromptTemplate.from_messages(
        [("system", "you {a}"), MessagesPlaceholder("h"), ("human", "{q}"), AIMessage("x")]
    ),
    ChatPromptTemplate.from_messages(
        [("human", [{"type": "text", "text": "{a}"}, {"type": "image_url", "image_url": "{u}"}])]
    ),
    ChatPromptTemplate.from_messages([("placeholder", "{m}")]),
)


@pytest.mark.parametrize("prompt", PROMPTS, ids=range(len(PROMPTS)))
def test_prompts_come_back_as_they_were(prompt: Any) -> None:
    found = round_trip([prompt])[0]
    assert type(found) is type(prompt)
    assert found == prompt
    assert repr(found) == repr(prompt)


OTHERS = (
    StringPromptValue(text="x"),
    ChatPromptValue(messages=[HumanMessage("x")]),
    ChatGeneration(message=AIMessage("x")),
    AIMessage("x").text,
    AgentAction("t", {"a": 1}, "log"),
    AgentFinish({"a": 1}, "log"),
)


@pytest.mark.parametrize("value", OTHERS, ids=kind)
def test_what_else_the_loader_of_langchain_revives_is_kept(value: Any) -> None:
    assert difference(round_trip(value), value) is None


def test_what_else_langgraph_has_is_kept() -> None:
    now = datetime(2026, 1, 2, 3, tzinfo=UTC)
    given: dict[str, Any] = {"key": "k", "value": {}, "created_at": now, "updated_at": now}
    for value in (
        Item(namespace=("a",), **given),
        SearchItem(namespace=("a",), score=0.5, **given),
        PregelTask("1", "n", ("a", 1)),
        StateSnapshot({}, (), {}, None, None, None, (), ()),
    ):
        found = round_trip(value)
        assert type(found) is type(value)
        assert found == value
        assert repr(found) == repr(value)


def test_it_is_a_serializer_of_langgraph() -> None:
    assert isinstance(CODEC, SerializerProtocol)
    kind, stored = CODEC.dumps_typed((1,))
    assert kind == "faithful"
    assert CODEC.loads_typed((kind, stored)) == (1,)
    with pytest.raises(CheckpointSerializationError, match=r"^\$ is of the type 'msgpack'"):
        CODEC.loads_typed(("msgpack", stored))
