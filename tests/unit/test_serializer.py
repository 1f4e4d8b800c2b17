"""Large values are compressed, come back as they were, and damaged ones are refused."""

import struct
import tracemalloc
from dataclasses import dataclass
from typing import Any

import ormsgpack
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import CipherProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from retention.errors import CheckpointSerializationError
from stores.compression import LARGEST_BYTES
from stores.serializer import COMPRESSED, CompressingSerializer, readable_types

#: Every setting of the threshold: off, everything, and the default.
THRESHOLDS = (None, 0, 65_536)
VALUES: tuple[Any, ...] = (
    None,
    b"",
    b"bytes " * 20_000,
    bytearray(b"more bytes " * 20_000),
    "text " * 20_000,
    {"messages": [HumanMessage("hello " * 1_000, id=str(n)) for n in range(30)]},
    [1, 2.5, True, None, "short"],
)
FRAME = zstandard.ZstdCompressor(write_checksum=True).compress(ormsgpack.packb("value " * 200))


def size_of(serializer: CompressingSerializer, text: str) -> tuple[str, int]:
    """The type a text is stored under, and its stored bytes."""
    kind, encoded = serializer.dumps_typed(text)
    return kind, len(encoded)


def refused(encoded: bytes, kind: str = "zstd:msgpack") -> str:
    """The message with which reading a value is refused."""
    with pytest.raises(CheckpointSerializationError) as caught:
        CompressingSerializer(None).loads_typed((kind, encoded))
    return str(caught.value)


def frame_stating(size: int) -> bytes:
    """The beginning of a frame that states the size of its content, and a little content."""
    single_segment_with_eight_bytes_of_size = 0b1110_0000
    header = struct.pack("<IB", zstandard.MAGIC_NUMBER, single_segment_with_eight_bytes_of_size)
    # One last block that repeats a byte five times.
    return header + struct.pack("<Q", size) + b"\x2b\x00\x00\x00"


@pytest.mark.parametrize("reader", THRESHOLDS)
@pytest.mark.parametrize("writer", THRESHOLDS)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_each_setting_reads_what_every_other_wrote(
    writer: int | None, reader: int | None, value: Any
) -> None:
    stored = CompressingSerializer(writer).dumps_typed(value)
    found = CompressingSerializer(reader).loads_typed(stored)
    assert found == value
    assert type(found) is type(value)


def test_compression_begins_above_the_threshold() -> None:
    text = "x" * 1_000
    plain, encoded = size_of(CompressingSerializer(None), text)
    assert plain == "msgpack"
    assert size_of(CompressingSerializer(encoded + 1), text) == ("msgpack", encoded)
    assert size_of(CompressingSerializer(encoded), text) == ("msgpack", encoded)
    kind, compressed = size_of(CompressingSerializer(encoded - 1), text)
    assert (kind, compressed < encoded) == ("zstd:msgpack", True)


def test_what_compression_does_not_make_smaller_stays_as_it_is() -> None:
    assert CompressingSerializer(0).dumps_typed(b"\x00\x9f\x17") == ("bytes", b"\x00\x9f\x17")
    assert CompressingSerializer(0).dumps_typed(None) == ("null", b"")


def test_what_is_stored_plain_is_what_the_library_stores() -> None:
    for value in VALUES:
        ours = CompressingSerializer(None).dumps_typed(value)
        assert ours == JsonPlusSerializer().dumps_typed(value)


def test_the_types_that_can_be_read_are_those_that_are_written() -> None:
    written = {CompressingSerializer(t).dumps_typed(v)[0] for v in VALUES for t in THRESHOLDS}
    assert written <= readable_types()
    assert written == {
        *("null", "bytes", "bytearray", "msgpack"),
        *("zstd:bytes", "zstd:bytearray", "zstd:msgpack"),
    }
    assert not {"pickle", "zstd:pickle", "msgpack+aes", "zstd:zstd:msgpack"} & readable_types()


