"""Damaged and forged bytes give the value or the one documented error: no hang, no flood."""

import json
import random
import resource
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from retention.errors import CheckpointSerializationError
from stores.codec import FaithfulCodec
from stores.compression import LARGEST_BYTES
from tests.unit.codec.forging import (
    bytes_changed,
    forged,
    frame,
    json_changed,
    read,
    summed,
    unreadable,
)
from tests.unit.codec.things import CODEC, MODULE, SAMPLES, difference
from tests.unit.test_serializer import frame_stating

MUTATIONS = 100_000
FORGERIES = 40_000
PLAIN = [CODEC.encode(sample) for sample in SAMPLES]
COMPRESSED = [FaithfulCodec([MODULE], 0).encode([sample] * 20) for sample in SAMPLES]
SPARE: list[Any] = [
    *(None, True, 0, -1, 2**63, 10**400, 1.5, "", "$", "\ud800", [], {}, [[]], {"$": None}),
    *({"$": []}, {"$": "none"}, "os:system", "subprocess:Popen", "../../etc/passwd", "9" * 5000),
    *(json.loads(stored[9:]) for stored in PLAIN if stored[:1] == b"j"),
]


@pytest.fixture
def _little_memory() -> Iterator[None]:
    """An address space with 1 GB to spare."""
    before, most = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), most))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (before, most))


def decoded(data: bytes) -> tuple[bool, Any, float]:
    """Whether some bytes gave a value, the value, and how long that took in seconds."""
    began = perf_counter()
    try:
        found, value = True, CODEC.decode(data)
    except CheckpointSerializationError:
        found, value = False, None
    return found, value, perf_counter() - began


@pytest.mark.usefixtures("_little_memory")
def test_damaged_bytes_give_their_value_or_the_documented_error() -> None:
    chance = random.Random(20261130)
    read_back, longest = 0, 0.0
    for number in range(MUTATIONS):
        at = number % len(SAMPLES)
        stored, wanted = (PLAIN[at], SAMPLES[at]) if number % 3 else (COMPRESSED[at], None)
        found, value, took = decoded(bytes_changed(chance, stored))
        longest = max(longest, took)
        if found:
            read_back += 1
            assert difference(value, wanted if number % 3 else [SAMPLES[at]] * 20) is None
    assert longest < 5
    # Some changes undo each other: so both outcomes are seen.
    assert 0 < read_back < MUTATIONS / 10


@pytest.mark.usefixtures("_little_memory")
def test_forged_bytes_give_some_value_or_the_documented_error() -> None:
    chance = random.Random(20261201)
    values, longest = 0, 0.0
    for number in range(FORGERIES):
        stored = PLAIN[number % len(PLAIN)]
        if number % 2 and stored[:1] == b"j":
            data = forged(json_changed(chance, json.loads(stored[9:]), SPARE))
        elif number % 5:
            data = summed(stored[:1], bytes_changed(chance, stored[9:]))
        else:
            stored = COMPRESSED[number % len(COMPRESSED)]
            data = summed(stored[:1], bytes_changed(chance, stored[9:]))
        found, _, took = decoded(data)
        longest = max(longest, took)
        values += found
    assert longest < 5
    assert FORGERIES / 100 < values < FORGERIES


@pytest.mark.parametrize(
    "data",
    [b"", b"j", b"j0000000", b"j00000000", b"x" * 20, b"jDEADBEEF1", b"e" + bytes(20), b"\xff" * 9],
)
def test_what_no_codec_wrote_is_refused(data: bytes) -> None:
    unreadable(data)


