"""What an operator asks of a store beyond the sweep: each ability is a protocol of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol, runtime_checkable

from retention.errors import ConfigurationError
from retention.ports import CheckpointStore
from retention.threads import Ended, LedgerEntry, ThreadFacts


def cannot(store: CheckpointStore, what: str) -> ConfigurationError:
    """The error of a store that lacks an ability; ``what`` says it, as in ``end threads``."""
    return ConfigurationError(f"a {store.provider} store of this kind cannot {what}")


@dataclass(frozen=True, slots=True)
class HoldsPage:
    """Some entries with a hold, in the store's order; a ``cursor`` of None ends the listing.

    ``faults`` are held threads whose entry cannot be read, each with a line that says where.
    """

    entries: Sequence[LedgerEntry]
    cursor: str | None
    faults: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class SupportsHoldsListing(Protocol):
    """A ledger that lists its holds."""

    def holds_page(self, after: str | None, limit: int) -> HoldsPage:
        """Threads with a hold, lapsed ones too, from a cursor on.

        Raises:
            ConfigurationError: The cursor is none of such a listing.
        """


@dataclass(frozen=True, slots=True)
class ThreadState:
    """Where a thread stands, told without decoding its state.

    ``is_locked``: a put, a start or a sweep is at work on it just now. ``is_interrupted`` and
    ``has_failed``: a question, or an error, hangs on its newest checkpoint.
    """

    facts: ThreadFacts
    is_locked: bool = False
    is_interrupted: bool = False
    has_failed: bool = False


#: Why a thread must not be ended, or None where it may.
Refusal = Callable[[ThreadState], str | None]


@runtime_checkable
class SupportsEnding(Protocol):
    """A ledger that can end a thread."""

    def end(self, thread_id: str, ended: Ended, refusal: Refusal) -> str | None:
        """Mark a thread finished for good, unless its state, read under its lock, forbids that.

        Returns:
            Why it was not ended; None where it was.
        """


class Redated(NamedTuple):
    """A mark, and the due time that it is to have."""

    thread_id: str
    marked_at: datetime
    due_at: datetime


@runtime_checkable
class SupportsRedating(Protocol):
    """A ledger that can move the due times of marks."""

    def redate(self, marks: Sequence[Redated]) -> int:
        """Give these marks their due times, in one transaction; says how many were moved.

        A thread that was marked anew since is left alone.
        """


@runtime_checkable
class SupportsFailures(Protocol):
    """A thread index that can tell runs that ended in an error."""

    def failures(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an error on the head of any of their namespaces."""


@runtime_checkable
class SupportsSizes(Protocol):
    """A thread index that can tell how much its threads take up."""

    def sizes(self, thread_ids: Sequence[str]) -> dict[str, int]:
        """Stored bytes of each of these threads.

        Raises:
            ConfigurationError: The role may not ask.
        """


@dataclass(frozen=True, slots=True)
class ExpiringPage:
    """Threads whose keys expire by themselves, each with the time since its last write.

    That is by the store's clock, and None where it is not known; zero while something else keeps
    the thread.
    """

    threads: Sequence[tuple[ThreadFacts, timedelta | None]]
    cursor: str | None


@runtime_checkable
class SupportsExpiry(Protocol):
    """A thread index whose threads go by themselves, at an instant of the server."""

    def time_left(self, thread_id: str) -> timedelta | None:
        """The time until a thread's keys expire; None where they do not."""

    def expiring_page(self, after: str | None, limit: int) -> ExpiringPage:
        """Threads whose keys expire at some time."""


@runtime_checkable
class SharesOneWriter(Protocol):
    """A deleter of a store where one connection writes at a time, and keeps all others waiting."""

    def others_write(self) -> bool:
        """Whether another connection wrote in the last minute."""


@runtime_checkable
class SparesWriters(Protocol):
    """A deleter of a store where others' writes wait for what a large transaction has written."""

    def threads_at_once(self) -> int | None:
        """Threads that the next transaction is to settle at most; None while nobody else writes."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erase met: the facts it judged, and what each table or key held of the thread.

    ``held`` is empty where the thread was left alone.
    """

    facts: ThreadFacts
    held: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class SupportsErasing(Protocol):
    """A deleter that can erase one thread, and show what is left."""

    def holdings(self, thread_id: str) -> dict[str, int]:
        """How much each table, or each key, holds of a thread; the run log apart."""

    def erase(self, thread_id: str, may_go: Callable[[ThreadFacts], bool]) -> Erased:
        """Delete all of a thread under its lock, its ledger entry too, if its facts allow that."""
