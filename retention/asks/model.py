"""What a parked run waits for: one ask, or a barrier over several."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class AskState(StrEnum):
    """Where an ask or a barrier stands; from ``open`` it goes to one of the others and stays.

    A barrier is ``answered`` once none of its asks is open any more.
    """

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    RELEASED = "released"


class Outcome(StrEnum):
    """What came of an answer. Only the first in time is taken."""

    ANSWERED = "answered"
    ANSWERED_BEFORE = "answered_before"
    EXPIRED = "expired"
    RELEASED = "released"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Ask:
    """One question that a thread waits for, until its deadline."""

    thread_id: str
    ask_id: str
    deadline: datetime
    opened_at: datetime
    state: AskState = AskState.OPEN
    settled_at: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Whether an answer would still be taken; from its deadline on none is."""
        return self.state is AskState.OPEN and now < self.deadline


@dataclass(frozen=True, slots=True)
class Barrier:
    """Several asks that a thread waits for together, until a deadline of the barrier's own."""

    thread_id: str
    barrier_id: str
    ask_ids: tuple[str, ...]
    deadline: datetime
    opened_at: datetime
    state: AskState = AskState.OPEN
    settled_at: datetime | None = None

    @property
    def is_complete(self) -> bool:
        """Whether none of its asks is open any more: the run may go on."""
        return self.state is AskState.ANSWERED


@dataclass(frozen=True, slots=True)
class Settled:
    """What a call settled: asks, and the barriers that settled with them or by themselves."""

    asks: tuple[Ask, ...] = ()
    barriers: tuple[Barrier, ...] = ()

    def __add__(self, other: "Settled") -> "Settled":
        """What both settled."""
        return Settled(self.asks + other.asks, self.barriers + other.barriers)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of an answer.

    ``ask`` is as it stands now, None where it is unknown. ``barriers`` are those that settled with
    it: each is told to one caller alone, who may let the run go on.
    """

    outcome: Outcome
    ask: Ask | None = None
    barriers: tuple[Barrier, ...] = ()
