"""The codec as the Redis store uses it."""

import json
from collections.abc import Collection
from typing import Any

from retention.errors import CheckpointSerializationError
from stores.compression import compressed, decompressed
from stores.options import DEFAULT_COMPRESS_BYTES

#: What ``dumps_typed`` names the type of everything.
KIND = "faithful"


class FaithfulCodec:
    """Encodes values as JSON with typed envelopes, and reads them back.

    Only classes of ``allowed_modules`` (module or package names) are kept and imported.
    """

    def __init__(
        self,
        allowed_modules: Collection[str] = (),
        compress_above: int | None = DEFAULT_COMPRESS_BYTES,
    ) -> None:
        self.allowed_modules = tuple(allowed_modules)
        self.compress_above = compress_above

    def encode(self, value: Any, path: str = "$") -> bytes:
        """The bytes of a value; the first is a tag.

        Raises:
            CheckpointSerializationError: The value cannot be kept; the message names where.
        """
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except Exception as error:
            raise CheckpointSerializationError(f"{path} cannot be stored: {error}") from error
        frame = compressed(text, self.compress_above)
        return b"j" + text if frame is None else b"z" + frame

    def decode(self, data: bytes, path: str = "$") -> Any:
        """The value that some bytes hold.

        Raises:
            CheckpointSerializationError: They cannot be read back; the message names where.
        """
        text = decompressed(data[1:]) if data[:1] == b"z" else data[1:]
        try:
            return json.loads(text)
        except Exception as error:
            raise CheckpointSerializationError(f"{path} cannot be read back: {error}") from error

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Encode a value: the name of this codec, and its bytes."""
        return KIND, self.encode(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value back.

        Raises:
            CheckpointSerializationError: It is not of this codec, or cannot be read back.
        """
        kind, encoded = data
        if kind != KIND:
            raise CheckpointSerializationError(f"{kind[:40]!r} is not a type of this codec")
        return self.decode(encoded)
