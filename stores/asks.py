"""What the stores that can hold asks and park barriers have in common."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TypeVar

from retention.asks import Answer, Ask, Barrier, Book, Settled
from retention.ports import Clock
from stores.thread_ids import named_one

Result = TypeVar("Result")


class StoredAsks(ABC):
    """The calls on asks and barriers; a store says how a thread's book is read and changed.

    A thread without a checkpoint, a write or an entry in the ledger holds nothing: nothing is
    parked on it. Deleting a thread deletes its asks and barriers.
    """

    def __init__(self, clock: Clock) -> None:
        """Measure deadlines by this clock."""
        self._clock = clock

    @abstractmethod
    def _change(
        self, thread_id: str, work: Callable[[Book], Result], *, opens: bool = False
    ) -> Result:
        """Do some work on a thread's book, and keep what it changed, as one step.

        ``opens`` tells that it parks the thread.
        """

    @abstractmethod
    def _due(self, now: datetime, limit: int) -> list[str]:
        """Threads with something past its deadline that is not settled, those due first."""

    @abstractmethod
    def book(self, thread_id: str) -> Book:
        """All asks and barriers of a thread, settled ones too."""

    @abstractmethod
    def open_asks(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an open ask; asked of the store once."""

    @abstractmethod
    def live_barriers(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with a live barrier; asked of the store once."""

    def open_ask(self, thread_id: str, ask_id: str, deadline: datetime | None) -> Ask:
        """Open an ask of a thread; one opened before with the same deadline is found as it stands.

        Raises:
            ConfigurationError: The deadline is in no time zone.
            ParkDeadlineError: There is no deadline, or one that is past or beyond the waiting
                retention of the thread; nothing is parked.
            ParkRefusedError: The thread holds nothing, or the ask has another deadline.
            StoreUnavailableError: The store cannot be reached, or a delete held the thread.
        """
        now = self._clock()
        return self._change(
            named_one(thread_id), lambda book: book.open_ask(ask_id, deadline, now), opens=True
        )

    async def aopen_ask(self, thread_id: str, ask_id: str, deadline: datetime | None) -> Ask:
        """Async twin of ``open_ask``."""
        return await asyncio.to_thread(self.open_ask, thread_id, ask_id, deadline)

    def open_barrier(
        self,
        thread_id: str,
        barrier_id: str,
        ask_ids: Collection[str],
        deadline: datetime | None,
    ) -> Barrier:
        """Open a barrier over asks of its thread; one opened before is found as it stands.

        One whose asks are all settled is complete from the start: its run need not park.

        Raises:
            ConfigurationError: The deadline is in no time zone.
            ParkDeadlineError: There is no deadline, or one that is past or beyond the waiting
                retention of the thread; nothing is parked.
            ParkRefusedError: An ask is unknown or there is none, the thread holds nothing, or the
                barrier has another deadline or other asks.
            StoreUnavailableError: The store cannot be reached, or a delete held the thread.
        """
        now, wanted = self._clock(), _each(ask_ids) or ()
        return self._change(
            named_one(thread_id),
            lambda book: book.open_barrier(barrier_id, wanted, deadline, now),
            opens=True,
        )

    async def aopen_barrier(
        self,
        thread_id: str,
        barrier_id: str,
        ask_ids: Collection[str],
        deadline: datetime | None,
    ) -> Barrier:
        """Async twin of ``open_barrier``."""
        return await asyncio.to_thread(self.open_barrier, thread_id, barrier_id, ask_ids, deadline)

    def answer(self, thread_id: str, ask_id: str) -> Answer:
        """Take the answer to an ask; say what came of it, and which barriers settled with it.

        Only the first answer before the deadline is taken; the outcome says what became of others.

        Raises:
            StoreUnavailableError: The store cannot be reached, or a delete held the thread.
        """
        now = self._clock()
        return self._change(str(thread_id), lambda book: book.answer(ask_id, now))

    async def aanswer(self, thread_id: str, ask_id: str) -> Answer:
        """Async twin of ``answer``."""
        return await asyncio.to_thread(self.answer, thread_id, ask_id)

    def expire(self, now: datetime, limit: int) -> Settled:
        """Settle what is past its deadline, of so many threads at most, those due first.

        An ask past its deadline spares nothing, settled or not: this tells its owner.

        Raises:
            StoreUnavailableError: The store cannot be reached, or a delete held a thread.
        """
        settled = Settled()
        for thread_id in self._due(now, limit):
            settled += self._change(thread_id, lambda book: book.expire(now))
        return settled

    async def aexpire(self, now: datetime, limit: int) -> Settled:
        """Async twin of ``expire``."""
        return await asyncio.to_thread(self.expire, now, limit)

    def release(
        self,
        thread_id: str,
        ask_ids: Collection[str] | None = None,
        barrier_ids: Collection[str] | None = None,
    ) -> Settled:
        """Wait no longer for these asks and barriers; for none of the thread's if none is named.

        Raises:
            StoreUnavailableError: The store cannot be reached, or a delete held the thread.
        """
        now, asks, barriers = self._clock(), _each(ask_ids), _each(barrier_ids)
        return self._change(str(thread_id), lambda book: book.release(asks, barriers, now))

    async def arelease(
        self,
        thread_id: str,
        ask_ids: Collection[str] | None = None,
        barrier_ids: Collection[str] | None = None,
    ) -> Settled:
        """Async twin of ``release``."""
        return await asyncio.to_thread(self.release, thread_id, ask_ids, barrier_ids)

    async def abook(self, thread_id: str) -> Book:
        """Async twin of ``book``."""
        return await asyncio.to_thread(self.book, thread_id)

    async def aopen_asks(self, thread_ids: Sequence[str]) -> set[str]:
        """Async twin of ``open_asks``."""
        return await asyncio.to_thread(self.open_asks, thread_ids)

    async def alive_barriers(self, thread_ids: Sequence[str]) -> set[str]:
        """Async twin of ``live_barriers``."""
        return await asyncio.to_thread(self.live_barriers, thread_ids)


def _each(ids: Collection[str] | None) -> Collection[str] | None:
    """Ids as given; a single text is one id."""
    return [ids] if isinstance(ids, str) else ids
