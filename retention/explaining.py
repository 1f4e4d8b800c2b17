"""Why a thread stays, or when it goes: what a sweep would decide, and a sentence that says it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from retention.abilities import SupportsExpiry
from retention.errors import LiveThreadFilterError
from retention.filters import LiveThreadFilter, ask
from retention.operator import Limit
from retention.policy import in_minutes
from retention.statuses import ThreadStatus, activity_of, hold_on, state_of, status_of
from retention.sweep.context import Sweep
from retention.threads import Hold, LedgerEntry, Rule, ThreadFacts, Verdict

#: What lets a thread go, at the latest at the next sweep.
_GOING = (Verdict.FINISHED, Verdict.WAITING, Verdict.GONE)
_SECOND = timedelta(seconds=1)
#: That a thread goes without a sweep, with its keys.
EXPIRES = "expires"


class Going(NamedTuple):
    """From when on a thread goes, and by what: a verdict, or ``EXPIRES``."""

    at: datetime
    by: str


class Answer(NamedTuple):
    """What a live-thread filter says of a thread; ``error`` where it failed."""

    owner: str
    claims: bool
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that decides on one thread.

    ``rule`` is that of a sweep at this instant. ``skipped`` is why no sweep deletes the store's
    waiting threads, ``keys_expire_at`` when this one goes by itself, each where that is so.
    """

    facts: ThreadFacts
    rule: Rule
    status: ThreadStatus
    going: Going | None
    answers: Sequence[Answer] = ()
    skipped: str | None = None
    keys_expire_at: datetime | None = None

    @property
    def hold(self) -> Hold | None:
        """The hold on the thread, as far as it stands."""
        return hold_on(self.facts, self.rule.now)

    @property
    def is_going(self) -> bool:
        """Whether the next sweep deletes the thread."""
        is_past = self.going is not None and self.going.at <= self.rule.now
        return is_past and not any(answer.claims or answer.error for answer in self.answers)

    @property
    def sentence(self) -> str:
        """The sentence that a person wants: goes at ..., or stays because ...."""
        if self.facts.fault is not None:
            return f"no sweep deletes it: {self.facts.fault}"
        if self.going is None:
            return f"stays: {self._why_it_stays()}"
        why = self._why(self.going)
        if self.going.at > self.rule.now:
            return f"goes from {self.going.at.isoformat()} on: {why}{self._provided()}"
        for answer in self.answers:
            if answer.error is not None:
                return f"stays for now: {why}, but {answer.error}: no sweep deletes anything then"
            if answer.claims:
                return f"stays for now: {why}, but the live-thread filter {answer.owner} claims it"
        return f"goes at the next sweep: {why}"

    def to_json(self) -> dict[str, Any]:
        """The same as JSON types."""
        facts, entry, now = self.facts, self._entry, self.rule.now
        governing = self.rule.governing(facts)
        return {
            "thread_id": facts.thread_id,
            "sentence": self.sentence,
            "goes": self.is_going,
            "goes_at": _iso(self.going and self.going.at),
            "horizon": None if self.going is None else str(self.going.by),
            "verdict": str(self.rule.judge(facts)),
            "status": str(self.status),
            "explained_at": now.isoformat(),
            "head": facts.head,
            "head_at": _iso(facts.head_at),
            "head_age_seconds": facts.head_at and round((now - facts.head_at).total_seconds(), 3),
            "started_at": _iso(entry.started_at),
            "marked_at": _iso(entry.marked_at),
            "due_at": _iso(self.rule.due_at(facts)),
            "expires_at": _iso(self.rule.expires_at(facts)),
            "keys_expire_at": _iso(self.keys_expire_at),
            "owner": entry.owner,
            "waiting": self._limit_json("waiting", governing.waiting),
            "finished": self._limit_json("finished", governing.finished),
            "filters": [answer._asdict() for answer in self.answers],
            "hold": entry.hold and hold_json(entry.hold, now),
            "ended": entry.ended and {**entry.ended._asdict(), "at": entry.ended.at.isoformat()},
        }

    @property
    def _entry(self) -> LedgerEntry:
        """What the ledger keeps of the thread: an empty entry where that is nothing."""
        return self.facts.entry or LedgerEntry(self.facts.thread_id)

    def _limit_json(self, horizon: str, limit: Limit) -> dict[str, Any]:
        return {
            "platform_minutes": getattr(self.rule.policy, f"{horizon}_minutes"),
            "declared_minutes": getattr(self._entry.declared, f"{horizon}_minutes", None),
            "minutes": limit.minutes,
            "source": str(limit),
        }

    def _why(self, going: Going) -> str:
        if going.by == EXPIRES:
            or_held = " or at the end of its hold" if self.hold is not None else ""
            return f"its keys expire then, the waiting retention after its last write{or_held}"
        if going.by == Verdict.GONE:
            return "it holds nothing but an entry in the ledger"
        if going.by == Verdict.WAITING:
            waiting = self.rule.governing(self.facts).waiting
            return (
                f"it was last active at {_iso(activity_of(self.facts))}, and its waiting "
                f"retention is {in_minutes(waiting.minutes)} ({waiting})"
            )
        return f"{self._marked()}, due {_iso(self.rule.due_at(self.facts))}"

    def _marked(self) -> str:
        entry = self._entry
        if entry.ended is not None:
            return f"{entry.ended.by!r} ended it ({entry.ended.reason!r})"
        by = "" if entry.owner is None else f" by {entry.owner!r}"
        return f"it was marked finished{by} at {_iso(entry.marked_at)}"

    def _why_it_stays(self) -> str:
        if self.hold is not None:
            return hold_words(self.hold)
        if self.facts.head is None and self.facts.entry is None:
            return "it holds writes without a checkpoint, and no sweep looks for those"
        if self.rule.judge(self.facts) is Verdict.UNDATABLE:
            return "the age of its head cannot be told, so no sweep deletes it for its age"
        return f"it is not marked finished, and {self.skipped or 'nothing else ends it'}"

    def _provided(self) -> str:
        """What is in the way until then, or may still be."""
        held = "" if self.hold is None else f"; {hold_words(self.hold)}"
        if self.going is not None and self.going.by == EXPIRES:
            return f"{held}; no filter is asked"
        owners = [answer.owner for answer in self.answers if answer.claims]
        if not owners:
            return held
        claim = "claims it now, and is" if len(owners) == 1 else "claim it now, and are"
        return f"{held}; {', '.join(owners)} {claim} asked again"


