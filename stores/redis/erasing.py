"""Erasing one thread on Redis, and counting what its keys hold."""

from stores.redis.layout import bucket_of, raw
from stores.redis.requests import Steps, one
from stores.redis.scripts import thread_script

#: The keys of a thread, then the indexes of its bucket, as ``holdings.lua`` answers.
_KEYS = ("meta", "checkpoints", "ids", "blobs", "writes")
_INDEXES = ("live", "expiry", "marks", "holds", "asks")


def read_holdings(thread_id: str) -> Steps[dict[str, int]]:
    """How much each key of a thread holds; an index that names it counts as one."""
    counts = yield from one(thread_script("holdings"), bucket_of(thread_id), raw(thread_id))
    return dict(zip((*_KEYS, *_INDEXES), counts, strict=True))


def erase(thread_id: str, revision: str | None) -> Steps[bool]:
    """Delete all of a thread; False where it is no longer as it was at this revision."""
    args = (raw(thread_id), raw(revision or ""))
    done = yield from one(thread_script("erase"), bucket_of(thread_id), *args)
    return bool(done)
