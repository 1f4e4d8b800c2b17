"""Asks and park barriers in SQL, beside the ledger; for databases that have tables for them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from retention.asks import Book
from retention.policy import RetentionPolicy
from retention.ports import Clock
from stores.asks import StoredAsks
from stores.relational.database import Database
from stores.relational.ledger import RelationalLedger
from stores.relational.park_rows import ParkRows
from stores.relational.rows import ThreadRows

Result = TypeVar("Result")


class RelationalAsks(StoredAsks):
    """The asks and barriers of a SQL store."""

    def __init__(
        self,
        db: Database,
        rows: ThreadRows,
        ledger: RelationalLedger,
        parks: ParkRows,
        policy: RetentionPolicy,
        clock: Clock,
    ) -> None:
        """Work through the store's other parts."""
        super().__init__(clock)
        self._db = db
        self._rows = rows
        self._ledger = ledger
        self._parks = parks
        self._policy = policy

    def book(self, thread_id: str) -> Book:
        """All asks and barriers of a thread, settled ones too."""
        book = Book(str(thread_id))
        if self._db.has_own_tables():
            with self._db.reading() as tx:
                self._parks.read(tx, book)
        return book

    def open_asks(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an open ask; asked of the store once."""
        if not self._db.has_own_tables():
            return set()
        with self._db.reading() as tx:
            return self._parks.open_asks(tx, thread_ids, self._clock())

    def live_barriers(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with a live barrier; asked of the store once."""
        if not self._db.has_own_tables():
            return set()
        with self._db.reading() as tx:
            return self._parks.live_barriers(tx, thread_ids, self._clock())

    def _change(
        self, thread_id: str, work: Callable[[Book], Result], *, opens: bool = False
    ) -> Result:
        with self._db.transaction() as tx:
            # As a start does: a delete that began before is waited for, and then seen.
            self._rows.lock_all(tx, [thread_id])
            book = Book(thread_id)
            self._parks.read(tx, book)
            if opens:
                entry = self._ledger.entries_in(tx, [thread_id]).get(thread_id)
                book.waiting = self._policy.for_thread(entry.declared if entry else None).waiting
                book.ended = entry.ended if entry else None
                book.is_known = entry is not None or self._ledger.holds_rows_in(tx, thread_id)
            result = work(book)
            self._parks.write(tx, book)
            return result

    def _due(self, now: datetime, limit: int) -> list[str]:
        with self._db.reading() as tx:
            return self._parks.due(tx, now, limit)
