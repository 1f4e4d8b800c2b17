"""What the sweep asks of a store: a protocol for each ability, optional ones apart."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeAlias, runtime_checkable

from langgraph.checkpoint.base import BaseCheckpointSaver

from retention.brakes import PauseLog
from retention.deliveries import DeliveryLog
from retention.late_writes import DeadRows
from retention.policy import RetentionPolicy, ThreadRetention
from retention.runs import (
    Batch,
    BatchKind,
    Candidate,
    Counts,
    Latest,
    Run,
    RunOutcome,
    Source,
    ThreadOutcome,
)
from retention.threads import Hold, Horizon, Judge, LedgerEntry, ThreadFacts

#: Where a page of a listing ended. Each store knows its own: nobody else looks inside, and one that
#: another store gave means nothing.
Cursor: TypeAlias = Any

#: The instant that decides, in UTC: always handed in, so that a test can set it.
Clock = Callable[[], datetime]


class Ledger(Protocol):
    """Where owners mark their threads. Each call has an ``a…`` twin for async code."""

    def start(self, thread_ids: Collection[str], retention: ThreadRetention | None = None) -> None:
        """Take threads out of the finished set; counts as activity; records the declaration."""

    async def astart(
        self, thread_ids: Collection[str], retention: ThreadRetention | None = None
    ) -> None:
        """Async twin of ``start``."""

    def mark_finished(self, thread_ids: Collection[str], owner: str | None = None) -> None:
        """Mark threads finished; each becomes due its finished retention from now."""

    async def amark_finished(self, thread_ids: Collection[str], owner: str | None = None) -> None:
        """Async twin of ``mark_finished``."""

    def keep_marks(self, thread_ids: Collection[str], due_at: datetime) -> set[str]:
        """Put the marks of threads back that a delete could not take whole, due as of an instant.

        What an owner or operator said of a thread since it was deleted stays.

        Returns:
            The ids that are marked again.
        """

    def hold(self, thread_ids: Collection[str], hold: Hold) -> set[str]:
        """Exempt threads, at an operator's word; an earlier hold on one is replaced.

        A hold outlives each start and mark. A thread that holds nothing, not even an entry here,
        is not held.

        Returns:
            The ids that are held now.

        Raises:
            ConfigurationError: The hold has no reason, or an end that is past or in no time zone.
        """

    async def ahold(self, thread_ids: Collection[str], hold: Hold) -> set[str]:
        """Async twin of ``hold``."""

    def release(self, thread_ids: Collection[str]) -> set[str]:
        """Take holds off, lapsed ones too; an entry that says nothing else goes with its hold.

        Returns:
            The ids whose hold was taken off.
        """

    async def arelease(self, thread_ids: Collection[str]) -> set[str]:
        """Async twin of ``release``."""

    def entries(self, thread_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """What the ledger keeps of these threads; unknown ones are left out."""

    def drop_bare(self, before: datetime, limit: int) -> int:
        """Drop entries of threads started before an instant that hold nothing; returns how many.

        Looks at so many entries at most.
        """


@dataclass(frozen=True, slots=True)
class Page:
    """Some threads of a listing, in its order; a ``cursor`` of None ends it."""

    facts: Sequence[ThreadFacts]
    cursor: Cursor | None


class ThreadIndex(Protocol):
    """Finds and reads threads without decoding state."""

    def due_page(self, now: datetime, after: Cursor | None, limit: int) -> Page:
        """Threads whose recorded due time has passed."""

    def facts(self, thread_ids: Sequence[str]) -> dict[str, ThreadFacts]:
        """What there is to know of each of these threads."""

    def count_threads(self) -> int:
        """All threads that hold a checkpoint."""


@runtime_checkable
class SupportsWaitingHorizon(Protocol):
    """A thread index that can list waiting threads by their age."""

    def declared_page(self, now: datetime, after: Cursor | None, limit: int) -> Page:
        """Threads whose declared waiting retention, counted from their start, is over."""

    def head_page(
        self, cutoff: datetime, ceiling: datetime, after: Cursor | None, limit: int
    ) -> Page:
        """Threads whose head is older than the cutoff, or not below what the ceiling allows.

        An id that is no date sorts above the ceiling more often than not.
        """


@runtime_checkable
class SupportsPendingInterrupts(Protocol):
    """A thread index that can tell parked threads."""

    def pending_interrupts(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an interrupt on the head of any of their namespaces."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on one batch, proved by a fresh token, until an instant."""

    run: Run
    batch: Batch
    token: str
    until: datetime


class ThreadDeleter(Protocol):
    """Deletes threads, whole, and records what became of them in the same transaction."""

    def settle(
        self,
        claim: Claim,
        indexes: Sequence[int],
        judge: Judge,
        spared: Mapping[str, str],
    ) -> None:
        """Lock, look again, delete, and record the outcome of each of these candidates.

        ``spared`` names for a thread the owner of the filter that claims it. The outcomes are
        added to ``claim.batch`` once they are stored.

        Raises:
            ClaimLostError: The claim ran out or was taken over; nothing was deleted.
            StoreUnavailableError: Another try may work; nothing was deleted.
            StoreError: One of the threads cannot be deleted; nothing was deleted.
        """

    def remnants(self, heads: Mapping[str, str], *, whole: bool) -> set[str]:
        """Of these deleted threads, those whose id holds rows (again).

        Looks from each thread's recorded head on, or with ``whole`` at all it may hold.
        """

    def remove_dead(self, thread_id: str, head: str, orphans_before: datetime) -> DeadRows:
        """Delete what the id still holds of the thread deleted at ``head``; say what it was.

        A thread in use or held is left alone.
        """


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """A batch to be recorded."""

    kind: BatchKind
    candidates: Sequence[Candidate] = ()
    source: Source | None = None


