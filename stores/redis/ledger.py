"""The ledger on Redis: what owners and operators say of a thread is kept in the thread's meta.

So it lives as long as the thread, and what deletes one deletes the other. A thread that is started
before it holds anything is kept for its waiting retention.
"""

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime

from retention.abilities import HoldsPage, Redated, Refusal, ThreadState
from retention.errors import StoreUnavailableError, ThreadEndedError
from retention.policy import RetentionPolicy, ThreadRetention
from retention.threads import Ended, Hold, LedgerEntry
from stores.options import StoreOptions
from stores.redis.buckets import chosen_of, in_rounds, on_threads, parts
from stores.redis.connection import Connection
from stores.redis.facts import read_facts
from stores.redis.formats import record_format
from stores.redis.layout import BUCKETS, bucket, bucket_of, micros, raw
from stores.redis.listings import listing
from stores.redis.requests import Arg, Call, Steps, one
from stores.redis.scripts import Script, thread_script
from stores.thread_ids import named

#: How often a thread is judged that changes each time before it is ended.
_LOOKS = 3


class RedisLedger:
    """The ledger of a Redis store. Its words are taken where the server's memory is full, too."""

    def __init__(
        self, connection: Connection, options: StoreOptions, *, keeps_format: bool = False
    ) -> None:
        """Declare the retention of ``options`` where ``start`` is given none.

        ``keeps_format`` is for a store whose format was checked: ``start`` records it anew where
        the server lost its data since.

        Raises:
            ThreadRetentionError: That retention is above the platform's.
        """
        if options.retention is not None:
            options.policy.accept(options.retention)
        self._connection = connection
        self._keeps_format = keeps_format
        self._policy = options.policy
        self._clock = options.clock
        self._default = options.retention

    def start(self, thread_ids: Collection[str], retention: ThreadRetention | None = None) -> None:
        """Take threads out of the finished set; counts as activity; records the declaration.

        Without ``retention`` the saver's own is declared; without that, an earlier one is
        cleared.

        Raises:
            ThreadRetentionError: A declared value is above the platform's.
            ThreadEndedError: An operator ended one of the threads; others may be started by then.
            StoreUnavailableError: The store cannot be reached.
        """
        declared = retention or self._default
        if declared is not None:
            self._policy.accept(declared)
        args = (micros(self._clock()), *_minutes(declared), _milliseconds(self._policy))
        steps = on_threads(thread_script("ledger_start"), named(thread_ids), *args)
        answered = self._connection.run(steps)
        if self._keeps_format and any(reply[-1] == 0 for _, reply in answered):
            self._connection.run(record_format(self._clock()))
        for ids, (position, *_) in answered:
            if position < 0:
                raise self._ended_error(ids[-position - 1])

    async def astart(
        self, thread_ids: Collection[str], retention: ThreadRetention | None = None
    ) -> None:
        """Async twin of ``start``."""
        await asyncio.to_thread(self.start, thread_ids, retention)

    def mark_finished(self, thread_ids: Collection[str], owner: str | None = None) -> None:
        """Mark threads finished; each becomes due its finished retention from now.

        A mark on a thread that holds nothing is dropped.

        Raises:
            StoreUnavailableError: The store cannot be reached.
        """
        now, policy = micros(self._clock()), self._policy
        limits = (policy.waiting_minutes, policy.finished_minutes)
        self._each("ledger_mark", named(thread_ids), now, *limits, *_optional(owner))

    async def amark_finished(self, thread_ids: Collection[str], owner: str | None = None) -> None:
        """Async twin of ``mark_finished``."""
        await asyncio.to_thread(self.mark_finished, thread_ids, owner)

    def keep_marks(self, thread_ids: Collection[str], due_at: datetime) -> set[str]:
        """Put the marks of threads back that a delete could not take whole, due as of an instant.

        What an owner or operator said of a thread since it was deleted stays.

        Returns:
            The ids that are marked again.

        Raises:
            StoreUnavailableError: The store cannot be reached.
        """
        return self._each("ledger_keep", thread_ids, micros(due_at), micros(due_at))

    def hold(self, thread_ids: Collection[str], hold: Hold) -> set[str]:
        """Exempt threads, at an operator's word; an earlier hold on one is replaced.

        A hold outlives each start and mark; the thread lives until its end at least. A thread
        that holds nothing, not even an entry here, is not held.

        Returns:
            The ids that are held now.

        Raises:
            ConfigurationError: The hold has no reason, or an end that is past or in no time zone.
            StoreUnavailableError: The store cannot be reached.
        """
        placed = hold.placed(self._clock())
        until = "" if placed.until is None else micros(placed.until)
        at = "" if placed.at is None else micros(placed.at)
        word = (raw(placed.reason), until, at, *_optional(placed.by))
        self.entries(thread_ids)  # a hold on what cannot be read could not be told
        return self._each("ledger_hold", thread_ids, *self._retentions(), *word)

    async def ahold(self, thread_ids: Collection[str], hold: Hold) -> set[str]:
        """Async twin of ``hold``."""
        return await asyncio.to_thread(self.hold, thread_ids, hold)

    def release(self, thread_ids: Collection[str]) -> set[str]:
        """Take holds off, lapsed ones too; an entry that says nothing else goes with its hold.

        The thread then lives for its waiting retention from now: its last activity is not known.

        Returns:
            The ids whose hold was taken off.

        Raises:
            StoreUnavailableError: The store cannot be reached.
        """
        # Read first: where the answer of a release is lost, the one sent again finds no hold.
        entries = self.entries(thread_ids)
        held = {thread_id for thread_id, entry in entries.items() if entry.hold is not None}
        return held | self._each("ledger_release", thread_ids, *self._retentions())

    async def arelease(self, thread_ids: Collection[str]) -> set[str]:
        """Async twin of ``release``."""
        return await asyncio.to_thread(self.release, thread_ids)

    def holds_page(self, after: str | None, limit: int) -> HoldsPage:
        """Threads with a hold, lapsed ones too, bucket by bucket, in each by the hold's end.

        A page may be shorter than the limit though others follow.

        Raises:
            ConfigurationError: The cursor is none of such a listing.
        """
        script = thread_script("holds_page", "row", "order")
        found, cursor = self._connection.run(listing(script, after, limit, "holds"))
        entries = (item.facts.entry for item in found)
        faults = {f.thread_id: f.fault for f, _ in found if f.fault is not None}
        # The index may name threads that expired with their holds.
        return HoldsPage([entry for entry in entries if entry and entry.hold], cursor, faults)

    def end(self, thread_id: str, ended: Ended, refusal: Refusal) -> str | None:
        """Mark a thread finished for good, unless its state forbids that; it is compared again.

        Returns:
            Why it was not ended; None where it was.

        Raises:
            StoreUnavailableError: The store cannot be reached, or the thread changes all the time.
        """
        return self._connection.run(self._end(thread_id, ended, refusal))

    def redate(self, marks: Sequence[Redated]) -> int:
        """Give these marks their due times; says how many were moved.

        A thread that was marked anew since is left alone.

        Raises:
            StoreUnavailableError: The store cannot be reached.
        """
        by_id = {mark.thread_id: mark for mark in marks}
        script, calls = thread_script("ledger_redate"), list[Call]()
        for start, ids in parts(by_id):
            args: list[Arg] = []
            for mark in map(by_id.__getitem__, ids):
                args += raw(mark.thread_id), micros(mark.marked_at), micros(mark.due_at)
            calls.append(Call(script, start, args))
        return sum(self._connection.run(in_rounds(calls)))

    def entries(self, thread_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """What the ledger keeps of these threads; unknown ones are left out.

        Raises:
            StoreError: One cannot be read; the message names the thread and its key.
        """
        known = self._connection.run(read_facts(_texts(thread_ids)))
        found = {thread_id: facts.checked().entry for thread_id, facts in known.items()}
        return {thread_id: entry for thread_id, entry in found.items() if entry is not None}

    def drop_bare(self, before: datetime, limit: int) -> int:
        """Drop what the indexes still name of threads that expired; returns how many.

        An entry goes with its thread, at an instant of the server: ``before`` decides nothing
        here. At most ``limit`` are dropped, shared out over the buckets.
        """
        return self._connection.run(_drop_expired(limit))

    def _end(self, thread_id: str, ended: Ended, refusal: Refusal) -> Steps[str | None]:
        for _ in range(_LOOKS):
            facts = (yield from read_facts([thread_id]))[thread_id].checked()
            asked = yield from on_threads(thread_script("parked", "order"), [thread_id])
            failed = yield from on_threads(thread_script("failed", "order", "places"), [thread_id])
            state = ThreadState(facts, False, bool(chosen_of(asked)), bool(chosen_of(failed)))
            why = refusal(state)
            if why is not None:
                return why
            declared = facts.entry.declared if facts.entry else None
            due_at = ended.at + self._policy.for_thread(declared).finished
            word = (micros(ended.at), micros(due_at), raw(ended.by), raw(ended.reason))
            args = (raw(thread_id), raw(facts.revision or ""), *word)
            if (yield from one(thread_script("ledger_end"), bucket_of(thread_id), *args)):
                return None
        raise StoreUnavailableError(f"Redis: thread {thread_id!r} changes all the time")

    def _ended_error(self, thread_id: str) -> ThreadEndedError:
        entry = self.entries([thread_id]).get(thread_id)
        ended = entry and entry.ended
        by, reason = (ended.by, ended.reason) if ended else ("?", "?")
        return ThreadEndedError(thread_id, by, reason)

    def _retentions(self) -> tuple[int, int]:
        own = self._policy.for_thread(self._default)
        return _milliseconds(self._policy), _milliseconds(own)

    def _each(self, name: str, thread_ids: Collection[str], *args: Arg) -> set[str]:
        """Run a script on these threads; those that it changed."""
        steps = on_threads(thread_script(name), _texts(thread_ids), *args)
        return chosen_of(self._connection.run(steps))


def _drop_expired(limit: int) -> Steps[int]:
    counting: Script = thread_script("expired_count")
    counts = yield from in_rounds([Call(counting, bucket(i)) for i in range(BUCKETS)])
    shares: list[Call] = []
    left = limit
    # Those with the fewest first: what they leave of their share is for the others.
    held = sorted((count, i) for i, count in enumerate(counts) if count)
    for done, (count, i) in enumerate(held):
        share = min(count, -(-left // (len(held) - done)))
        if share:
            shares.append(Call(thread_script("expired_drop"), bucket(i), (share,)))
        left -= share
    dropped = yield from in_rounds(shares)
    return sum(dropped)


def _minutes(declared: ThreadRetention | None) -> tuple[Arg, Arg]:
    """Both declared values, empty where not declared."""
    if declared is None:
        return "", ""
    return declared.waiting_minutes or "", declared.finished_minutes or ""


def _milliseconds(policy: RetentionPolicy) -> int:
    return policy.waiting_minutes * 60_000


def _optional(text: str | None) -> tuple[Arg, Arg]:
    """A text that may be missing, which is not the same as an empty one."""
    return (0, "") if text is None else (1, raw(text))


def _texts(thread_ids: Collection[str]) -> list[str]:
    """Thread ids as text, each once."""
    ids = [thread_ids] if isinstance(thread_ids, str) else thread_ids
    return list(dict.fromkeys(map(str, ids)))
