"""The checkpoints of all threads, newest first, out of the buckets' indexes.

A thread's score in its bucket's index is the instant of its newest checkpoint. So threads are
opened from the highest score down, and only as far as the next place to be shown demands. What is
held is some places of each open thread, and a page of each bucket's index.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import heappop, heappush
from typing import Protocol

from retention.ids import lowest_id_at
from stores.redis.layout import BUCKETS, bucket, instant, micros, text
from stores.redis.records import Place
from stores.redis.requests import Call, Steps
from stores.redis.scripts import thread_script

_NEWEST = thread_script("newest_threads")

#: How many threads of a bucket, and how many places of a thread, are read at first.
_THREADS, _PLACES = 16, 16
#: The most threads that are opened at once.
_OPENED = 64
#: The microseconds since 1970 at the year 5000: no UUIDv6 is of a much later instant.
_END = micros(datetime(5000, 1, 1, tzinfo=UTC))

#: What sorts above every id and below none; an id's own is (0, id).
_Bound = tuple[int, str]
_TOP: _Bound = (1, "")


class ThreadSource(Protocol):
    """The places of one thread, newest first."""

    @property
    def is_done(self) -> bool:
        """Whether there are no more."""

    def call(self, most: int) -> Call:
        """The call that reads the next ones."""

    def took(self, members: list[bytes], most: int) -> list[Place]:
        """The places that its reply names."""


class _Bucket:
    """The threads of a bucket that are not open yet."""

    def __init__(self, number: int) -> None:
        self._start = bucket(number)
        self._score, self._passed = b"+inf", 0
        self._page: list[tuple[bytes, bytes]] = []
        self._is_read = False

    @property
    def is_spent(self) -> bool:
        return self._is_read and not self._page

    @property
    def needs_more(self) -> bool:
        return not self._page and not self._is_read

    @property
    def bound(self) -> _Bound:
        """All ids of its threads are below this."""
        return _bound_of(self._page[-1][1] if self._page else self._score)

    def call(self) -> Call:
        return Call(_NEWEST, self._start, [self._score, self._passed, _THREADS])

    def took(self, reply: Sequence[bytes]) -> None:
        page = [*zip(reply[::2], reply[1::2], strict=True)]
        self._is_read = len(page) < _THREADS
        for _, score in page:
            self._passed = self._passed + 1 if score == self._score else 1
            self._score = score
        self._page = page[::-1]

    def next(self) -> str:
        return text(self._page.pop()[0])

    def __lt__(self, other: "_Bucket") -> bool:
        return self.bound > other.bound


def _bound_of(score: bytes) -> _Bound:
    microseconds = float(score)
    if microseconds >= _END:
        return _TOP
    newest = instant(int(microseconds) + 1)
    assert newest is not None
    return (0, lowest_id_at(newest))


@dataclass(slots=True)
class _Open:
    """A thread that is open, with the places that were read of it and not shown."""

    source: ThreadSource
    places: list[Place] = field(default_factory=list)

    @property
    def next_place(self) -> Place:
        return self.places[-1]

    def took(self, members: list[bytes], most: int) -> None:
        self.places = self.source.took(members, most)[::-1]

    def __lt__(self, other: "_Open") -> bool:
        mine, others = self.next_place, other.next_place
        # Copies hold the same ids.
        if mine.checkpoint_id == others.checkpoint_id:
            return (mine.thread_id, others.namespace) < (others.thread_id, mine.namespace)
        return mine.checkpoint_id > others.checkpoint_id


class NewestThreads:
    """A merge of all threads' places."""

    def __init__(self, source_of: Callable[[str], ThreadSource]) -> None:
        """Begin; nothing is read yet. ``source_of`` gives the places of a thread."""
        self._source_of = source_of
        self._unread = [_Bucket(number) for number in range(BUCKETS)]
        self._buckets: list[_Bucket] = []
        self._open: list[_Open] = []

    def take(self, most: int) -> Steps[list[Place]]:
        """The next places; none when there are no more."""
        found: list[Place] = []
        while len(found) < most:
            if self._unread:
                yield from self._read_buckets()
            elif self._may_hold_newer():
                yield from self._open_threads()
            elif self._open:
                found.append((yield from self._next(most)))
            else:
                break
        return found

    def _may_hold_newer(self) -> bool:
        """Whether a thread that is not open could hold the next place."""
        if not self._buckets or not self._open:
            return bool(self._buckets)
        return self._buckets[0].bound > (0, self._open[0].next_place.checkpoint_id)

    def _read_buckets(self) -> Steps[None]:
        reading, self._unread = self._unread, []
        replies = yield [found.call() for found in reading]
        for found, reply in zip(reading, replies, strict=True):
            found.took(reply)
            if not found.is_spent:
                heappush(self._buckets, found)

    def _open_threads(self) -> Steps[None]:
        """Open the threads of the highest scores, some ahead of need: it costs no round trip."""
        opening: list[_Open] = []
        while self._buckets and len(opening) < _OPENED:
            newest = heappop(self._buckets)
            opening.append(_Open(self._source_of(newest.next())))
            if newest.needs_more:
                self._unread.append(newest)
                break
            if not newest.is_spent:
                heappush(self._buckets, newest)
        replies = yield [found.source.call(_PLACES) for found in opening]
        for found, members in zip(opening, replies, strict=True):
            found.took(members, _PLACES)
            self._keep(found)

    def _next(self, most: int) -> Steps[Place]:
        newest = heappop(self._open)
        place = newest.places.pop()
        if not newest.places and not newest.source.is_done:
            (members,) = yield [newest.source.call(most)]
            newest.took(members, most)
        self._keep(newest)
        return place

    def _keep(self, found: _Open) -> None:
        if found.places:
            heappush(self._open, found)
