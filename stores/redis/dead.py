"""Removing from a thread's id what was written late to the one that was deleted under it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from retention.late_writes import DeadRows, Place, Skeleton, dead_rows
from stores.redis.layout import bucket_of, joined, micros, raw, split, text
from stores.redis.requests import Arg, Steps, one
from stores.redis.scripts import thread_script

_PLACES = thread_script("dead_places", "places")
_WRITES = thread_script("dead_writes")
_REMOVE = thread_script("remove_dead", "places")

#: Checkpoints, tasks with writes, and parts to remove that a script handles at most.
_PAGE, _REMOVED = 500, 250
#: How often a thread is looked at that changes meanwhile; then it is in use.
_LOOKS = 3


@dataclass(slots=True)
class _Thread:
    """What an id holds, at one revision; one that is empty has nothing that may be removed."""

    revision: bytes
    skeleton: Skeleton = field(default_factory=Skeleton)
    ages: dict[Place, bytes] = field(default_factory=dict)
    blobs: dict[Place, list[bytes]] = field(default_factory=dict)
    tasks: dict[bytes, int] = field(default_factory=dict)


def remove_dead(
    thread_id: str, head: str, orphans_before: datetime, now: datetime
) -> Steps[DeadRows]:
    """Remove what the id holds of the thread deleted at ``head``; say what it was.

    A thread that is held, or written to while this looks at it, is left alone.
    """
    tried = DeadRows()
    for _ in range(_LOOKS):
        found = yield from _read(thread_id, now)
        if found is None:
            continue
        dead = dead_rows(found.skeleton, head, orphans_before)
        if not dead:
            return tried  # removed by a call whose answer was lost, if there was one
        if (yield from _remove(thread_id, found, dead)):
            return dead
        tried = dead
    return DeadRows()


def _read(thread_id: str, now: datetime) -> Steps[_Thread | None]:
    """Read a thread page by page; None where it changed meanwhile."""
    found = yield from _read_checkpoints(thread_id, now)
    if found is None or not found.revision:
        return found
    cursor = b""
    while cursor != b"0":
        args: tuple[Arg, ...] = (raw(thread_id), cursor or b"0", _PAGE)
        revision, cursor, fields = yield from one(_WRITES, bucket_of(thread_id), *args)
        if revision != found.revision:
            return None
        # A scan may come to a field twice.
        found.tasks.update(zip(fields[::2], fields[1::2], strict=True))
    for name, count in found.tasks.items():
        namespace, checkpoint_id, _ = split(name[1:], 3)
        place = (namespace, checkpoint_id)
        found.skeleton.writes[place] = found.skeleton.writes.get(place, 0) + count
    return found


def _read_checkpoints(thread_id: str, now: datetime) -> Steps[_Thread | None]:
    found, last = _Thread(b""), b""
    while True:
        args: tuple[Arg, ...] = (raw(thread_id), micros(now), last, _PAGE)
        revision, page = yield from one(_PLACES, bucket_of(thread_id), *args)
        if last and revision != found.revision:
            return None
        found.revision = revision
        for member, parent, caller, at, blobs in page:
            namespace, checkpoint_id = split(member[1:], 2)
            place = (namespace, checkpoint_id)
            found.skeleton.parents[place] = text(parent) or None
            if caller:
                found.skeleton.callers[place] = text(caller)
            found.ages[place], found.blobs[place] = at, blobs
        if len(page) < _PAGE:
            return found
        last = page[-1][0]


def _remove(thread_id: str, found: _Thread, dead: DeadRows) -> Steps[bool]:
    """Remove the dead parts, some at a time; False where the thread changed meanwhile."""
    gone = set(dead.checkpoints)
    kept = [place for place in found.ages if place not in gone]
    ages = [found.ages[place] for place in kept]
    newest = max(ages, key=lambda at: int(at or 0), default=b"")
    parts, revision = [*_parts(found, dead, kept)], found.revision
    for first in range(0, len(parts), _REMOVED):
        some = [arg for part in parts[first : first + _REMOVED] for arg in part]
        args: tuple[Arg, ...] = (raw(thread_id), revision, newest, int(b"" in ages), *some)
        revision = yield from one(_REMOVE, bucket_of(thread_id), *args)
        if revision == b"gone":
            return True
        if not revision:
            return False
    return True


def _parts(
    found: _Thread, dead: DeadRows, kept: list[Place]
) -> Iterator[tuple[bytes, bytes, bytes]]:
    """What to remove: checkpoints and writes, then the blobs that no checkpoint needs any more."""
    for kind, places in ((b"c", dead.checkpoints), (b"w", dead.writes)):
        for namespace, checkpoint_id in places:
            yield kind, joined(namespace, ""), raw(checkpoint_id)
    needed = {blob for place in kept for blob in found.blobs[place]}
    freed = {blob for place in dead.checkpoints for blob in found.blobs[place]} - needed
    for blob in sorted(freed):
        yield b"b", blob, b""
