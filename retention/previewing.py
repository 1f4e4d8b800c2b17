"""What would be due now under other retention values, and moving old marks to them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from retention.abilities import Redated, SupportsExpiry, SupportsRedating, SupportsSizes, cannot
from retention.errors import ConfigurationError
from retention.filters import UnaskedFilter, ask
from retention.policy import RetentionPolicy
from retention.ports import Cursor, Page, SupportsWaitingHorizon, ThreadIndex
from retention.runs import Candidate, Counts, Outcome
from retention.statuses import hold_on
from retention.sweep.context import Sweep
from retention.sweep.examine import examine_all
from retention.sweep.plan import candidates, in_batches
from retention.threads import Horizon, Rule, ThreadFacts, Verdict

#: After the due time of every mark.
_FAR = datetime(9999, 1, 1, tzinfo=UTC)
#: Marks that are moved in one transaction: as many threads as it may lock.
_MARKS_A_TRANSACTION = 500

#: Told how many threads were looked at.
Progress = Callable[[int], None]


def _no_progress(looked_at: int) -> None:
    """Tell nobody."""


@dataclass(slots=True)
class Preview:
    """What a sweep at this instant would delete under other values, and how much that is.

    ``threads`` and ``bytes`` are by horizon; of ``left_alone`` by outcome. There are no bytes
    where they cannot be told: ``bytes_unknown`` says why. ``not_asked`` says by owner why a filter
    could not be asked: what it would claim is counted all the same.
    """

    policy: RetentionPolicy
    as_if_redated: bool
    threads: dict[Horizon, int] = field(default_factory=lambda: dict.fromkeys(Horizon, 0))
    bytes: dict[Horizon, int] = field(default_factory=lambda: dict.fromkeys(Horizon, 0))
    left_alone: Counts = field(default_factory=Counts)
    bytes_unknown: str | None = None
    by_expiry: bool = False
    not_asked: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The same as JSON types."""
        known = self.bytes_unknown is None
        outcomes = (Outcome.SPARED, Outcome.HELD, Outcome.UNDATABLE)
        return {
            "waiting_minutes": self.policy.waiting_minutes,
            "finished_minutes": self.policy.finished_minutes,
            "as_if_redated": self.as_if_redated,
            **{f"{h}_count": self.threads[h] for h in Horizon},
            **{f"{h}_bytes": self.bytes[h] if known else None for h in Horizon},
            "bytes_unknown": self.bytes_unknown,
            "waiting_by_expiry": self.by_expiry,
            "filters_not_asked": self.not_asked,
            **{f"{outcome}_count": self.left_alone.total(outcome) for outcome in outcomes},
        }


def preview(
    sweep: Sweep,
    policy: RetentionPolicy,
    *,
    as_if_redated: bool = False,
    progress: Progress = _no_progress,
) -> Preview:
    """Count what would be due now if these values had been in force; changes nothing.

    Marks keep the due time they have, unless the count is to be as if they were moved. Where
    waiting threads go by themselves, those count whose last write is so long ago.

    Raises:
        LiveThreadFilterError: A filter failed.
        StoreUnavailableError: The store cannot be reached.
    """
    unasked = {f.owner: f.reason for f in sweep.filters if isinstance(f, UnaskedFilter)}
    found = Preview(policy, as_if_redated, not_asked=unasked)
    rule = sweep.rule(policy, sweep.clock())
    threads = _redated(sweep.store.threads, policy) if as_if_redated else sweep.store.threads
    looked_at = 0
    for batch in in_batches(candidates(threads, rule, sweep.options.batch_size), _size(sweep)):
        _add(found, sweep, rule, batch, threads)
        looked_at += len(batch)
        progress(looked_at)
    expiry = sweep.store.threads
    if not rule.sweeps_waiting and isinstance(expiry, SupportsExpiry):
        found.by_expiry = True
        for ids in in_batches(_expired(expiry, sweep, rule, found), _size(sweep)):
            _count(found, sweep, Horizon.WAITING, ids)
            looked_at += len(ids)
            progress(looked_at)
    return found


def redate(sweep: Sweep, policy: RetentionPolicy, progress: Progress = _no_progress) -> int:
    """Move the due time of every mark made so far to what it would be under these values.

    A page of marks at a time, each in a transaction of its own; says how many were moved.

    Raises:
        ConfigurationError: The store cannot, or the role may not.
        StoreUnavailableError: The store cannot be reached; what was moved stays moved.
    """
    ledger = sweep.store.ledger
    if not isinstance(ledger, SupportsRedating):
        raise cannot(sweep.store, "re-date marks")
    moved, begun = 0, sweep.clock()
    while True:
        in_pass = 0
        marks = _misdated(sweep.store.threads, policy, begun, _size(sweep))
        for some in in_batches(marks, _size(sweep)):
            in_pass += ledger.redate(some)
            progress(moved + in_pass)
        # A mark that was moved while the list was read may have hidden another.
        if not in_pass:
            return moved
        moved += in_pass


