"""Paging through the threads whose marks are due, bucket by bucket."""

from collections.abc import Iterator
from dataclasses import dataclass

from retention.ports import Page
from retention.threads import ThreadFacts
from stores.redis.connection import Connection
from stores.redis.facts import facts_of
from stores.redis.layout import BUCKETS, bucket, text
from stores.redis.requests import Call, Steps
from stores.redis.scripts import thread_script

#: Buckets that are asked at once how much is due there: eight rounds where nothing is.
_BUCKETS_A_LOOK = 32


@dataclass(frozen=True, slots=True)
class DueCursor:
    """Where a page of due threads ended.

    ``counted`` are buckets known to hold due threads, each with how many are left; those below
    ``looked`` were all asked. ``score`` and ``member`` are the last thread of the first bucket,
    empty where none of it was read.
    """

    looked: int = 0
    counted: tuple[tuple[int, int], ...] = ()
    score: bytes = b""
    member: bytes = b""


@dataclass(frozen=True, slots=True)
class _Share:
    """What one call reads: so many threads of a bucket, behind a place and so many after it."""

    bucket: int
    size: int
    skipped: int
    score: bytes
    member: bytes


def due_page(connection: Connection, now: int, cursor: DueCursor, limit: int) -> Page:
    """Threads due by an instant in microseconds; within a bucket they come by due time, then id."""
    connection.look_around()
    found: dict[str, ThreadFacts] = {}
    while True:
        if not cursor.counted and cursor.looked < BUCKETS:
            cursor = connection.run(_look(now, cursor.looked))
        elif not cursor.counted:
            return Page([*found.values()], None)
        elif len(found) == limit:
            return Page([*found.values()], cursor)
        else:
            cursor = _read(connection, now, cursor, limit - len(found), found)


def _look(now: int, first: int) -> Steps[DueCursor]:
    """Ask the next buckets how much is due there."""
    counting = thread_script("due_count")
    numbers = range(first, min(first + _BUCKETS_A_LOOK, BUCKETS))
    counts = yield [Call(counting, bucket(i), (now,)) for i in numbers]
    counted = tuple((i, count) for i, count in zip(numbers, counts, strict=True) if count)
    return DueCursor(numbers.stop, counted)


def _read(
    connection: Connection, now: int, cursor: DueCursor, limit: int, found: dict[str, ThreadFacts]
) -> DueCursor:
    """Add due threads of the buckets that hold some; where that ended.

    A mark that is put or taken away between two calls may show a thread twice, or pass one over
    until the next sweep: ``found`` has each once.
    """
    shares = [*_shares(cursor, limit, connection.room.reads)]
    reading = thread_script("due", "row", "order")
    calls = [
        Call(reading, bucket(s.bucket), (now, s.size, s.skipped, s.score, s.member)) for s in shares
    ]
    last = shares[-1].bucket
    place: tuple[bytes, bytes] | None = None
    for share, page in zip(shares, connection.stream(calls), strict=True):
        for thread_id, row in zip(map(text, page[1::2]), page[2::2], strict=True):
            found[thread_id] = facts_of(thread_id, row)
        if share.bucket == last and page:
            place = page[0], page[-2]
    return _behind(cursor, shares, place)


def _shares(cursor: DueCursor, limit: int, most: int) -> Iterator[_Share]:
    """What to read of the counted buckets to find so many threads."""
    score, member = cursor.score, cursor.member
    for number, left in cursor.counted:
        wanted = min(left, limit)
        for skipped in range(0, wanted, most):
            size = min(most, wanted - skipped)
            yield _Share(number, size, skipped, score, member)
        limit -= wanted
        score, member = b"", b""
        if limit == 0:
            return


def _behind(
    cursor: DueCursor, shares: list[_Share], place: tuple[bytes, bytes] | None
) -> DueCursor:
    """The cursor behind these shares; ``place`` is the last thread found in the last bucket."""
    last = shares[-1].bucket
    taken = sum(share.size for share in shares if share.bucket == last)
    counted = [(number, left) for number, left in cursor.counted if number >= last]
    left = counted[0][1] - taken
    if left and place is not None:
        score, member = place
        return DueCursor(cursor.looked, ((last, left), *counted[1:]), score, member)
    # All of it is read, or what was counted there is due no more.
    return DueCursor(cursor.looked, tuple(counted[1:]))
