"""The library's msgpack, with large values compressed by Zstandard."""

from typing import Any

import zstandard
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from retention.errors import CheckpointSerializationError

#: What the type of a compressed value begins with; the type of its content follows. It holds no
#: plus sign: the library's encrypting serializer puts one before the name of its cipher.
COMPRESSED = "zstd:"

#: The largest value that is compressed, or read from a compressed one: whoever can write a few
#: bytes into a store must not be able to fill the memory of those who read it.
LARGEST_BYTES = 1 << 28


class CompressingSerializer(JsonPlusSerializer):
    """Compresses a value whose encoding is above a threshold, where that makes it smaller.

    Compressed and plain values read back alike, whatever the threshold is by then.
    """

    def __init__(self, compress_above: int | None, **options: Any) -> None:
        """Compress encodings longer than this many bytes; None compresses nothing.

        ``options`` are the library's own.
        """
        super().__init__(**options)
        self.compress_above = compress_above

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Encode a value: its type, and its bytes."""
        kind, encoded = super().dumps_typed(obj)
        if self.compress_above is None or not self.compress_above < len(encoded) <= LARGEST_BYTES:
            return kind, encoded
        # With a checksum: a value that rotted must not be read back as another.
        compressed = zstandard.ZstdCompressor(write_checksum=True).compress(encoded)
        if len(compressed) >= len(encoded):
            return kind, encoded
        return COMPRESSED + kind, compressed

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value back.

        Raises:
            CheckpointSerializationError: The bytes are damaged, of a type that cannot be read, or
                claim to hold more than any stored value can.
        """
        kind, encoded = data
        if kind.startswith(COMPRESSED):
            kind, encoded = kind.removeprefix(COMPRESSED), _decompressed(encoded)
        try:
            return super().loads_typed((kind, encoded))
        except (ValueError, NotImplementedError) as error:
            raise CheckpointSerializationError(
                f"a value of type {kind[:40]!r} cannot be read back: {error}"
            ) from error


def readable_types() -> frozenset[str]:
    """The types of stored values that can be read back, compressed ones included."""
    plain = ("null", "bytes", "bytearray", "json", "msgpack", "empty")
    return frozenset([*plain, *(COMPRESSED + kind for kind in plain)])


def _decompressed(encoded: bytes) -> bytes:
    """The content of a frame. Its stated size is held against the limit before any is made."""
    try:
        size = zstandard.frame_content_size(encoded)
        if not 0 <= size <= LARGEST_BYTES:
            stated = "no size" if size < 0 else f"a size of {size} bytes"
            raise CheckpointSerializationError(
                f"a compressed value states {stated}; at most {LARGEST_BYTES} bytes are read"
            )
        return zstandard.ZstdDecompressor().decompress(encoded, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CheckpointSerializationError(f"a compressed value is damaged: {error}") from error