class _Redated:
    """A thread index in which every mark is due as if it had been made under other values."""

    def __init__(self, threads: ThreadIndex, policy: RetentionPolicy) -> None:
        self._threads = threads
        self._policy = policy
        self.count_threads = threads.count_threads

    def due_page(self, now: datetime, after: Cursor | None, limit: int) -> Page:
        """All marked threads: which of them are due is for the plan to tell."""
        return self._moved(self._threads.due_page(_FAR, after, limit))

    def facts(self, thread_ids: Sequence[str]) -> dict[str, ThreadFacts]:
        """What there is to know of each of these threads, its mark moved."""
        found = self._threads.facts(thread_ids)
        return {thread_id: _moved(facts, self._policy) for thread_id, facts in found.items()}

    def _moved(self, page: Page) -> Page:
        return Page([_moved(facts, self._policy) for facts in page.facts], page.cursor)


class _RedatedWaiting(_Redated):
    """The same of an index that can list waiting threads."""

    def __init__(self, threads: ThreadIndex, policy: RetentionPolicy) -> None:
        super().__init__(threads, policy)
        assert isinstance(threads, SupportsWaitingHorizon)
        self._waiting = threads

    def declared_page(self, now: datetime, after: Cursor | None, limit: int) -> Page:
        """Threads whose declared waiting retention, counted from their start, is over."""
        return self._moved(self._waiting.declared_page(now, after, limit))

    def head_page(
        self, cutoff: datetime, ceiling: datetime, after: Cursor | None, limit: int
    ) -> Page:
        """Threads whose head is older than the cutoff, or not below what the ceiling allows."""
        return self._moved(self._waiting.head_page(cutoff, ceiling, after, limit))


def _redated(threads: ThreadIndex, policy: RetentionPolicy) -> ThreadIndex:
    lists_waiting = isinstance(threads, SupportsWaitingHorizon)
    return (_RedatedWaiting if lists_waiting else _Redated)(threads, policy)


def _moved(facts: ThreadFacts, policy: RetentionPolicy) -> ThreadFacts:
    entry = facts.entry
    if entry is None or entry.marked_at is None:
        return facts
    due_at = entry.marked_at + policy.for_thread(entry.declared).finished
    return facts._replace(entry=entry._replace(due_at=due_at))


def _misdated(
    threads: ThreadIndex, policy: RetentionPolicy, begun: datetime, page_size: int
) -> Iterator[Redated]:
    after: Cursor | None = None
    while True:
        page = threads.due_page(_FAR, after, page_size)
        for facts in page.facts:
            entry, moved = facts.entry, _moved(facts, policy).entry
            # One marked since this began was marked under the values in force.
            if entry is None or entry.marked_at is None or entry.marked_at > begun:
                continue
            if moved is not None and moved.due_at is not None and moved.due_at != entry.due_at:
                yield Redated(facts.thread_id, entry.marked_at, moved.due_at)
        after = page.cursor
        if after is None:
            return


def _add(
    found: Preview, sweep: Sweep, rule: Rule, batch: Sequence[Candidate], threads: ThreadIndex
) -> None:
    """Examine a batch as a sweep would."""
    ids = [candidate.thread_id for candidate in batch]
    asked = [f for f in sweep.filters if f.owner not in found.not_asked]
    spared = ask(asked, ids, sweep.options.filter_timeout)
    outcomes = examine_all(batch, threads.facts(ids), rule.judge, spared)
    for horizon in Horizon:
        chosen = (batch[i] for i, o in outcomes.items() if o.outcome is Outcome.DELETED)
        _count(found, sweep, horizon, [c.thread_id for c in chosen if c.horizon is horizon])
    others = {i: o for i, o in outcomes.items() if o.outcome is not Outcome.DELETED}
    found.left_alone += Counts.of((batch[i], o) for i, o in others.items())


def _count(found: Preview, sweep: Sweep, horizon: Horizon, thread_ids: Sequence[str]) -> None:
    found.threads[horizon] += len(thread_ids)
    threads = sweep.store.threads
    if not thread_ids or found.bytes_unknown is not None:
        return
    if not isinstance(threads, SupportsSizes):
        found.bytes_unknown = str(cannot(sweep.store, "tell sizes"))
        return
    try:
        found.bytes[horizon] += sum(threads.sizes(thread_ids).values())
    except ConfigurationError as error:
        # A role that may sweep need not be one that may read what threads hold.
        found.bytes_unknown = str(error)


def _expired(threads: SupportsExpiry, sweep: Sweep, rule: Rule, found: Preview) -> Iterable[str]:
    """Threads whose keys would have expired by now had their last write been under the rule.

    The keys themselves do not tell: nobody knows under which retention they were written. Threads
    whose last write is not known are not given, but counted as undatable.
    """
    after: str | None = None
    while True:
        page = threads.expiring_page(after, _size(sweep))
        for facts, age in page.threads:
            if age is None or facts.fault is not None:
                found.left_alone += Counts({f"{Outcome.UNDATABLE}:{Horizon.WAITING}": 1})
            elif _would_have_expired(facts, age, rule):
                yield facts.thread_id
        after = page.cursor
        if after is None:
            return


def _would_have_expired(facts: ThreadFacts, age: timedelta, rule: Rule) -> bool:
    declared = facts.entry.declared if facts.entry else None
    is_counted = rule.judge(facts) is Verdict.FINISHED or hold_on(facts, rule.now)
    return not is_counted and age >= rule.policy.for_thread(declared).waiting


def _size(sweep: Sweep) -> int:
    return min(sweep.options.batch_size, _MARKS_A_TRANSACTION)
