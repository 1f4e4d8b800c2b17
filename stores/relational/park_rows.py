"""What asks and park barriers are to the other parts of a SQL store."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from retention.asks import Book
from stores.relational.database import Transaction


class ParkRows(Protocol):
    """The rows of asks and barriers, within a transaction."""

    def read(self, tx: Transaction, book: Book) -> None:
        """Fill a book with all of its thread."""

    def write(self, tx: Transaction, book: Book) -> None:
        """Keep what was changed in a book."""

    def due(self, tx: Transaction, now: datetime, limit: int) -> list[str]:
        """Threads with something past its deadline that is not settled, those due first."""

    def open_asks(self, tx: Transaction, thread_ids: Sequence[str], now: datetime) -> set[str]:
        """Of these threads, those with an open ask."""

    def live_barriers(self, tx: Transaction, thread_ids: Sequence[str], now: datetime) -> set[str]:
        """Of these threads, those with a live barrier."""

    def opened_since(self, tx: Transaction, thread_ids: Sequence[str], since: datetime) -> set[str]:
        """Of these threads, those on which something was opened after an instant."""

    def remove(self, tx: Transaction, thread_ids: Sequence[str]) -> None:
        """Drop all of these threads, as they are deleted."""

    def tidy(
        self, tx: Transaction, thread_ids: Sequence[str], before: datetime, limit: int
    ) -> None:
        """Drop all of these threads that have no ledger entry any more, and what is long past."""