def explain(sweep: Sweep, thread_id: str) -> Explanation | None:
    """Explain one thread as a sweep at this instant would judge it; None where there is none.

    Raises:
        StoreUnavailableError: The store cannot be reached.
    """
    store, rule = sweep.store, sweep.rule(sweep.policy, sweep.clock())
    facts = store.threads.facts([thread_id])[thread_id]
    is_known = any(fact is not None for fact in (facts.head, facts.entry, facts.fault))
    if not is_known and not store.deleter.remnants({thread_id: ""}, whole=True):
        return None
    threads = store.threads
    left = threads.time_left(thread_id) if isinstance(threads, SupportsExpiry) else None
    keys_expire_at = None if left is None else _expiry(facts, rule, left)
    return Explanation(
        facts,
        rule,
        status_of(state_of(store, facts), rule.now),
        going_of(facts, rule, keys_expire_at),
        [_answer(live_filter, thread_id, sweep) for live_filter in sweep.filters],
        store.waiting_skipped,
        keys_expire_at,
    )


def _expiry(facts: ThreadFacts, rule: Rule, left: timedelta) -> datetime:
    """When keys with so much time left go, to the second; with a hold, not before its end."""
    # The time left was read later than the instant it is added to.
    at = (rule.now + left + _SECOND / 2).replace(microsecond=0)
    hold = hold_on(facts, rule.now)
    if hold is None or hold.until is None or at > hold.until + _SECOND:
        return at
    return hold.until


def going_of(facts: ThreadFacts, rule: Rule, keys_expire_at: datetime | None) -> Going | None:
    """From when on, by what is known now, the rule of a sweep lets a thread go; None if never.

    The rule itself is asked at each instant that could make a difference: it decides, not this.
    """
    going = next(_goings(facts, rule), None)
    if keys_expire_at is not None and (going is None or keys_expire_at < going.at):
        return Going(keys_expire_at, EXPIRES)
    return going


def _goings(facts: ThreadFacts, rule: Rule) -> Iterator[Going]:
    """The instants at which a sweep would delete the thread; none of one that is not known."""
    if facts.head is None and facts.entry is None:
        return
    hold = hold_on(facts, rule.now)
    expires_at = rule.expires_at(facts) if rule.sweeps_waiting else None
    released_at = None if hold is None else hold.until
    instants = (rule.now, rule.due_at(facts), expires_at, released_at)
    for at in sorted({at for at in instants if at is not None and at >= rule.now}):
        verdict = replace(rule, now=at).judge(facts)
        if verdict in _GOING:
            yield Going(at, verdict)


def hold_words(hold: Hold) -> str:
    """A hold for people: by whom, since when, until when and why."""
    by = "somebody" if hold.by is None else repr(hold.by)
    until = "until it is released" if hold.until is None else f"until {hold.until.isoformat()}"
    return f"held by {by} since {_iso(hold.at)} {until}: {hold.reason!r}"


def hold_json(hold: Hold, now: datetime) -> dict[str, Any]:
    """A hold as JSON types; ``on`` is false where it has lapsed."""
    return {
        "reason": hold.reason,
        "until": _iso(hold.until),
        "by": hold.by,
        "at": _iso(hold.at),
        "on": hold.is_on(now),
    }


def _answer(live_filter: LiveThreadFilter, thread_id: str, sweep: Sweep) -> Answer:
    try:
        claimed = ask([live_filter], [thread_id], sweep.options.filter_timeout)
    except LiveThreadFilterError as error:
        return Answer(live_filter.owner, claims=False, error=str(error))
    return Answer(live_filter.owner, claims=thread_id in claimed)


def _iso(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()
