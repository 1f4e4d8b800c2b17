"""Stored bytes as someone might forge or damage them."""

import json
import random
import zlib
from typing import Any

import pytest
import zstandard

from retention.errors import CheckpointSerializationError
from stores.codec import FaithfulCodec
from tests.unit.codec.things import CODEC


def summed(tag: bytes, content: bytes) -> bytes:
    """Content with a tag and the checksum that belongs to it."""
    return b"%b%08x%b" % (tag, zlib.crc32(content, zlib.crc32(tag)), content)


def forged(stored: Any) -> bytes:
    """What is stored where some JSON is."""
    return summed(b"j", json.dumps(stored).encode())


def read(stored: Any, codec: FaithfulCodec = CODEC) -> Any:
    """What some JSON is read as."""
    return codec.decode(forged(stored))


def unreadable(stored: Any, path: str = "$") -> str:
    """The message with which reading some JSON, or some bytes, fails."""
    data = stored if isinstance(stored, bytes) else forged(stored)
    with pytest.raises(CheckpointSerializationError) as caught:
        CODEC.decode(data, path)
    assert str(caught.value).startswith(path)
    return str(caught.value)


def bytes_changed(chance: random.Random, data: bytes) -> bytes:
    """Data with some bytes changed, cut out, put in, doubled or swapped."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at, end = sorted(chance.randrange(len(changed) + 1) for _ in range(2))
        how = chance.randrange(5)
        if how == 0 and changed:
            changed[min(at, len(changed) - 1)] ^= 1 << chance.randrange(8)
        elif how == 1:
            del changed[at : min(end, at + 8)]
        elif how == 2:
            changed[at:at] = chance.randbytes(chance.randint(1, 4))
        elif how == 3:
            changed[end:end] = changed[at : min(end, at + 40)]
        else:
            del changed[chance.randrange(len(changed) + 1) :]
    return bytes(changed)


def json_changed(chance: random.Random, stored: Any, spare: list[Any]) -> Any:
    """JSON with one place in it put to something else, or taken out."""
    places = list(_places(stored))
    if not places:
        return chance.choice(spare)
    holder, key = chance.choice(places)
    if chance.random() < 0.2:
        del holder[key]
    else:
        holder[key] = chance.choice(spare)
    return stored


def _places(stored: Any) -> Any:
    if not isinstance(stored, dict | list):
        return
    for key, item in stored.items() if isinstance(stored, dict) else enumerate(stored):
        yield stored, key
        yield from _places(item)


def frame(content: bytes) -> bytes:
    """A compressed text with its tag."""
    return summed(b"z", zstandard.ZstdCompressor(write_checksum=True).compress(content))