@pytest.mark.parametrize("size", [10**12, 300_000_000, LARGEST_BYTES + 1])
def test_a_frame_that_states_too_much_is_refused_before_anything_is_made(size: int) -> None:
    tracemalloc.start()
    try:
        assert f"states a size of {size} bytes" in refused(frame_stating(size))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [4, 1_000, LARGEST_BYTES])
def test_a_frame_that_states_another_size_than_it_has_is_refused(size: int) -> None:
    assert "damaged" in refused(frame_stating(size))


def test_a_frame_without_a_size_is_refused() -> None:
    unsized = zstandard.ZstdCompressor(write_content_size=False).compress(b"value " * 100)
    assert "states no size" in refused(unsized)


@pytest.mark.parametrize(
    "encoded",
    [b"", b"garbage " * 9, FRAME[:-1], FRAME[:4], FRAME + b"\0", FRAME + FRAME],
    ids=["empty", "garbage", "truncated", "magic only", "trailing", "two frames"],
)
def test_bytes_that_are_no_whole_frame_are_refused(encoded: bytes) -> None:
    assert "compressed value" in refused(encoded)


def test_a_compressed_value_within_a_compressed_one_is_refused() -> None:
    twice = zstandard.ZstdCompressor().compress(FRAME)
    assert "'zstd:msgpack' cannot be read back" in refused(twice, "zstd:zstd:msgpack")


@pytest.mark.parametrize("kind", ["pickle", "zstd:pickle", "msgpack+aes", "", "zstd:"])
def test_a_type_that_cannot_be_read_is_named(kind: str) -> None:
    assert "cannot be read back" in refused(FRAME, kind)


@pytest.mark.parametrize(
    ("kind", "encoded"), [("msgpack", b"\xc1"), ("json", b"{"), ("json", b"\xff")]
)
def test_plain_bytes_that_cannot_be_decoded_are_refused_alike(kind: str, encoded: bytes) -> None:
    assert f"{kind!r} cannot be read back" in refused(encoded, kind)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A frame with some bytes changed, cut out or put in."""
    frame = bytearray(FRAME)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(frame) - 1)))
        cut = draw(st.integers(0, 3))
        frame[at : at + cut] = draw(st.binary(max_size=3))
    return bytes(frame)


@given(mutated())
def test_a_damaged_frame_gives_its_value_or_is_refused(encoded: bytes) -> None:
    try:
        found = CompressingSerializer(None).loads_typed(("zstd:msgpack", encoded))
    except CheckpointSerializationError:
        return
    assert found == "value " * 200


class Shift(CipherProtocol):
    """A toy cipher."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "shift", bytes((byte + 1) % 256 for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "shift"
        return bytes((byte - 1) % 256 for byte in ciphertext)


def test_the_encrypting_serializer_works_around_it() -> None:
    serde = EncryptedSerializer(Shift(), CompressingSerializer(100))
    for value, wanted in (("x" * 1_000, "zstd:msgpack+shift"), ("x", "msgpack+shift")):
        kind, encoded = serde.dumps_typed(value)
        assert kind == wanted
        assert serde.loads_typed((kind, encoded)) == value


@dataclass
class Plan:
    """A type that a strict application allows by name."""

    steps: str


def test_a_strict_list_of_allowed_types_keeps_compression() -> None:
    serde = CompressingSerializer(100, allowed_msgpack_modules=[("uuid", "UUID")])
    saver = InMemorySaver(serde=serde)
    strict = saver.with_allowlist([(Plan.__module__, "Plan")]).serde
    assert isinstance(strict, CompressingSerializer)
    kind, encoded = strict.dumps_typed(Plan("x" * 1_000))
    assert kind == COMPRESSED + "msgpack"
    assert strict.loads_typed((kind, encoded)) == Plan("x" * 1_000)
    # The library's answer to a type that is not allowed: its fields.
    assert serde.loads_typed((kind, encoded)) != Plan("x" * 1_000)
