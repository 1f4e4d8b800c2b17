"""The library's msgpack, with large values compressed by Zstandard."""

from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from retention.errors import CheckpointSerializationError
from stores.compression import compressed, decompressed

#: What the type of a compressed value begins with; the type of its content follows. It holds no
#: plus sign: the library's encrypting serializer puts one before the name of its cipher.
COMPRESSED = "zstd:"


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
        frame = compressed(encoded, self.compress_above)
        return (kind, encoded) if frame is None else (COMPRESSED + kind, frame)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value back.

        Raises:
            CheckpointSerializationError: The bytes are damaged, of a type that cannot be read, or
                claim to hold more than any stored value can.
        """
        kind, encoded = data
        if kind.startswith(COMPRESSED):
            kind, encoded = kind.removeprefix(COMPRESSED), decompressed(encoded)
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
