"""What each SQL store does in its own words to the rows of LangGraph's savers."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from retention.late_writes import DeadRows, Skeleton
from retention.operator import Scalar
from stores.inspection import Inspection
from stores.relational.database import Transaction

#: A thread's newest checkpoint id over all namespaces, and its instant where that can be told.
Head = tuple[str, datetime | None]


class ThreadRows(Protocol):
    """The rows of checkpoints, writes and blobs, within a transaction."""

    def lock(self, tx: Transaction, thread_ids: Sequence[str]) -> list[str]:
        """Lock threads against a start and our savers' puts; those not to be had are left out."""

    def lock_all(self, tx: Transaction, thread_ids: Sequence[str]) -> None:
        """Lock threads, waiting for each."""

    def next_transaction(self, tx: Transaction) -> int | None:
        """The number after those of all transactions with changes that have ended.

        None where one with a lower number is under way, where the tables may do more by themselves
        than they are told, and where the database tells no numbers.
        """

    def holding(self, tx: Transaction, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those that hold a checkpoint."""

    def heads(self, tx: Transaction, thread_ids: Sequence[str]) -> dict[str, Head]:
        """The head of each of these threads that holds a checkpoint."""

    def head_page(
        self, tx: Transaction, bounds: tuple[str, str], after: str | None, limit: int
    ) -> dict[str, str]:
        """Threads by id whose head is below or above these bounds, each with it."""

    def head_metadata(
        self, tx: Transaction, heads: Mapping[str, str], keys: Sequence[str]
    ) -> dict[str, dict[str, Scalar]]:
        """What the metadata of threads' heads says under these keys: plain values alone.

        A thread whose head says nothing there may be left out.
        """

    def count(self, tx: Transaction) -> int:
        """Threads that hold a checkpoint."""

    def interrupted(self, tx: Transaction, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an interrupt on the head of one of their namespaces."""

    def failed(self, tx: Transaction, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an error on the head of one of their namespaces."""

    def sizes(self, tx: Transaction, thread_ids: Sequence[str]) -> dict[str, int]:
        """Stored bytes of each of these threads that holds any."""

    def holdings(self, tx: Transaction, thread_id: str) -> dict[str, int]:
        """How many rows each of the saver's tables holds of a thread."""

    def erase(self, tx: Transaction, thread_id: str) -> dict[str, int]:
        """Delete all rows of a thread, whatever its head is; how many each table held."""

    def delete(self, tx: Transaction, heads: Mapping[str, str]) -> Collection[str]:
        """Delete every checkpoint, write and blob of these threads, each given with its head.

        A thread whose head has moved since is left alone; those deleted are returned.
        """

    def delete_as_planned(self, tx: Transaction, heads: Mapping[str, str]) -> Collection[str]:
        """Of these threads, delete those of which nothing else is known than their head.

        That is: it has not moved since, the ids of all checkpoints are UUIDv6, and neither the
        ledger nor an ask or barrier names the thread. Those deleted are returned; a database that
        gains nothing by it deletes none.
        """

    def remnants(
        self, tx: Transaction, heads: Mapping[str, str], *, whole: bool
    ) -> Collection[str]:
        """Of these deleted threads, those with rows from their head on, or with any."""

    def skeleton(self, tx: Transaction, thread_id: str) -> Skeleton:
        """The ids a thread holds."""

    def delete_dead(self, tx: Transaction, thread_id: str, dead: DeadRows) -> None:
        """Delete these rows of a thread, and the blobs that no checkpoint left needs."""


class StoredRows(ThreadRows, Protocol):
    """Rows that outlive the process that wrote them: others may have, in another format."""

    def holds_any(self, tx: Transaction) -> bool:
        """Whether there is any checkpoint or write."""

    def inspect(self, tx: Transaction) -> Inspection:
        """Count what the store holds, decoding nothing."""
