"""Asks and park barriers on Redis: kept in the meta of their thread, so they live and go with it.

A thread's book is one field, read and changed here and written back where nobody else wrote it
meanwhile. Beside it lies what the filters and the expiry go by, so that no script reads the book.
"""

import json
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from retention.asks import Ask, AskState, Barrier, Book
from retention.errors import StoreUnavailableError
from retention.threads import Ended
from stores.asks import StoredAsks
from stores.options import StoreOptions
from stores.redis.buckets import chosen_of, in_rounds, streamed
from stores.redis.connection import Connection
from stores.redis.layout import BUCKETS, bucket, bucket_of, instant, micros, raw, text
from stores.redis.requests import Arg, Call, one
from stores.redis.scripts import thread_script

Result = TypeVar("Result")

#: How often a book is read anew because it was changed while it was worked on.
_TRIES = 50
#: The fields of a thread's meta that say until when an ask is open, and a barrier live.
_ASKS, _BARRIERS = "ao", "bo"


class RedisAsks(StoredAsks):
    """The asks and barriers of a Redis store."""

    def __init__(self, connection: Connection, options: StoreOptions) -> None:
        """Work through this connection."""
        super().__init__(options.clock)
        self._connection = connection
        own = options.policy.for_thread(options.retention)
        self._retentions = (options.policy.waiting_minutes * 60_000, own.waiting_minutes * 60_000)

    def book(self, thread_id: str) -> Book:
        """All asks and barriers of a thread, settled ones too."""
        return self._read(str(thread_id))[0]

    def open_asks(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an open ask; asked of the store once."""
        return self._parked(_ASKS, thread_ids)

    def live_barriers(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with a live barrier; asked of the store once."""
        return self._parked(_BARRIERS, thread_ids)

    def _parked(self, field: str, thread_ids: Sequence[str]) -> set[str]:
        script = thread_script("asks_open")
        now = micros(self._clock())
        return chosen_of(streamed(self._connection, script, thread_ids, field, now))

    def _due(self, now: datetime, limit: int) -> list[str]:
        due = thread_script("asks_due")
        calls = [Call(due, bucket(number), (micros(now), limit)) for number in range(BUCKETS)]
        replies = self._connection.run(in_rounds(calls))
        found = [
            (float(deadline), text(thread_id))
            for reply in replies
            for deadline, thread_id in zip(reply[::2], reply[1::2], strict=True)
        ]
        return [thread_id for _, thread_id in sorted(found)[:limit]]

    def _change(
        self, thread_id: str, work: Callable[[Book], Result], *, opens: bool = False
    ) -> Result:
        for _ in range(_TRIES):
            book, stored = self._read(thread_id)
            result = work(book)
            if not book.changed_asks | book.changed_barriers:
                return result
            if self._write(book, stored, opens=opens):
                return result
        raise StoreUnavailableError(
            f"Redis: what thread {thread_id!r} waits for changed each of {_TRIES} times it was read"
        )

    def _read(self, thread_id: str) -> tuple[Book, bytes]:
        """A thread's book, and as it is stored."""
        script = thread_script("asks_read")
        reading = one(script, bucket_of(thread_id), raw(thread_id), *self._retentions)
        stored, waiting, is_known, *ended = self._connection.run(reading)
        book = _decoded(thread_id, stored)
        book.waiting, book.is_known = timedelta(milliseconds=int(waiting)), bool(is_known)
        if ended:
            at, by, reason = ended
            book.ended = Ended(cast(datetime, instant(at)), text(by), text(reason))
        return book, stored

    def _write(self, book: Book, stored: bytes, *, opens: bool) -> bool:
        now = self._clock()
        # A book has no other end than its thread's: what nobody waits for any more is dropped here.
        book.forget(now - book.waiting)
        marks = (book.asks_until(), book.barriers_until(), book.opened_at(), book.next_deadline())
        args: tuple[Arg, ...] = (
            raw(book.thread_id),
            stored,
            _encoded(book),
            *("" if mark is None else micros(mark) for mark in marks),
            micros(now),
            *self._retentions,
            int(opens),
        )
        script = thread_script("asks_write")
        return bool(self._connection.run(one(script, bucket_of(book.thread_id), *args)))


def _encoded(book: Book) -> str:
    """A book as it is stored: like no other, so that a repeated write is told from another's."""
    asks = {i: _row(ask) for i, ask in book.asks.items()}
    barriers = {i: [*_row(barrier), barrier.ask_ids] for i, barrier in book.barriers.items()}
    return json.dumps({"asks": asks, "barriers": barriers, "write": uuid.uuid4().hex})


def _row(park: Ask | Barrier) -> list[Any]:
    settled = park.settled_at and micros(park.settled_at)
    return [micros(park.deadline), micros(park.opened_at), str(park.state), settled]


def _decoded(thread_id: str, stored: bytes) -> Book:
    book = Book(thread_id)
    kept = json.loads(stored) if stored else {"asks": {}, "barriers": {}}
    for ask_id, row in kept["asks"].items():
        book.asks[ask_id] = Ask(thread_id, ask_id, *_park(row))
    for barrier_id, (*row, ask_ids) in kept["barriers"].items():
        book.barriers[barrier_id] = Barrier(thread_id, barrier_id, tuple(ask_ids), *_park(row))
    return book


def _park(row: Sequence[Any]) -> tuple[Any, Any, AskState, datetime | None]:
    deadline, opened, state, settled = row
    return instant(deadline), instant(opened), AskState(state), instant(settled)
