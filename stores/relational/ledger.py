"""The ledger in SQL: marks, starts and declared retentions."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from retention.abilities import HoldsPage, Redated, Refusal, ThreadState
from retention.errors import ConfigurationError, StoreError, ThreadEndedError
from retention.policy import RetentionPolicy, ThreadRetention
from retention.ports import Clock
from retention.threads import Ended, Hold, LedgerEntry, ThreadFacts
from stores.cursors import cursor_of, read_cursor
from stores.relational.database import Database, Row, Transaction
from stores.relational.park_rows import ParkRows
from stores.relational.rows import ThreadRows
from stores.texts import parted, text_of
from stores.thread_ids import named

_LOCKS_A_TRANSACTION = 500

#: What a row raises in which somebody wrote what this project never does.
_UNREADABLE = (ConfigurationError, OverflowError, StoreError)


class RelationalLedger:
    """The ledger of a store that has SQL tables for it."""

    def __init__(
        self,
        db: Database,
        rows: ThreadRows,
        policy: RetentionPolicy,
        clock: Clock,
        default: ThreadRetention | None,
        parks: ParkRows | None = None,
    ) -> None:
        """Keep ``default``, the retention declared where ``start`` is given none.

        ``parks`` are what goes with an entry that is dropped for want of a thread.
        """
        if default is not None:
            policy.accept(default)
        self._db = db
        self._rows = rows
        self._policy = policy
        self._clock = clock
        self._default = default
        self._parks = parks
        self._sql = db.sql("stores.relational", "ledger.sql")

    def start(self, thread_ids: Collection[str], retention: ThreadRetention | None = None) -> None:
        """Take threads out of the finished set; counts as activity; records the declaration.

        Without ``retention`` the saver's own is declared; without that, an earlier one is
        cleared.

        Raises:
            ThreadRetentionError: A declared value is above the platform's.
            ThreadEndedError: An operator ended one of the threads; others may be started by then.
            StoreUnavailableError: The store cannot be reached, or a delete held the lock too long.
        """
        declared = retention or self._default
        if declared is not None:
            self._policy.accept(declared)
        params = self._start_params(declared, self._clock())
        for ids in _chunks(named(thread_ids)):
            with self._db.transaction() as tx:
                self._rows.lock_all(tx, ids)
                for ended in tx.rows(self._sql["ended"], ids=ids):
                    raise ThreadEndedError(*ended)
                tx.change_many(self._sql["start"], [{"thread_id": i, **params} for i in ids])

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
        now = self._clock()
        for ids in _chunks(named(thread_ids)):
            with self._db.transaction() as tx:
                self._rows.lock_all(tx, ids)
                holding = sorted(self._rows.holding(tx, ids))
                entries = self.entries_in(tx, holding)
                marks = [self._mark(i, entries.get(i), now, owner) for i in holding]
                tx.change_many(self._sql["mark"], marks)

    async def amark_finished(self, thread_ids: Collection[str], owner: str | None = None) -> None:
        """Async twin of ``mark_finished``."""
        await asyncio.to_thread(self.mark_finished, thread_ids, owner)

    def keep_marks(self, thread_ids: Collection[str], due_at: datetime) -> set[str]:
        """Put the marks of threads back that a delete could not take whole, due as of an instant.

        What an owner or operator said of a thread since it was deleted stays.

        Returns:
            The ids that are marked again.

        Raises:
            ConfigurationError: The role lacks the right to.
            StoreUnavailableError: The store cannot be reached, or a delete held the lock too long.
        """
        kept: set[str] = set()
        for ids in _chunks(thread_ids):
            with self._db.transaction() as tx:
                self._rows.lock_all(tx, ids)
                kept.update(
                    i for i in ids if tx.change(self._sql["keep_mark"], thread_id=i, at=due_at)
                )
        return kept

    def hold(self, thread_ids: Collection[str], hold: Hold) -> set[str]:
        """Exempt threads, at an operator's word; an earlier hold on one is replaced.

        A hold outlives each start and mark. A thread that holds nothing, not even an entry here,
        is not held.

        Returns:
            The ids that are held now.

        Raises:
            ConfigurationError: The hold has no reason, or an end that is past or in no time zone.
            StoreUnavailableError: The store cannot be reached, or a delete held the lock too long.
        """
        placed = hold.placed(self._clock())
        params = {"reason": placed.reason, "until": placed.until, "by": placed.by, "at": placed.at}
        held: set[str] = set()
        for ids in _chunks(thread_ids):
            with self._db.transaction() as tx:
                self._rows.lock_all(tx, ids)
                known = sorted(self._known_in(tx, ids))
                tx.change_many(self._sql["hold"], [{"thread_id": i, **params} for i in known])
            held.update(known)
        return held

    async def ahold(self, thread_ids: Collection[str], hold: Hold) -> set[str]:
        """Async twin of ``hold``."""
        return await asyncio.to_thread(self.hold, thread_ids, hold)

    def release(self, thread_ids: Collection[str]) -> set[str]:
        """Take holds off, lapsed ones too; an entry that says nothing else goes with its hold.

        Returns:
            The ids whose hold was taken off.

        Raises:
            StoreUnavailableError: The store cannot be reached, or a delete held the lock too long.
        """
        released: set[str] = set()
        for ids in _chunks(thread_ids):
            with self._db.transaction() as tx:
                self._rows.lock_all(tx, ids)
                entries = self.entries_in(tx, ids)
                held = sorted(i for i, entry in entries.items() if entry.hold is not None)
                if held:
                    tx.change(self._sql["release"], ids=held)
                    tx.change(self._sql["drop_released"], ids=held)
            released.update(held)
        return released

    async def arelease(self, thread_ids: Collection[str]) -> set[str]:
        """Async twin of ``release``."""
        return await asyncio.to_thread(self.release, thread_ids)

    def holds_page(self, after: str | None, limit: int) -> HoldsPage:
        """Threads with a hold, lapsed ones too, in the order of their ids.

        Raises:
            ConfigurationError: The cursor is none of such a listing.
        """
        name = "first_holds_page" if after is None else "holds_page"
        params = {"after": None if after is None else read_cursor(after, "holds"), "limit": limit}
        with self._db.reading() as tx:
            if not self._db.has_own_tables():
                return HoldsPage([], None)
            held = [row[0] for row in tx.rows(self._sql[name], **params)]
            ids, broken = parted(held)
            entries, faults = self.read_in(tx, ids)
        # Ids that are bytes come last: no cursor leads behind one.
        is_cut = len(held) == limit and isinstance(held[-1], str)
        cursor = cursor_of(held[-1]) if is_cut else None
        faults |= {
            i: f"retention_threads holds {i}, which is no id: delete that row" for i in broken
        }
        return HoldsPage([entries[i] for i in ids if i in entries], cursor, faults)

    def end(self, thread_id: str, ended: Ended, refusal: Refusal) -> str | None:
        """Mark a thread finished for good, unless its state, read under its lock, forbids that.

        Returns:
            Why it was not ended; None where it was.

        Raises:
            ConfigurationError: The role lacks the right to.
            StoreUnavailableError: The store cannot be reached.
        """
        with self._db.transaction() as tx:
            state = self._state_in(tx, thread_id)
            why = refusal(state)
            if why is None:
                mark = self._mark(thread_id, state.facts.entry, ended.at, None)
                word = {"by": ended.by, "reason": ended.reason, "at": ended.at}
                tx.change(self._sql["end"], thread_id=thread_id, due_at=mark["due_at"], **word)
            return why

    def redate(self, marks: Sequence[Redated]) -> int:
        """Give these marks their due times, in one transaction; says how many were moved.

        A thread that was marked anew since is left alone.

        Raises:
            ConfigurationError: The role lacks the right to.
            StoreUnavailableError: The store cannot be reached, or a delete held the lock too long.
        """
        with self._db.transaction() as tx:
            self._rows.lock_all(tx, sorted(mark.thread_id for mark in marks))
            return sum(tx.change(self._sql["redate"], **mark._asdict()) for mark in marks)

    def entries(self, thread_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """What the ledger keeps of these threads; unknown ones are left out."""
        found: dict[str, LedgerEntry] = {}
        for ids in _chunks(thread_ids):
            with self._db.reading() as tx:
                found.update(self.entries_in(tx, ids))
        return found

    def drop_bare(self, before: datetime, limit: int) -> int:
        """Drop entries of threads started before an instant that hold nothing; returns how many.

        Looks at the oldest ``limit`` entries: threads that are in use since long come first, and
        are few. One with an open ask stays. Asks and barriers that are long past go too.
        """
        with self._db.transaction() as tx:
            rows = tx.rows(self._sql["bare"], before=before, limit=limit)
            ids, _ = parted(row[0] for row in rows)
            bare = set(ids) - self._rows.holding(tx, ids)
            if self._parks is not None and bare:
                bare -= self._parks.open_asks(tx, sorted(bare), self._clock())
            params = {"ids": sorted(bare), "before": before}
            dropped = tx.change(self._sql["drop_bare"], **params) if bare else 0
            if self._parks is not None:
                self._parks.tidy(tx, sorted(bare), before, limit)
            return dropped

    def entries_in(self, tx: Transaction, thread_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """The same, within a transaction; nothing where the ledger was never made.

        Raises:
            StoreError: One cannot be read; the message names the thread.
        """
        entries, faults = self.read_in(tx, thread_ids)
        for fault in faults.values():
            raise StoreError(fault)
        return entries

    def read_in(
        self, tx: Transaction, thread_ids: Collection[str]
    ) -> tuple[dict[str, LedgerEntry], dict[str, str]]:
        """The entries that can be read, and for each other a line that names its thread."""
        if not thread_ids or not self._db.has_own_tables():
            return {}, {}
        try:
            return self._read_in(tx, list(thread_ids)), {}
        except _UNREADABLE:
            return self._read_each(tx, thread_ids)

    def remove_in(self, tx: Transaction, thread_ids: Collection[str]) -> None:
        """Drop the entries of deleted threads, within the transaction that deletes them."""
        if thread_ids:
            tx.change(self._sql["remove"], ids=list(thread_ids))

    def page_in(
        self,
        tx: Transaction,
        name: str,
        now: datetime,
        after: tuple[Any, str] | None,
        limit: int,
    ) -> list[tuple[Any, str]]:
        """Threads of a listing (``due_page`` or ``declared_page``), each behind its instant."""
        if not self._db.has_own_tables():
            return []
        after_at, after_id = after or (datetime.min.replace(tzinfo=now.tzinfo), "")
        rows = tx.rows(self._sql[name], now=now, after_at=after_at, after_id=after_id, limit=limit)
        # As the database has them: the next page is compared there, whatever they say.
        return [(at, thread_id) for thread_id, at in rows]

    def holds_rows_in(self, tx: Transaction, thread_id: str) -> bool:
        """Whether a thread holds a checkpoint or a write."""
        return bool(self._rows.remnants(tx, {thread_id: ""}, whole=True))

    def _read_in(self, tx: Transaction, ids: list[str]) -> dict[str, LedgerEntry]:
        return {row[0]: self._entry(row) for row in tx.rows(self._sql["entries"], ids=ids)}

    def _read_each(
        self, tx: Transaction, thread_ids: Collection[str]
    ) -> tuple[dict[str, LedgerEntry], dict[str, str]]:
        """As ``read_in``, one by one: somebody broke a row by hand, and few do."""
        entries: dict[str, LedgerEntry] = {}
        faults: dict[str, str] = {}
        for thread_id in thread_ids:
            try:
                entries |= self._read_in(tx, [thread_id])
            except _UNREADABLE as error:
                faults[thread_id] = (
                    f"what retention_threads says of thread {thread_id!r} cannot be read ({error}):"
                    " mend that row, or delete it, and the thread counts as never marked or held"
                )
        return entries, faults

    def _state_in(self, tx: Transaction, thread_id: str) -> ThreadState:
        """Where a thread stands; its lock is not waited for: who has it is at work."""
        ids = [thread_id]
        is_free = bool(self._rows.lock(tx, ids))
        head, head_at = self._rows.heads(tx, ids).get(thread_id, (None, None))
        facts = ThreadFacts(thread_id, head, head_at, self.entries_in(tx, ids).get(thread_id))
        asked, failed = self._rows.interrupted(tx, ids), self._rows.failed(tx, ids)
        return ThreadState(facts, not is_free, bool(asked), bool(failed))

    def _known_in(self, tx: Transaction, ids: Sequence[str]) -> set[str]:
        """Of these threads, those with a checkpoint, a write or an entry."""
        holding = self._rows.remnants(tx, dict.fromkeys(ids, ""), whole=True)
        return {*holding, *self.entries_in(tx, ids)}

    def _start_params(self, declared: ThreadRetention | None, now: datetime) -> dict[str, Any]:
        until = now + self._policy.for_thread(declared).waiting if declared else None
        return {
            "now": now,
            "waiting": declared.waiting_minutes if declared else None,
            "finished": declared.finished_minutes if declared else None,
            "until": until,
        }

    def _mark(
        self, thread_id: str, entry: LedgerEntry | None, now: datetime, owner: str | None
    ) -> dict[str, Any]:
        finished = self._policy.for_thread(entry.declared if entry else None).finished
        return {"thread_id": thread_id, "now": now, "due_at": now + finished, "owner": owner}

    def _entry(self, row: Row) -> LedgerEntry:
        thread_id, started, marked, due, waiting, finished, owner, *said = row
        instant = self._db.instant
        declared = None
        if waiting is not None or finished is not None:
            declared = ThreadRetention(waiting, finished)
        reason, until, by, at, *end = said
        hold = None
        if reason is not None:
            hold = Hold(text_of(reason) or "", instant(until), text_of(by), instant(at))
        ended_at, ended_by, why = instant(end[0]), *map(text_of, end[1:])
        ended = None if ended_at is None else Ended(ended_at, ended_by or "", why or "")
        dates = (instant(started), instant(marked), instant(due))
        return LedgerEntry(thread_id, *dates, declared, text_of(owner), hold, ended)


def _chunks(thread_ids: Collection[str]) -> Iterator[list[str]]:
    """Thread ids as text, each once, in the order in which all callers lock them.

    So many at a time as one transaction may lock: a server's table of locks is small.
    """
    ids = [thread_ids] if isinstance(thread_ids, str) else thread_ids
    ordered = sorted({str(thread_id) for thread_id in ids})
    for first in range(0, len(ordered), _LOCKS_A_TRANSACTION):
        yield ordered[first : first + _LOCKS_A_TRANSACTION]
