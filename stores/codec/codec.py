"""The codec as the Redis store uses it: tagged, checked, and compressed where that helps."""

import json
import sys
import zlib
from collections.abc import Collection
from typing import Any

from retention.errors import CheckpointSerializationError
from stores.codec.classes import AllowList
from stores.codec.decoding import Decoder
from stores.codec.encoding import CarefulEncoder, Encoder
from stores.codec.refusals import Refused, type_name
from stores.codec.registry import Registry
from stores.compression import compressed, decompressed
from stores.options import DEFAULT_COMPRESS_BYTES

#: What ``dumps_typed`` names the type of everything.
KIND = "faithful"

#: The first byte of what is stored. Each has room for others beside it, as of encrypted content.
JSON, BYTES, COMPRESSED_JSON, COMPRESSED_BYTES = b"j", b"b", b"z", b"y"
#: After the tag come eight hexadecimal digits: the CRC-32 of tag and content.
_CONTENT = 9
#: How many values a compressed text may hold for each byte of its frame, beyond a first million:
#: a small frame must not make many objects. A denser text is stored as it is.
_VALUES_A_BYTE, _VALUES = 16, 1_000_000
_LONGEST_INT = 100_000


class FaithfulCodec:
    """Encodes values as JSON with typed envelopes, and reads them back as they were.

    What it does not keep it refuses, naming the path. Instances are safe to share by threads.
    """

    def __init__(
        self,
        allowed_modules: Collection[str] = (),
        compress_above: int | None = DEFAULT_COMPRESS_BYTES,
    ) -> None:
        """Keep classes of ``allowed_modules`` too: modules, or packages with all that is in them.

        Encodings of more than ``compress_above`` bytes are compressed where that makes them
        smaller; None compresses nothing. Each setting reads what the others wrote.

        Raises:
            ConfigurationError: One of the modules is no module name.
        """
        self.compress_above = compress_above
        registry = Registry(AllowList(allowed_modules))
        self._encoder = Encoder(registry)
        self._careful = CarefulEncoder(registry)
        self._decoder = Decoder(registry)

    def encode(self, value: Any, path: str = "$") -> bytes:
        """The bytes of a value; the first is a tag. ``path`` is where it lies, for messages.

        Raises:
            CheckpointSerializationError: The value cannot be kept; the message names where.
        """
        try:
            # Base64 would make it a third larger.
            if type(value) is bytes:
                return self._stored(value, BYTES, COMPRESSED_BYTES)
            return self._stored(self._text(value), JSON, COMPRESSED_JSON)
        except Refused as refused:
            raise CheckpointSerializationError(refused.at(path)) from refused.__cause__
        except Exception as error:
            raise CheckpointSerializationError(
                f"{path} cannot be stored: {type_name(type(error))} while it was written"
            ) from error

    def decode(self, data: bytes, path: str = "$") -> Any:
        """The value that some bytes hold. ``path`` is where it lies, for messages.

        Raises:
            CheckpointSerializationError: They cannot be read back; the message names where.
        """
        try:
            tag, content = _checked(data)
            if tag in (BYTES, COMPRESSED_BYTES):
                return content if tag == BYTES else decompressed(content)
            return self._decoder.value(_parsed(tag, content))
        except Refused as refused:
            raise CheckpointSerializationError(refused.at(path)) from refused.__cause__
        except CheckpointSerializationError as error:
            raise CheckpointSerializationError(f"{path} cannot be read back: {error}") from error
        except Exception as error:
            raise CheckpointSerializationError(
                f"{path} cannot be read back: {type_name(type(error))} while it was read"
            ) from error

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Encode a value: the name of this codec, and its bytes.

        Raises:
            CheckpointSerializationError: The value cannot be kept; the message names where.
        """
        return KIND, self.encode(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value back.

        Raises:
            CheckpointSerializationError: It is not of this codec, or cannot be read back.
        """
        kind, encoded = data
        if kind != KIND:
            raise CheckpointSerializationError(f"$ is of the type {kind[:40]!r}, not {KIND!r}")
        return self.decode(encoded)

    def _text(self, value: Any) -> bytes:
        try:
            return _WRITER.encode(self._encoder.value(value)).encode()
        except ValueError:
            # A float that is not finite, or a string that is no text: now look for where it is.
            return _WRITER.encode(self._careful.value(value)).encode()

    def _stored(self, content: bytes, plain: bytes, packed: bytes) -> bytes:
        frame = compressed(content, self.compress_above)
        if frame is None or (packed == COMPRESSED_JSON and _is_dense(content, frame)):
            return _with_sum(plain, content)
        return _with_sum(packed, frame)


def plain_values(data: bytes, keys: Collection[str]) -> dict[str, str | int | float | bool]:
    """The texts, numbers and booleans that a stored dictionary has under these keys.

    Nothing else of it is made into a value. One that cannot be read has none.
    """
    try:
        tag, content = _checked(data)
        found = _parsed(tag, content) if tag in (JSON, COMPRESSED_JSON) else {}
    except (Refused, CheckpointSerializationError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: found[key] for key in keys if isinstance(found.get(key), str | int | float)}


# The sum covers the tag: with another tag the same content would be another value.
def _with_sum(tag: bytes, content: bytes) -> bytes:
    return b"%b%08x%b" % (tag, zlib.crc32(content, zlib.crc32(tag)), content)


def _checked(data: bytes) -> tuple[bytes, bytes]:
    """Tag and content of what is stored."""
    tag, content = bytes(data[:1]), bytes(data[_CONTENT:])
    if tag not in (JSON, BYTES, COMPRESSED_JSON, COMPRESSED_BYTES):
        raise Refused(f"cannot be read back: it begins with {tag!r}, which this codec does not")
    if b"%08x" % zlib.crc32(content, zlib.crc32(tag)) != data[1:_CONTENT]:
        raise Refused("cannot be read back: it is damaged, its checksum is another")
    return tag, content


def _parsed(tag: bytes, content: bytes) -> Any:
    text = content
    if tag == COMPRESSED_JSON:
        text = decompressed(content)
        if _is_dense(text, content):
            raise Refused("cannot be read back: it holds too many values for its size")
    try:
        # Strictly: what is written never holds a surrogate.
        return _reader().decode(str(text, "utf-8"))
    except ValueError as error:
        raise Refused("cannot be read back: it is no JSON that this codec writes") from error


def _is_dense(text: bytes, frame: bytes) -> bool:
    """Whether a text would make far more objects than its frame has bytes."""
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    return values > _VALUES + _VALUES_A_BYTE * len(frame)


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0:  # neither NaN nor an infinity passes
        raise Refused("cannot be read back: it holds a float that is not finite")
    return value


def _short(text: str) -> int:
    if len(text) > _LONGEST_INT:
        raise ValueError("a whole number of too many digits")
    return int(text)


def _reader() -> json.JSONDecoder:
    """What reads JSON.

    Python refuses whole numbers of very many digits, which take it time by the square of their
    length, unless the application told it not to: then they are refused here.
    """
    return _READER if 0 < sys.get_int_max_str_digits() <= _LONGEST_INT else _WARY_READER


#: JSON as this codec writes it, and reads it.
_WRITER = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")
)
_READER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
_WARY_READER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite, parse_int=_short)
