"""What is known of one thread, and the one function that says whether it may go."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Self

from retention.errors import ConfigurationError, StoreError
from retention.operator import Governing, OperatorPolicy, Scalar, governing, matching
from retention.policy import MAX_MINUTES, RetentionPolicy, ThreadRetention

#: Longer than any retention that a mark was made under.
_LONGEST = timedelta(minutes=MAX_MINUTES)


class Horizon(StrEnum):
    """The two horizons a thread can be past."""

    FINISHED = "finished"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Hold:
    """An operator's exemption of one thread: why, until when, who said so, and when."""

    reason: str
    until: datetime | None = None
    by: str | None = None
    at: datetime | None = None

    def placed(self, now: datetime) -> Self:
        """The hold as a ledger keeps it when it is placed now, unless ``at`` names another time.

        Raises:
            ConfigurationError: It has no reason, or an end that is past or in no time zone.
        """
        if not self.reason.strip():
            raise ConfigurationError("a hold needs a reason: none was given")
        if self.until is None:
            return replace(self, at=self.at or now)
        if self.until.tzinfo is None:
            raise ConfigurationError(f"a hold's end needs a time zone: {self.until.isoformat()}")
        if self.until <= now:
            raise ConfigurationError(
                f"a hold's end must lie ahead: {self.until.isoformat()} is past"
            )
        return replace(self, until=self.until.astimezone(UTC), at=self.at or now)

    def is_on(self, now: datetime) -> bool:
        """Whether the hold still stands; one without an end stands until released."""
        return self.until is None or now < self.until


class Ended(NamedTuple):
    """That an operator ended a thread: when, who and why. Nothing more can run on it."""

    at: datetime
    by: str
    reason: str


# A sweep makes these by the million: a named tuple is made in a third of a frozen dataclass's time.
class LedgerEntry(NamedTuple):
    """What the ledger keeps of one thread.

    A mark has two instants: when it was made, and when it becomes due.
    """

    thread_id: str
    started_at: datetime | None = None
    marked_at: datetime | None = None
    due_at: datetime | None = None
    declared: ThreadRetention | None = None
    owner: str | None = None
    hold: Hold | None = None
    ended: Ended | None = None


class ThreadFacts(NamedTuple):
    """What a store read of one thread, never decoding state.

    ``head`` is the newest checkpoint id over all namespaces, None where the thread holds no
    checkpoint; ``head_at`` its instant, None where that cannot be told. ``metadata`` are those
    values of the head's metadata that the store was opened to read: plain ones alone.

    ``fault`` is a line that says what of the thread could not be read, and where; there is no
    entry then.

    ``revision`` names the state of the thread that all this is true of, by a value that no other
    state of it has; None where the store keeps none.
    """

    thread_id: str
    head: str | None = None
    head_at: datetime | None = None
    entry: LedgerEntry | None = None
    metadata: Mapping[str, Scalar] | None = None
    fault: str | None = None
    revision: str | None = None

    def checked(self) -> Self:
        """These facts, for what needs all of them.

        Raises:
            StoreError: Some could not be read; the message is the fault.
        """
        if self.fault is not None:
            raise StoreError(self.fault)
        return self


class Verdict(StrEnum):
    """What the facts of a thread say about deleting it."""

    FINISHED = "finished"
    WAITING = "waiting"
    HELD = "held"
    LIVE = "live"
    UNDATABLE = "undatable"
    GONE = "gone"
    UNREADABLE = "unreadable"


#: Decides on facts; what a store is handed so that it can look again under its own lock.
Judge = Callable[[ThreadFacts], Verdict]


