"""What a store offers that can hold asks and park barriers."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from retention.asks.book import Book
from retention.asks.model import Answer, Ask, Barrier, Settled
from retention.errors import ConfigurationError


class Asks(Protocol):
    """Asks and park barriers, kept beside the checkpoints. Each call has an ``a…`` twin."""

    def open_ask(self, thread_id: str, ask_id: str, deadline: datetime | None) -> Ask:
        """Open an ask of a thread; one opened before with the same deadline is found again."""

    async def aopen_ask(self, thread_id: str, ask_id: str, deadline: datetime | None) -> Ask:
        """Async twin of ``open_ask``."""

    def open_barrier(
        self,
        thread_id: str,
        barrier_id: str,
        ask_ids: Collection[str],
        deadline: datetime | None,
    ) -> Barrier:
        """Open a barrier over asks of its thread; one opened before is found again."""

    async def aopen_barrier(
        self,
        thread_id: str,
        barrier_id: str,
        ask_ids: Collection[str],
        deadline: datetime | None,
    ) -> Barrier:
        """Async twin of ``open_barrier``."""

    def answer(self, thread_id: str, ask_id: str) -> Answer:
        """Take the answer to an ask; say what came of it, and which barriers settled with it."""

    async def aanswer(self, thread_id: str, ask_id: str) -> Answer:
        """Async twin of ``answer``."""

    def expire(self, now: datetime, limit: int) -> Settled:
        """Settle what is past its deadline, of so many threads at most, those due first."""

    async def aexpire(self, now: datetime, limit: int) -> Settled:
        """Async twin of ``expire``."""

    def release(
        self,
        thread_id: str,
        ask_ids: Collection[str] | None = None,
        barrier_ids: Collection[str] | None = None,
    ) -> Settled:
        """Wait no longer for these asks and barriers; for none of the thread's if none is named."""

    async def arelease(
        self,
        thread_id: str,
        ask_ids: Collection[str] | None = None,
        barrier_ids: Collection[str] | None = None,
    ) -> Settled:
        """Async twin of ``release``."""

    def book(self, thread_id: str) -> Book:
        """All asks and barriers of a thread, settled ones too."""

    async def abook(self, thread_id: str) -> Book:
        """Async twin of ``book``."""

    def open_asks(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an open ask; asked of the store once."""

    async def aopen_asks(self, thread_ids: Sequence[str]) -> set[str]:
        """Async twin of ``open_asks``."""

    def live_barriers(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with a live barrier; asked of the store once."""

    async def alive_barriers(self, thread_ids: Sequence[str]) -> set[str]:
        """Async twin of ``live_barriers``."""


class SupportsAsks(Protocol):
    """A store that can hold asks and park barriers."""

    #: Whether it can: where not, reading ``asks`` raises ConfigurationError.
    holds_asks: bool

    @property
    def asks(self) -> Asks:
        """The asks and barriers."""


def holds_asks(store: object) -> bool:
    """Whether a store can hold asks and park barriers."""
    return bool(getattr(store, "holds_asks", False))


def asks_of(store: object) -> Asks:
    """The asks of a store.

    Raises:
        ConfigurationError: It can hold none.
    """
    asks: Asks | None = getattr(store, "asks", None)
    if asks is None:
        raise no_asks(str(getattr(store, "provider", "given")))
    return asks


def no_asks(provider: str) -> ConfigurationError:
    """What a store says that can hold neither asks nor barriers."""
    return ConfigurationError(
        f"the {provider} store cannot hold asks or park barriers: a parked run must be readable by "
        "whichever worker resumes it; redis and postgres can"
    )
