"""Zstandard frames that are safe to read: checked, and never larger than they may be."""

import zstandard

from retention.errors import CheckpointSerializationError

#: The largest value that is compressed, or read from a compressed one, in bytes: whoever can write
#: a few bytes into a store must not be able to fill the memory of those who read it.
LARGEST_BYTES = 1 << 28


def compressed(encoded: bytes, above: int | None) -> bytes | None:
    """The frame that holds an encoding of more than ``above`` bytes.

    None where it is not to be compressed (``above`` is None, or it is too small or too large) or
    where that would not make it smaller.
    """
    if above is None or not above < len(encoded) <= LARGEST_BYTES:
        return None
    # With a checksum: a value that rotted must not be read back as another.
    frame = zstandard.ZstdCompressor(write_checksum=True).compress(encoded)
    return frame if len(frame) < len(encoded) else None


def decompressed(frame: bytes) -> bytes:
    """The content of a frame. Its stated size is held against the limit before any is made.

    Raises:
        CheckpointSerializationError: The frame is damaged, or states no size or one too large.
    """
    try:
        size = zstandard.frame_content_size(frame)
        if not 0 <= size <= LARGEST_BYTES:
            stated = "no size" if size < 0 else f"a size of {size} bytes"
            raise CheckpointSerializationError(
                f"a compressed value states {stated}; at most {LARGEST_BYTES} bytes are read"
            )
        return zstandard.ZstdDecompressor().decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise CheckpointSerializationError(f"a compressed value is damaged: {error}") from error
