"""The asks and barriers of one thread, and what may become of them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from retention.asks.model import Answer, Ask, AskState, Barrier, Outcome, Settled
from retention.errors import (
    ConfigurationError,
    ParkDeadlineError,
    ParkRefusedError,
    ThreadEndedError,
)
from retention.threads import Ended

_OUTCOMES = {
    AskState.ANSWERED: Outcome.ANSWERED_BEFORE,
    AskState.EXPIRED: Outcome.EXPIRED,
    AskState.RELEASED: Outcome.RELEASED,
}


@dataclass(slots=True)
class Book:
    """All asks and barriers of one thread, as a store reads them and writes them back.

    The store holds the thread's lock meanwhile, or writes only where nobody else wrote. ``waiting``
    is the thread's waiting retention; ``is_known`` says whether the thread holds anything;
    ``ended`` is set where an operator ended it.
    """

    thread_id: str
    asks: dict[str, Ask] = field(default_factory=dict)
    barriers: dict[str, Barrier] = field(default_factory=dict)
    waiting: timedelta = timedelta()
    is_known: bool = True
    ended: Ended | None = None
    #: The ids of what was opened or settled since the store read it.
    changed_asks: set[str] = field(default_factory=set)
    changed_barriers: set[str] = field(default_factory=set)

    def open_ask(self, ask_id: str, deadline: datetime | None, now: datetime) -> Ask:
        """Open an ask, or find it as it stands: opened before with the same deadline.

        Raises:
            ConfigurationError: The deadline is in no time zone.
            ParkDeadlineError: There is no deadline, or one that is past or too far ahead.
            ParkRefusedError: The thread holds nothing, or the id has another deadline.
        """
        found = self.asks.get(ask_id)
        if found is not None and deadline is not None:
            _check_zone(deadline)
            if found.deadline != deadline:
                raise self._taken("ask", ask_id, found.deadline)
            return found
        ask = Ask(self.thread_id, ask_id, self._allowed(deadline, now), now)
        self.asks[ask_id] = ask
        self.changed_asks.add(ask_id)
        return ask

    def open_barrier(
        self, barrier_id: str, ask_ids: Collection[str], deadline: datetime | None, now: datetime
    ) -> Barrier:
        """Open a barrier over asks of this thread, or find it as it stands.

        One whose asks are all settled is complete from the start.

        Raises:
            ConfigurationError: The deadline is in no time zone.
            ParkDeadlineError: There is no deadline, or one that is past or too far ahead.
            ParkRefusedError: The barrier has no asks or unknown ones, the thread holds nothing, or
                the id has another deadline or other asks.
        """
        wanted = tuple(sorted(set(ask_ids)))
        found = self.barriers.get(barrier_id)
        if found is not None and deadline is not None:
            _check_zone(deadline)
            if (found.deadline, found.ask_ids) != (deadline, wanted):
                raise self._taken("barrier", barrier_id, found.deadline, found.ask_ids)
            return found
        allowed = self._allowed(deadline, now)
        self._check_asks(barrier_id, wanted)
        self.barriers[barrier_id] = Barrier(self.thread_id, barrier_id, wanted, allowed, now)
        self.changed_barriers.add(barrier_id)
        self._complete(now)
        return self.barriers[barrier_id]

    def answer(self, ask_id: str, now: datetime) -> Answer:
        """Take the answer to an ask, once and before its deadline."""
        ask = self.asks.get(ask_id)
        if ask is None:
            return Answer(Outcome.UNKNOWN)
        if ask.state is not AskState.OPEN:
            return Answer(_OUTCOMES[ask.state], ask)
        state = AskState.ANSWERED if ask.is_open(now) else AskState.EXPIRED
        settled = self._settle([ask_id], (), state, now)
        return Answer(Outcome(state), settled.asks[0], settled.barriers)

    def expire(self, now: datetime) -> Settled:
        """Settle what is past its deadline, as expired."""
        asks = [i for i, a in self.asks.items() if a.state is AskState.OPEN and not a.is_open(now)]
        late = [i for i, b in self.barriers.items() if _is_open(b) and b.deadline <= now]
        return self._settle(asks, late, AskState.EXPIRED, now)

    def release(
        self,
        ask_ids: Collection[str] | None,
        barrier_ids: Collection[str] | None,
        now: datetime,
    ) -> Settled:
        """Settle what is open of these, or of all where neither is given, as released."""
        if ask_ids is None and barrier_ids is None:
            ask_ids, barrier_ids = self.asks, self.barriers
        asks = [i for i in ask_ids or () if i in self.asks and _is_open(self.asks[i])]
        barriers = [
            i for i in barrier_ids or () if i in self.barriers and _is_open(self.barriers[i])
        ]
        return self._settle(asks, barriers, AskState.RELEASED, now)

    def forget(self, before: datetime) -> None:
        """Drop what had its deadline before an instant, open or settled."""
        self.asks = {i: a for i, a in self.asks.items() if a.deadline >= before}
        self.barriers = {i: b for i, b in self.barriers.items() if b.deadline >= before}

    def next_deadline(self) -> datetime | None:
        """The first deadline of what is not settled; None where all is."""
        return min((p.deadline for p in self._parks() if _is_open(p)), default=None)

    def asks_until(self) -> datetime | None:
        """The instant up to which an ask is open; None where none is."""
        return max((a.deadline for a in self.asks.values() if _is_open(a)), default=None)

    def barriers_until(self) -> datetime | None:
        """The instant up to which a barrier is live: one of its asks is open; None if none is."""
        ends = [
            min(barrier.deadline, self.asks[i].deadline)
            for barrier in self.barriers.values()
            for i in barrier.ask_ids
            if _is_open(barrier) and i in self.asks and _is_open(self.asks[i])
        ]
        return max(ends, default=None)

    def opened_at(self) -> datetime | None:
        """When something was last opened; None where nothing was."""
        return max((p.opened_at for p in self._parks()), default=None)

    def _parks(self) -> Iterable[Ask | Barrier]:
        return [*self.asks.values(), *self.barriers.values()]

    def _settle(
        self, ask_ids: Iterable[str], barrier_ids: Iterable[str], state: AskState, now: datetime
    ) -> Settled:
        asks, barriers = list(ask_ids), list(barrier_ids)
        for i in asks:
            self.asks[i] = replace(self.asks[i], state=state, settled_at=now)
        for i in barriers:
            self.barriers[i] = replace(self.barriers[i], state=state, settled_at=now)
        self.changed_asks.update(asks)
        self.changed_barriers.update(barriers)
        barriers += self._complete(now)
        return Settled(tuple(self.asks[i] for i in asks), tuple(self.barriers[i] for i in barriers))

    def _complete(self, now: datetime) -> list[str]:
        """Settle the barriers that wait for nothing any more."""
        done = [
            i
            for i, barrier in self.barriers.items()
            if _is_open(barrier)
            and not any(a in self.asks and _is_open(self.asks[a]) for a in barrier.ask_ids)
        ]
        for i in done:
            answered = replace(self.barriers[i], state=AskState.ANSWERED, settled_at=now)
            # Its own deadline came first: whoever waited for it was let go then.
            late = replace(answered, state=AskState.EXPIRED)
            self.barriers[i] = answered if now < self.barriers[i].deadline else late
        self.changed_barriers.update(done)
        return done

    def _allowed(self, deadline: datetime | None, now: datetime) -> datetime:
        latest = now + self.waiting
        if deadline is None:
            raise ParkDeadlineError(self.thread_id, None, latest)
        _check_zone(deadline)
        if not now < deadline <= latest:
            raise ParkDeadlineError(self.thread_id, deadline, latest)
        if self.ended is not None:
            raise ThreadEndedError(self.thread_id, self.ended.by, self.ended.reason)
        if not self.is_known:
            raise ParkRefusedError(
                f"nothing is parked on thread {self.thread_id!r}: it holds nothing: "
                "its owner starts it first"
            )
        return deadline.astimezone(UTC)

    def _check_asks(self, barrier_id: str, ask_ids: Collection[str]) -> None:
        unknown = [i for i in ask_ids if i not in self.asks]
        if unknown or not ask_ids:
            what = f"ask {unknown[0]!r} is none of the thread's" if unknown else "it has no asks"
            raise ParkRefusedError(
                f"barrier {barrier_id!r} of thread {self.thread_id!r} is refused: {what}; "
                "its asks are opened first"
            )

    def _taken(
        self, kind: str, park_id: str, deadline: datetime, ask_ids: Collection[str] = ()
    ) -> ParkRefusedError:
        over = f" over {', '.join(map(repr, ask_ids))}" if ask_ids else ""
        return ParkRefusedError(
            f"{kind} {park_id!r} of thread {self.thread_id!r} was opened until "
            f"{deadline.isoformat()}{over}: another one needs another id"
        )


def _is_open(park: Ask | Barrier) -> bool:
    """Whether it is not settled; its deadline may be past all the same."""
    return park.state is AskState.OPEN


def _check_zone(deadline: datetime) -> None:
    if deadline.tzinfo is None:
        raise ConfigurationError(f"a park's deadline needs a time zone: {deadline.isoformat()}")
