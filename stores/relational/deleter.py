"""Deleting threads in SQL: lock, look again, delete and record, all in one transaction."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from retention.abilities import Erased
from retention.ids import instant_of
from retention.late_writes import DeadRows, dead_rows
from retention.ports import Claim, Clock
from retention.runs import Candidate, Outcome, ThreadOutcome
from retention.sweep.examine import examine_all
from retention.threads import Horizon, Judge, ThreadFacts, Verdict
from stores.relational.database import Database, Transaction
from stores.relational.ledger import RelationalLedger
from stores.relational.park_rows import ParkRows
from stores.relational.rows import ThreadRows
from stores.relational.runs import RelationalRunLog
from stores.relational.threads import RelationalThreads


class _Question(NamedTuple):
    """What decides on threads: the rule, what filters said, and since when the run goes on."""

    judge: Judge
    spared: Mapping[str, str]
    since: datetime


class _Settled(NamedTuple):
    """The threads settled last, and the number of that transaction if it had none beside it."""

    number: int | None
    thread_ids: frozenset[str]


class RelationalDeleter:
    """The deleter of a store whose ledger, run log and checkpoints share a transaction."""

    def __init__(
        self,
        db: Database,
        rows: ThreadRows,
        ledger: RelationalLedger,
        threads: RelationalThreads,
        runs: RelationalRunLog,
        clock: Clock,
        parks: ParkRows | None = None,
    ) -> None:
        """Work through the store's other parts; ``parks`` go with their thread."""
        self._db = db
        self._rows = rows
        self._ledger = ledger
        self._threads = threads
        self._runs = runs
        self._clock = clock
        self._sql = db.sql("stores.relational", "erase.sql")
        self._parks = parks
        self._last = _Settled(None, frozenset())

    def settle(
        self, claim: Claim, indexes: Sequence[int], judge: Judge, spared: Mapping[str, str]
    ) -> None:
        """Lock, look again, delete, and record the outcome of each of these candidates.

        The locks are a statement of their own: read in one with the facts, those would be older
        than the locks, and a thread restarted in between would be deleted.

        The commit need wait for no disk: deletes and outcomes are lost together or not at all, and
        a batch whose hooks are to be told waits at its end, for all of it.

        Raises:
            ClaimLostError: The claim was taken over; nothing was deleted.
            StoreUnavailableError: Another try may work; nothing was deleted.
            StoreError: One of the threads cannot be deleted; nothing was deleted.
        """
        candidates = {i: claim.batch.candidates[i] for i in indexes}
        with self._db.transaction(durable=self._waits()) as tx:
            self._runs.check_in(tx, claim)
            in_hand = self._rows.lock(tx, sorted({c.thread_id for c in candidates.values()}))
            number = self._rows.next_transaction(tx)
            self._met(number)
            ask = _Question(judge, spared, claim.run.started_at)
            outcomes = self._delete_as_planned(tx, candidates, set(in_hand), ask)
            rest = {i: c for i, c in candidates.items() if i not in outcomes}
            if rest:
                looked = self._look_and_delete(tx, rest, set(in_hand), ask)
                # In the order of the plan, in which a result names threads.
                outcomes = {i: looked.get(i) or outcomes[i] for i in indexes}
            self._runs.record_in(tx, claim, outcomes)
        self._last = _Settled(number, frozenset(c.thread_id for c in candidates.values()))
        claim.batch.outcomes.update(outcomes)

    def _waits(self) -> bool:
        """Whether the next transaction of a sweep is to wait for the disk."""
        return False

    def _met(self, number: int | None) -> None:
        """Take note of the number that a transaction of a sweep is about to get."""

    def holdings(self, thread_id: str) -> dict[str, int]:
        """How many rows each table holds of a thread; the run log apart."""
        with self._db.reading() as tx:
            held = self._rows.holdings(tx, thread_id)
            return {**held, **{t: self._in_own(tx, "count", t, thread_id) for t in self._own()}}

    def erase(self, thread_id: str, may_go: Callable[[ThreadFacts], bool]) -> Erased:
        """Delete all of a thread under its lock, its ledger entry too, if its facts allow that.

        Raises:
            StoreUnavailableError: The store cannot be reached, or the lock was held for too long.
            StoreError: Its facts cannot be read.
        """
        with self._db.transaction() as tx:
            self._rows.lock_all(tx, [thread_id])
            facts = self._threads.facts_in(tx, [thread_id])[thread_id]
            if not may_go(facts.checked()):
                return Erased(facts)
            held = self._rows.erase(tx, thread_id)
            own = {t: self._in_own(tx, "erase", t, thread_id) for t in self._own()}
            return Erased(facts, {**held, **own})

    def remnants(self, heads: Mapping[str, str], *, whole: bool) -> set[str]:
        """Of these deleted threads, those whose id holds rows (again).

        None without a look, where the delete that this store committed last was of them all, and
        no other transaction with changes was under way then or has ended since.
        """
        last = self._last
        with self._db.reading() as tx:
            is_last = not whole and last.number is not None and last.thread_ids.issuperset(heads)
            if is_last and self._rows.next_transaction(tx) == (last.number or 0) + 1:
                return set()
            return set(self._rows.remnants(tx, heads, whole=whole))

    def remove_dead(self, thread_id: str, head: str, orphans_before: datetime) -> DeadRows:
        """Delete what the id still holds of the thread deleted at ``head``; say what it was."""
        with self._db.transaction() as tx:
            if not self._rows.lock(tx, [thread_id]):
                return DeadRows()
            entry = self._ledger.entries_in(tx, [thread_id]).get(thread_id)
            if entry is not None and entry.hold and entry.hold.is_on(self._clock()):
                return DeadRows()
            dead = dead_rows(self._rows.skeleton(tx, thread_id), head, orphans_before)
            if dead:
                self._rows.delete_dead(tx, thread_id, dead)
            return dead

    def _delete_as_planned(
        self,
        tx: Transaction,
        candidates: Mapping[int, Candidate],
        in_hand: Collection[str],
        ask: "_Question",
    ) -> dict[int, ThreadOutcome]:
        """Delete those of which there is still no more to know than the plan recorded.

        Judged by that first: one statement then compares and deletes. Whatever it leaves is for
        a look at all there is to know.
        """
        judge, waiting = ask.judge, Horizon.WAITING
        heads = {
            thread_id: head
            for thread_id, horizon, head, _ in candidates.values()
            if horizon is waiting
            and head is not None
            and thread_id in in_hand
            and thread_id not in ask.spared
            and judge(ThreadFacts(thread_id, head, instant_of(head))) is Verdict.WAITING
        }
        deleted = self._rows.delete_as_planned(tx, heads) if heads else ()
        return {
            i: ThreadOutcome(Outcome.DELETED, head=c.head)
            for i, c in candidates.items()
            if c.thread_id in deleted
        }

    def _look_and_delete(
        self,
        tx: Transaction,
        candidates: Mapping[int, Candidate],
        in_hand: Collection[str],
        ask: "_Question",
    ) -> dict[int, ThreadOutcome]:
        """Look at these, delete those that may go, and say what became of each."""
        known = [c.thread_id for c in candidates.values() if c.thread_id in in_hand]
        facts = self._threads.facts_in(tx, known)
        examined = _examined(candidates, facts, ask)
        self._leave_parked(tx, candidates, examined, ask.since)
        deleted = self._delete_in(tx, candidates, examined)
        gone = [candidates[i].thread_id for i, o in examined.items() if o.outcome is Outcome.GONE]
        cleared = [t for t in (*deleted, *gone) if facts[t].entry is not None]
        self._ledger.remove_in(tx, cleared)
        if self._parks is not None:
            self._parks.remove(tx, [*deleted, *gone])
        return {
            i: thread
            if thread.outcome is not Outcome.DELETED or candidates[i].thread_id in deleted
            else ThreadOutcome(Outcome.RESTARTED)
            for i, thread in examined.items()
        }

    def _leave_parked(
        self,
        tx: Transaction,
        candidates: Mapping[int, Candidate],
        examined: dict[int, ThreadOutcome],
        since: datetime,
    ) -> None:
        """Leave those alone that were parked since the run began: no filter may know of it."""
        if self._parks is None:
            return
        going = {
            candidates[i].thread_id: i
            for i, o in examined.items()
            if o.outcome in (Outcome.DELETED, Outcome.GONE)
        }
        for thread_id in self._parks.opened_since(tx, list(going), since):
            examined[going[thread_id]] = ThreadOutcome(Outcome.RESTARTED)

    def _own(self) -> Sequence[str]:
        return self._db.thread_tables()

    def _in_own(self, tx: Transaction, name: str, table: str, thread_id: str) -> int:
        """Count, or delete, the rows of a thread in a table of this project's own."""
        statement = self._sql[name].replace("{table}", table)
        if name == "erase":
            return tx.change(statement, thread_id=thread_id)
        return int(tx.rows(statement, thread_id=thread_id)[0][0])

    def _delete_in(
        self,
        tx: Transaction,
        candidates: Mapping[int, Candidate],
        examined: Mapping[int, ThreadOutcome],
    ) -> Collection[str]:
        """Delete the threads that may go; those a stock saver wrote to meanwhile are left out."""
        heads = {
            candidates[i].thread_id: thread.head
            for i, thread in examined.items()
            if thread.outcome is Outcome.DELETED and thread.head is not None
        }
        return self._rows.delete(tx, heads) if heads else ()


def _examined(
    candidates: Mapping[int, Candidate], facts: Mapping[str, ThreadFacts], ask: _Question
) -> dict[int, ThreadOutcome]:
    """The outcome of each candidate, by its index in the batch."""
    examined = examine_all([*candidates.values()], facts, ask.judge, ask.spared)
    return dict(zip(candidates, examined.values(), strict=True))
