"""The record of a sweep: a run, its batches, and what became of each thread."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from retention.policy import RetentionPolicy
from retention.threads import Horizon


class RunState(StrEnum):
    """Where a live run stands. ``stopping`` starts no further batch."""

    PLANNING = "planning"
    SWEEPING = "sweeping"
    STOPPING = "stopping"
    CLOSED = "closed"


class RunOutcome(StrEnum):
    """How a sweep ended."""

    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    BUDGET_EXHAUSTED = "budget_exhausted"
    SKIPPED_LOCKED = "skipped_locked"
    REFUSED = "refused"


class BatchKind(StrEnum):
    """What a batch does: delete candidates, or look for late writes of deleted threads.

    One of an ``erase`` is no run's: it is kept until hooks were told of the erased thread.
    """

    SWEEP = "sweep"
    LATE = "late"
    ERASE = "erase"


class Outcome(StrEnum):
    """What became of one thread of a batch.

    ``gone`` held nothing any more; ``cleaned`` is a deleted one whose late writes were removed.
    """

    DELETED = "deleted"
    SPARED = "spared"
    FAILED = "failed"
    HELD = "held"
    RESTARTED = "restarted"
    BUSY = "busy"
    UNDATABLE = "undatable"
    GONE = "gone"
    CANCELLED = "cancelled"
    CLEANED = "cleaned"


# Named tuples, as made by the million: see the facts of a thread.
class Candidate(NamedTuple):
    """A thread of a plan. ``head`` is the newest checkpoint id then known, if any.

    ``revision`` is given where the plan's facts alone let the thread go: as long as it is of that
    revision, they still do.
    """

    thread_id: str
    horizon: Horizon
    head: str | None = None
    revision: str | None = None


class ThreadOutcome(NamedTuple):
    """What became of a candidate; ``detail`` is the filter's owner, or the error.

    ``head`` is the head at the delete: what later tells late writes from a new thread.
    """

    outcome: Outcome
    detail: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The earlier batch whose deleted threads a ``late`` batch looks at again."""

    run_id: str
    number: int


@dataclass(slots=True)
class Batch:
    """The threads that one task handles, and what is known of each so far.

    The candidates of a ``late`` batch are the threads its source deleted.
    """

    run_id: str
    number: int
    candidates: Sequence[Candidate]
    kind: BatchKind = BatchKind.SWEEP
    source: Source | None = None
    outcomes: dict[int, ThreadOutcome] = field(default_factory=dict)
    attempts: int = 0
    claimed_until: datetime | None = None
    done_at: datetime | None = None

    def open_indexes(self) -> list[int]:
        """Positions of the candidates without an outcome."""
        return [i for i in range(len(self.candidates)) if i not in self.outcomes]

    def deleted(self) -> list[Candidate]:
        """Threads this batch deleted, as candidates of a look for late writes."""
        return [
            Candidate(self.candidates[i].thread_id, self.candidates[i].horizon, o.head)
            for i, o in sorted(self.outcomes.items())
            if o.outcome is Outcome.DELETED and o.head is not None
        ]

    def deleted_heads(self) -> dict[str, str]:
        """The threads this batch deleted, each with its head at the delete."""
        return {
            self.candidates[i].thread_id: o.head
            for i, o in self.outcomes.items()
            if o.outcome is Outcome.DELETED and o.head is not None
        }

    def counts(self) -> "Counts":
        """The batch's outcomes, counted."""
        return Counts.of((self.candidates[i], o) for i, o in self.outcomes.items())


@dataclass(frozen=True, slots=True)
class Counts:
    """Exact counts of outcomes, by outcome, horizon and, for spared threads, owner."""

    values: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, outcomes: "Iterator[tuple[Candidate, ThreadOutcome]]") -> "Counts":
        """Count the outcomes of candidates."""
        spared = Outcome.SPARED
        counter = Counter(
            (t.outcome, c.horizon, t.detail if t.outcome is spared else None) for c, t in outcomes
        )
        return cls({_name(*kind): number for kind, number in counter.items()})

    def __add__(self, other: "Counts") -> "Counts":
        """The counts of both."""
        return Counts(dict(Counter(self.values) + Counter(other.values)))

    def total(self, outcome: Outcome, horizon: Horizon | None = None) -> int:
        """Threads with an outcome, over all horizons or past one."""
        prefix = f"{outcome}:" if horizon is None else f"{outcome}:{horizon}"
        return sum(
            n
            for key, n in self.values.items()
            if key == prefix or key.startswith(prefix if horizon is None else f"{prefix}:")
        )

    def everything(self) -> int:
        """All threads with an outcome."""
        return sum(self.values.values())


def _name(outcome: Outcome, horizon: Horizon, owner: str | None) -> str:
    name = f"{outcome}:{horizon}"
    return f"{name}:{owner}" if outcome is Outcome.SPARED else name


@dataclass(frozen=True, slots=True)
class Run:
    """The record of one sweep.

    ``started_at`` is the instant every horizon of the run is measured from; ``reason`` says why
    it stopped early, in one line.
    """

    run_id: str
    policy: RetentionPolicy
    started_at: datetime
    lease_until: datetime
    state: RunState = RunState.PLANNING
    outcome: RunOutcome | None = None
    reason: str | None = None
    allow_over_limit: bool = False
    planned: int = 0
    counts: Counts = field(default_factory=Counts)
    closed_at: datetime | None = None
    published_at: datetime | None = None

    def is_stale(self, now: datetime) -> bool:
        """Whether nobody renewed the run for as long as its lease ran."""
        return self.closed_at is None and self.lease_until < now


@dataclass(frozen=True, slots=True)
class Latest:
    """What is known of the latest runs, kept apart from their records, which go in time.

    ``run_at`` and ``duration`` are those of the run closed last, ``success_at`` is when one was
    last closed as completed, and ``due`` what the last whole plan found past each horizon.
    """

    run_at: datetime | None = None
    success_at: datetime | None = None
    duration: timedelta | None = None
    due: Mapping[Horizon, int] = field(default_factory=dict)
