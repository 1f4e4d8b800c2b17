"""The rows of asks and park barriers in PostgreSQL."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from retention.asks import Ask, AskState, Barrier, Book
from stores.relational.database import Database, Transaction


class PostgresParks:
    """Tables retention_asks and retention_barriers, a row for each."""

    def __init__(self, db: Database) -> None:
        """Speak this database's SQL."""
        self._sql = db.sql("stores.postgres", "parks.sql")
        self._instant = db.instant

    def read(self, tx: Transaction, book: Book) -> None:
        """Fill a book with all of its thread."""
        thread_id = book.thread_id
        for ask_id, *row in tx.rows(self._sql["asks"], thread_id=thread_id):
            book.asks[ask_id] = Ask(thread_id, ask_id, *self._read(row))
        for barrier_id, ask_ids, *row in tx.rows(self._sql["barriers"], thread_id=thread_id):
            rest = self._read(row)
            book.barriers[barrier_id] = Barrier(thread_id, barrier_id, tuple(ask_ids), *rest)

    def write(self, tx: Transaction, book: Book) -> None:
        """Keep what was changed in a book."""
        asks = [_params(book.asks[i], i) for i in sorted(book.changed_asks)]
        tx.change_many(self._sql["keep_ask"], asks)
        barriers = (book.barriers[i] for i in sorted(book.changed_barriers))
        changed = [_params(b, b.barrier_id) | {"ask_ids": [*b.ask_ids]} for b in barriers]
        tx.change_many(self._sql["keep_barrier"], changed)

    def due(self, tx: Transaction, now: datetime, limit: int) -> list[str]:
        """Threads with something past its deadline that is not settled, those due first."""
        return [row[0] for row in tx.rows(self._sql["due"], now=now, limit=limit)]

    def open_asks(self, tx: Transaction, thread_ids: Sequence[str], now: datetime) -> set[str]:
        """Of these threads, those with an open ask."""
        return _ids(tx.rows(self._sql["open_asks"], ids=list(thread_ids), now=now))

    def live_barriers(self, tx: Transaction, thread_ids: Sequence[str], now: datetime) -> set[str]:
        """Of these threads, those with a live barrier."""
        return _ids(tx.rows(self._sql["live_barriers"], ids=list(thread_ids), now=now))

    def opened_since(self, tx: Transaction, thread_ids: Sequence[str], since: datetime) -> set[str]:
        """Of these threads, those on which something was opened after an instant."""
        if not thread_ids or not self._holds_any(tx):
            return set()
        return _ids(tx.rows(self._sql["opened_since"], ids=list(thread_ids), since=since))

    def remove(self, tx: Transaction, thread_ids: Sequence[str]) -> None:
        """Drop all of these threads, as they are deleted."""
        if thread_ids and self._holds_any(tx):
            tx.change(self._sql["remove"], ids=list(thread_ids))

    def tidy(
        self, tx: Transaction, thread_ids: Sequence[str], before: datetime, limit: int
    ) -> None:
        """Drop all of these threads that have no ledger entry any more, and what is long past."""
        if self._holds_any(tx):
            tx.change(self._sql["remove_bare"], ids=list(thread_ids))
            tx.change(self._sql["forget"], before=before, limit=limit)

    def _holds_any(self, tx: Transaction) -> bool:
        return bool(tx.rows(self._sql["any"])[0][0])

    def _read(self, row: Sequence[Any]) -> tuple[Any, Any, AskState, datetime | None]:
        deadline, opened_at, state, settled_at = row
        instant = self._instant
        return instant(deadline), instant(opened_at), AskState(state), instant(settled_at)


def _params(park: Ask | Barrier, park_id: str) -> dict[str, Any]:
    return {
        "thread_id": park.thread_id,
        "park_id": park_id,
        "deadline": park.deadline,
        "opened_at": park.opened_at,
        "state": str(park.state),
        "settled_at": park.settled_at,
    }


def _ids(rows: Iterable[tuple[Any, ...]]) -> set[str]:
    return {row[0] for row in rows}