@dataclass(frozen=True, slots=True)
class Rule:
    """The policy at one instant: decides on each thread of a run.

    ``sweeps_waiting`` is off where the store lets waiting threads go by itself; ``policies`` are
    the operator's that hold there.
    """

    policy: RetentionPolicy
    now: datetime
    sweeps_waiting: bool = True
    policies: tuple[OperatorPolicy, ...] = ()

    def judge(self, facts: ThreadFacts) -> Verdict:
        """Say whether the thread may go, and by which horizon.

        A mark outlives an undatable head: its due time is no age. A thread that holds no
        checkpoint and is past a horizon is gone: only its ledger entry is left to clear. What
        cannot be read may say that the thread is held: nothing lets such a one go.
        """
        if facts.fault is not None:
            return Verdict.UNREADABLE
        horizon = self._horizon(facts)
        if horizon is None:
            return self._unswept(facts)
        if facts.entry is not None and facts.entry.hold and facts.entry.hold.is_on(self.now):
            return Verdict.HELD
        if facts.head is None:
            return Verdict.GONE
        return Verdict.FINISHED if horizon is Horizon.FINISHED else Verdict.WAITING

    def governing(self, facts: ThreadFacts) -> Governing:
        """The retention in force for the thread on each horizon, and whose it is.

        A mark was made under the values of its time: see ``due_at`` for when it is due.
        """
        declared = facts.entry.declared if facts.entry else None
        chosen = matching(self.policies, facts.thread_id, facts.metadata)
        return governing(self.policy, declared, chosen)

    def due_at(self, facts: ThreadFacts) -> datetime | None:
        """When the mark is due: a write after it counts the finished retention from the head.

        An operator's policy brings it forward, counted from the mark or the write after it.
        """
        recorded = self.recorded_due_at(facts)
        entry = facts.entry
        if recorded is None or not self.policies or entry is None or entry.marked_at is None:
            return recorded
        shortest = self.governing(facts).finished
        if shortest.policy is None:
            return recorded
        return min(recorded, max(entry.marked_at, facts.head_at or entry.marked_at) + shortest.span)

    def recorded_due_at(self, facts: ThreadFacts) -> datetime | None:
        """When the mark would be due if no operator's policy were in force."""
        entry = facts.entry
        if entry is None or entry.due_at is None:
            return None
        if entry.marked_at is None or facts.head_at is None or facts.head_at <= entry.marked_at:
            return entry.due_at
        return max(entry.due_at, facts.head_at + self.policy.for_thread(entry.declared).finished)

    def expires_at(self, facts: ThreadFacts) -> datetime | None:
        """When the waiting retention after the last activity is over; None if undatable."""
        entry = facts.entry
        started = entry.started_at if entry else None
        if facts.head is not None and facts.head_at is None:
            return None
        activity = facts.head_at or started
        if activity is None:
            return None
        if started is not None and started > activity:
            activity = started
        if self.policies:
            return activity + self.governing(facts).waiting.span
        return activity + self.policy.for_thread(entry.declared if entry else None).waiting

    def due_before(self) -> datetime:
        """No mark whose recorded due time is later can be due now.

        A policy may bring any mark forward, whatever the platform's value was when it was made.
        """
        shortens = any(p.finished_minutes or p.waiting_minutes for p in self.policies)
        return self.now + _LONGEST if shortens else self.now

    def old_before(self) -> datetime:
        """No thread whose head is younger can be past the platform's or a policy's horizon."""
        given = (p.waiting_minutes for p in self.policies if p.waiting_minutes is not None)
        return self.now - timedelta(minutes=min([self.policy.waiting_minutes, *given]))

    def _horizon(self, facts: ThreadFacts) -> Horizon | None:
        due_at = self.due_at(facts)
        if due_at is not None and due_at <= self.now:
            return Horizon.FINISHED
        expires_at = self.expires_at(facts) if self.sweeps_waiting else None
        if expires_at is not None and expires_at <= self.now:
            return Horizon.WAITING
        return None

    def _unswept(self, facts: ThreadFacts) -> Verdict:
        if facts.head is None and facts.entry is None:
            return Verdict.GONE
        if self.sweeps_waiting and facts.head is not None and facts.head_at is None:
            return Verdict.UNDATABLE
        return Verdict.LIVE