@pytest.mark.parametrize(
    "text",
    [
        *(
            b"",
            b"{",
            b"nul",
            b"\xff",
            b'"\xed\xa0\x80"',
            b"[1] x",
            b"NaN",
            b"[-Infinity]",
            b"1e999",
        ),
        *(b"9" * 5_000, b"[" * 100_000, b'{"a":' * 100_000, b'{"$":' * 100_000, b'{"$":"x"}'),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_what_is_no_json_of_the_codec_is_refused(text: bytes) -> None:
    unreadable(summed(b"j", text))


def test_a_tag_that_was_changed_is_noticed() -> None:
    assert "its checksum is another" in unreadable(b"b" + CODEC.encode("text")[1:])


def test_long_numbers_are_refused_where_python_would_read_them() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        assert read(10**5_000) == 10**5_000
        unreadable(summed(b"j", b"9" * 1_000_000))
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("size", [10**12, LARGEST_BYTES + 1])
@pytest.mark.parametrize("tag", [b"z", b"y"])
def test_a_frame_that_states_too_much_is_refused_before_anything_is_made(
    tag: bytes, size: int
) -> None:
    tracemalloc.start()
    try:
        assert f"states a size of {size} bytes" in unreadable(summed(tag, frame_stating(size)))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_small_frame_of_very_many_values_is_refused_before_they_are_made() -> None:
    bomb = frame(b"[" + b"[]," * 4_000_000 + b"[]]")
    tracemalloc.start()
    try:
        assert "holds too many values for its size" in unreadable(bomb)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert len(bomb) < 10_000


def test_very_many_values_that_compress_well_are_stored_as_they_are() -> None:
    zeros = [0] * 1_200_000
    stored = FaithfulCodec(compress_above=100).encode(zeros)
    assert stored[:1] == b"j"
    assert CODEC.decode(stored) == zeros
    assert FaithfulCodec(compress_above=100).encode("text " * 1_200_000)[:1] == b"z"


@pytest.mark.parametrize("tag", ["set", "frozenset", "dict"])
def test_elements_made_to_collide_are_refused(tag: str) -> None:
    colliding = [{"$": "int", "v": hex(n * (2**61 - 1))} for n in range(100_000)]
    began = perf_counter()
    items = [item for key in colliding for item in (key, 1)] if tag == "dict" else colliding
    assert "more than 100 elements with the same hash" in unreadable({"$": tag, "v": items})
    assert perf_counter() - began < 10


FORGED: dict[str, Any] = {
    "unknown tag": {"$": "lambda"},
    "tag of another type": {"$": 1},
    "tag that cannot be looked up": {"$": [1]},
    "no content": {"$": "tuple"},
    "text for a list": {"$": "tuple", "v": "abc"},
    "unhashable element": {"$": "set", "v": [[]]},
    "element twice": {"$": "set", "v": [1, 1]},
    "key twice": {"$": "dict", "v": [1, 2, 1, 3]},
    "key without value": {"$": "dict", "v": [1]},
    "unhashable key": {"$": "dict", "v": [{}, 1]},
    "no number": {"$": "int", "v": "ten"},
    "number for text": {"$": "int", "v": 7},
    "bytes": {"$": "bytes", "v": "*"},
    "surrogates": {"$": "str", "v": "ff"},
    "decimal": {"$": "decimal", "v": "1_0"},
    "decimal out of range": {"$": "decimal", "v": "1E+99999999999999999999"},
    "uuid": {"$": "uuid", "v": "{00000000-0000-0000-0000-000000000007}"},
    "uuid, safe": {"$": "uuid", "v": "00000000-0000-0000-0000-000000000007", "safe": "x"},
    "date": {"$": "date", "v": "20260102"},
    "no such day": {"$": "date", "v": "2026-02-30"},
    "datetime": {"$": "datetime", "v": "2026-01-02"},
    "datetime out of range": {"$": "datetime", "v": "10000-01-01T00:00:00"},
    "datetime with its zone within": {"$": "datetime", "v": "2026-01-02T00:00:00+00:00", "tz": 1},
    "fold": {"$": "datetime", "v": "2026-01-02T00:00:00", "fold": True},
    "tz": {"$": "time", "v": "01:00:00", "tz": {"$": "int", "v": "1"}},
    "timedelta": {"$": "timedelta", "v": [1, 2]},
    "timedelta of flags": {"$": "timedelta", "v": [True, 0, 0]},
    "timedelta out of range": {"$": "timedelta", "v": [10**10, 0, 0]},
    "timezone": {"$": "timezone", "v": "1"},
    "timezone out of range": {"$": "timezone", "v": 86_400_000_000},
    "name of a timezone": {"$": "timezone", "v": 0, "name": 1},
    "zone": {"$": "zoneinfo", "v": "Atlantis/City"},
    "path of a zone": {"$": "zoneinfo", "v": "../../../../etc/passwd"},
    "absolute path of a zone": {"$": "zoneinfo", "v": "/etc/passwd"},
    "folder of a zone": {"$": "zoneinfo", "v": "Europe"},
    "zone with NUL": {"$": "zoneinfo", "v": "a\x00b"},
    "zone without text": {"$": "zoneinfo", "v": "\ud800"},
    "exception": {"$": "exception", "v": {"id": []}},
    "LangChain": {"$": "langchain", "c": "Runnable", "v": {}},
    "prompt that can run code": {
        "$": "prompt",
        "c": "PromptTemplate",
        "v": {"template": "{{ x }}", "template_format": "jinja2"},
    },
    "prompt without template": {"$": "prompt", "c": "PromptTemplate", "v": {}},
    "LangGraph": {"$": "langgraph", "c": "Send", "v": {"node": "n"}},
    "LangGraph, unknown": {"$": "langgraph", "c": "RetryPolicy", "v": {}},
    "LangGraph, more": {"$": "langgraph", "c": "Send", "v": {"node": "n", "arg": 1, "x": 2}},
    "fields": {"$": "langchain", "c": "HumanMessage", "v": []},
    "no fields": {"$": "langchain", "c": "HumanMessage"},
    "missing field": {"$": "langchain", "c": "HumanMessage", "v": {}},
    "unknown field": {"$": "langchain", "c": "HumanMessage", "v": {"content": "x", "y": 1}},
    "class of another table": {"$": "langgraph", "c": "HumanMessage", "v": {}},
    "set fields": {"$": "langchain", "c": "HumanMessage", "v": {"content": "x"}, "s": [[]]},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_envelope_is_refused_where_it_lies(name: str) -> None:
    assert unreadable([{"a key": FORGED[name]}], "$.x").startswith("$.x[0]['a key'] ")
    assert unreadable({"$": "dict", "v": [1, FORGED[name]]}).startswith("$[1] ")


def test_a_zone_that_this_host_lacks_fails_the_read() -> None:
    assert unreadable([FORGED["zone"]]) == (
        "$[0] cannot be read back: this host's zone database has no zone 'Atlantis/City'"
    )