class RunLog(Protocol):
    """The record of runs, kept in the store itself."""

    @property
    def deliveries(self) -> DeliveryLog:
        """Which batches owe hooks a delivery."""

    @property
    def pauses(self) -> PauseLog:
        """Whether sweeps are paused."""

    def open(self, run: Run, token: str) -> bool:
        """Record a run; False where another one is live (or this one was opened before)."""

    def live(self) -> Run | None:
        """The run that is not closed, if any."""

    def get(self, run_id: str) -> Run | None:
        """One run."""

    def history(self, limit: int, after: Run | None = None) -> list[Run]:
        """The newest runs, newest first; or those that come ``after`` one in that order."""

    def take_plan(self, run_id: str, token: str, now: datetime, until: datetime) -> bool:
        """Take over a plan that stopped, dropping what it recorded; False if it did not stop."""

    def add_batches(
        self, run_id: str, token: str, first: int, plans: Sequence[BatchPlan], until: datetime
    ) -> None:
        """Record batches of a plan and renew the run. Raises ClaimLostError if not ours."""

    def note_due(
        self, run_id: str, token: str, due: Mapping[Horizon, int], until: datetime
    ) -> None:
        """Keep what a whole plan found, and renew the run. Raises ClaimLostError if not ours."""

    def end_plan(self, run_id: str, token: str, until: datetime) -> None:
        """Let the batches be claimed. Raises ClaimLostError if the plan is not ours."""

    def late_sources(self, before: datetime, limit: int) -> list[Source]:
        """Batches with deleted threads not looked at again yet, or not since they aged.

        Those never looked at, and those looked at once and done before ``before``.
        """

    def claim(
        self, run_id: str, number: int, token: str, now: datetime, until: datetime
    ) -> Claim | None:
        """Take a batch that is open and not claimed; renews the run. None if there is none."""

    def batch(self, run_id: str, number: int) -> Batch | None:
        """One batch."""

    def record(self, claim: Claim, outcomes: Mapping[int, ThreadOutcome]) -> None:
        """Record outcomes that need no delete. Raises ClaimLostError if the claim is not ours."""

    def release(self, run_id: str, number: int, token: str) -> None:
        """Give the claim of a batch back that was made with this token, if it was.

        The batch can be tried again at once.
        """

    def finish_batch(self, claim: Claim, now: datetime, *, owes: bool = False) -> None:
        """Close a batch; with ``owes``, one that deleted threads owes hooks a delivery.

        Raises:
            ClaimLostError: The claim is not ours.
        """

    def open_batches(self, run_id: str, now: datetime, *, unclaimed: bool) -> list[int]:
        """Numbers of open batches whose claim ran out; with ``unclaimed`` the never claimed too."""

    def count_open(self, run_id: str) -> int:
        """Batches that are not done."""

    def count_batches(self, run_id: str) -> int:
        """All batches of a run."""

    def stop(self, run_id: str, outcome: RunOutcome, reason: str, now: datetime) -> bool:
        """Let a live run start no further batch; the first outcome and reason given stay.

        Batches that nobody works on now are done with it. False if the run is not live.
        """

    def close(self, run_id: str, now: datetime) -> Run | None:
        """Close a run that has no open batch, totalling it. None if it is not for us to close."""

    def renew(self, run_id: str, until: datetime) -> None:
        """Renew a live run."""

    def batches(self, run_id: str) -> Iterator[Batch]:
        """All batches of a run, read page by page."""

    def progress(self, run_id: str) -> Counts:
        """What the batches of a run have counted so far."""

    def totals(self) -> Mapping[str, int]:
        """Counters over all runs that ever ended, by the names ``Counts`` gives them."""

    def latest(self) -> Latest:
        """What is known of the latest runs, whether their records are still there or not."""

    def count_unopened(self, outcome: RunOutcome) -> None:
        """Add to the totals a run that ended before it could be opened."""

    def unpublished(self, limit: int) -> list[Run]:
        """Closed runs whose result was not handed out yet."""

    def mark_published(self, run_id: str, now: datetime) -> None:
        """Note that the result of a run was handed out."""

    def forget(self, before: datetime, limit: int) -> int:
        """Drop records of runs closed before an instant; totals stay. Returns how many."""


@runtime_checkable
class SupportsMendingRuns(Protocol):
    """A run log whose records somebody may break by hand, and that can be got past."""

    def mend(self, run_id: str, policy: RetentionPolicy, reason: str, now: datetime) -> bool:
        """Write a record anew that cannot be read, as that of a failed run; False if none is there.

        A live run starts no further batch and is to be closed; what it deleted is counted. What
        only the broken record knew, such as when it began, is lost.
        """


class CheckpointStore(Protocol):
    """A whole store, open."""

    provider: str
    #: Why the waiting horizon is not swept here, or None where it is.
    waiting_skipped: str | None
    #: What shows that another program runs this store and lets its threads go, or None.
    managed: str | None

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The LangGraph saver."""

    @property
    def ledger(self) -> Ledger:
        """Marks and declared retentions."""

    @property
    def threads(self) -> ThreadIndex:
        """Reads threads."""

    @property
    def deleter(self) -> ThreadDeleter:
        """Deletes threads."""

    @property
    def runs(self) -> RunLog:
        """The run log."""
