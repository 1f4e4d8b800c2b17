"""Where the Redis store keeps what: names of keys, and of the members and fields in them.

A thread is five keys in one of 256 buckets. The bucket is the hash tag of their names, so all of
them, and the bucket's indexes, lie in one slot of a cluster and one script can reach them. What
follows the tag is the id as it is: no id can be taken for another, or for a pattern.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zlib import crc32

from retention.errors import StoreError

#: How many buckets there are; part of the format, since an id is looked for in its bucket alone.
BUCKETS = 256

#: The slot of what is kept once for the store: its format and its run log.
LOG = b"lgr:{log}:"

#: The kinds of a thread's keys: meta, checkpoints, ids, blobs, writes.
KINDS = (b"m:", b"c:", b"i:", b"b:", b"w:")

#: The first byte of each kind of member in a thread's ids: a checkpoint by namespace, the same by
#: id over all namespaces, and a place that holds an interrupt.
BY_NAMESPACE, BY_ID, INTERRUPTED = b"c", b"i", b"x"

#: Of bytes that are no name, so many are shown in an error.
_SHOWN = 40

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def raw(text: str) -> bytes:
    """The bytes a text is kept as; every string has some, one with lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


def text(raw_text: bytes) -> str:
    """The text that was kept as these bytes.

    Raises:
        StoreError: No text is kept as these.
    """
    try:
        return raw_text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        shown = raw_text[:_SHOWN]
        raise StoreError(f"Redis: {shown!r} is no name that this store wrote") from error


#: How the name of every key in each bucket begins.
_STARTS = tuple(b"lgr:{b%03d}:" % number for number in range(BUCKETS))


def bucket(number: int) -> bytes:
    """How the name of every key in a bucket begins."""
    return _STARTS[number]


# A batch asks for each of its threads in every step.
@lru_cache(maxsize=4096)
def bucket_of(thread_id: str) -> bytes:
    """How the names of a thread's keys begin."""
    return _STARTS[crc32(raw(thread_id)) % BUCKETS]


def by_bucket(thread_ids: Iterable[str]) -> dict[bytes, list[str]]:
    """Thread ids by their bucket, in the order given."""
    found: dict[bytes, list[str]] = {}
    for thread_id in thread_ids:
        found.setdefault(bucket_of(thread_id), []).append(thread_id)
    return found


def keys_of(thread_id: str) -> list[bytes]:
    """The five keys of a thread."""
    start, name = bucket_of(thread_id), raw(thread_id)
    return [start + kind + name for kind in KINDS]


def joined(*parts: str) -> bytes:
    """Texts as one name that sorts as they do, one after the other, and splits back.

    Each but the last ends in a NUL; a NUL within it is followed by 0xFF, which no text contains.
    """
    *first, last = map(raw, parts)
    return b"".join(part.replace(b"\0", b"\0\xff") + b"\0" for part in first) + last


def split(name: bytes, parts: int) -> list[str]:
    """The texts of a name made by ``joined``."""
    found: list[str] = []
    start = 0
    while len(found) < parts - 1:
        end = name.index(b"\0", start)
        while name[end + 1 : end + 2] == b"\xff":
            end = name.index(b"\0", end + 1)
        found.append(text(name[start:end].replace(b"\0\xff", b"\0")))
        start = end + 1
    return [*found, text(name[start:])]


def place(namespace: str, checkpoint_id: str) -> bytes:
    """The name of a checkpoint's place within its thread."""
    return joined(namespace, checkpoint_id)


def micros(instant: datetime) -> int:
    """An instant in microseconds since 1970: how all but the TTL are kept."""
    return (instant - _EPOCH) // _MICROSECOND


def instant(microseconds: bytes | int | None) -> datetime | None:
    """The instant kept as these microseconds; None where none is kept."""
    return None if microseconds in (None, b"") else _EPOCH + int(microseconds) * _MICROSECOND
