"""What the codec of the Redis store keeps, and how fast, beside the library's serializer."""

import json
import logging
import statistics
from collections.abc import Callable
from time import perf_counter
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from rich.console import Console
from rich.table import Table

from bench.codec_values import MODULE, VALUES, same
from retention.errors import CheckpointSerializationError
from stores.codec import FaithfulCodec

_SIZES = (4, 20, 100, 400)
#: Each timing repeats its call until about this many messages have passed.
_MESSAGES = 2_000


def compare_codecs(rounds: int) -> None:
    """Print both tables: which types come back as they were, and the ratio of times."""
    # The library warns of each type it reads back unasked.
    logging.getLogger("langgraph.checkpoint").setLevel(logging.ERROR)
    ours, library = FaithfulCodec([MODULE], compress_above=None), JsonPlusSerializer()
    kept = {
        name: {"ours": _outcome(ours, value), "library": _outcome(library, value)}
        for name, value in VALUES.items()
    }
    table = Table("type", "this codec", "JsonPlusSerializer", title="what comes back")
    for name, outcome in kept.items():
        table.add_row(name, outcome["ours"], outcome["library"])
    ratios = [_ratios(ours, library, size, rounds) for size in _SIZES]
    times = Table("messages", "encode", "decode", "bytes", title="this codec over the library's")
    for row in ratios:
        shown = (f"{row[key]:.2f}" for key in ("encode", "decode", "bytes"))
        times.add_row(str(row["messages"]), *shown)
    for each in (table, times):
        Console(stderr=True).print(each)
    print(json.dumps({"kept": kept, "ratios": ratios}))


def chat(messages: int) -> list[AnyMessage]:
    """A conversation with tool calls."""
    said: list[AnyMessage] = []
    for turn in range(messages // 4):
        call = {"name": "weather", "args": {"city": f"c{turn}"}, "id": f"c{turn}"}
        said += [
            HumanMessage(f"What is the weather in city {turn}? " * 5, id=f"h{turn}"),
            AIMessage(
                "",
                id=f"a{turn}",
                tool_calls=[{**call, "type": "tool_call"}],
                usage_metadata={"input_tokens": 10, "output_tokens": 20, "total_tokens": 30},
                response_metadata={"model_name": "m", "finish_reason": "stop"},
            ),
            ToolMessage("sunny " * 20, tool_call_id=f"c{turn}", name="weather", id=f"t{turn}"),
            AIMessage("It is sunny. " * 10, id=f"b{turn}"),
        ]
    return said


def _outcome(serializer: SerializerProtocol, value: Any) -> str:
    """What became of a value."""
    try:
        found = serializer.loads_typed(serializer.dumps_typed(value))
    except (CheckpointSerializationError, TypeError, ValueError):
        return "refused"
    return "kept" if same(found, value) else "changed"


def _ratios(
    ours: FaithfulCodec, library: JsonPlusSerializer, size: int, rounds: int
) -> dict[str, float]:
    """Times and bytes of this codec over those of the library."""
    value = chat(size)
    stored, other = ours.dumps_typed(value), library.dumps_typed(value)
    return {
        "messages": size,
        "encode": _ratio(
            lambda: ours.dumps_typed(value), lambda: library.dumps_typed(value), size, rounds
        ),
        "decode": _ratio(
            lambda: ours.loads_typed(stored), lambda: library.loads_typed(other), size, rounds
        ),
        "bytes": round(len(stored[1]) / len(other[1]), 3),
    }


def _ratio(
    ours: Callable[[], object], library: Callable[[], object], size: int, rounds: int
) -> float:
    """The median of the ratios of neighbouring turns: noise of the machine falls on both."""
    found = [_seconds(ours, size) / _seconds(library, size) for _ in range(5 * rounds)]
    return round(statistics.median(found), 3)


def _seconds(call: Callable[[], object], size: int) -> float:
    began = perf_counter()
    for _ in range(max(1, _MESSAGES // size)):
        call()
    return perf_counter() - began
