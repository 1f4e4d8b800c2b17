"""Reading threads from SQL: heads from the savers' tables, the rest from the ledger."""

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from retention.events import event
from retention.ids import instant_of, lowest_id_at
from retention.operator import Scalar
from retention.ports import Page
from retention.threads import ThreadFacts
from stores.relational.database import Database, Transaction
from stores.relational.ledger import RelationalLedger
from stores.relational.rows import Head, ThreadRows
from stores.texts import parted

log = logging.getLogger("retention.sweep")


class RelationalThreads:
    """The thread index of a store with SQL tables. No state is ever decoded."""

    def __init__(
        self,
        db: Database,
        rows: ThreadRows,
        ledger: RelationalLedger,
        metadata_keys: Collection[str] = (),
    ) -> None:
        """Read heads through ``rows`` and entries through ``ledger``.

        Facts hold what a head's metadata says under these keys.
        """
        self._db = db
        self._rows = rows
        self._ledger = ledger
        self._keys = list(metadata_keys)

    def due_page(self, now: datetime, after: tuple[datetime, str] | None, limit: int) -> Page:
        """Threads whose recorded due time has passed."""
        return self._ledger_page("due_page", now, after, limit)

    def declared_page(self, now: datetime, after: tuple[datetime, str] | None, limit: int) -> Page:
        """Threads whose declared waiting retention, counted from their start, is over."""
        return self._ledger_page("declared_page", now, after, limit)

    def head_page(self, cutoff: datetime, ceiling: datetime, after: str | None, limit: int) -> Page:
        """Threads whose head is older than the cutoff, or not below what the ceiling allows."""
        bounds = (lowest_id_at(cutoff), lowest_id_at(ceiling))
        with self._db.reading() as tx:
            heads = self._rows.head_page(tx, bounds, after, limit)
            cursor = list(heads)[-1] if len(heads) == limit else None
            dated: dict[str, Head] = {t: (head, instant_of(head)) for t, head in heads.items()}
            foreign = [t for t, (_, head_at) in dated.items() if head_at is None]
            dated.update(self._rows.heads(tx, foreign))
            return Page(self._join(tx, list(heads), dated), cursor)

    def facts(self, thread_ids: Sequence[str]) -> dict[str, ThreadFacts]:
        """What there is to know of each of these threads."""
        with self._db.reading() as tx:
            return self.facts_in(tx, thread_ids)

    def facts_in(self, tx: Transaction, thread_ids: Sequence[str]) -> dict[str, ThreadFacts]:
        """The same, within a transaction."""
        joined = self._join(tx, thread_ids, self._rows.heads(tx, thread_ids))
        return {facts.thread_id: facts for facts in joined}

    def count_threads(self) -> int:
        """All threads that hold a checkpoint."""
        with self._db.reading() as tx:
            return self._rows.count(tx)

    def pending_interrupts(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an interrupt on the head of any of their namespaces."""
        with self._db.reading() as tx:
            return self._rows.interrupted(tx, thread_ids)

    def failures(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an error on the head of any of their namespaces."""
        with self._db.reading() as tx:
            return self._rows.failed(tx, thread_ids)

    def sizes(self, thread_ids: Sequence[str]) -> dict[str, int]:
        """Stored bytes of each of these threads.

        Raises:
            ConfigurationError: The role may not read what the sizes are of.
        """
        with self._db.reading() as tx:
            found = self._rows.sizes(tx, thread_ids)
        return {thread_id: found.get(thread_id, 0) for thread_id in thread_ids}

    def _ledger_page(
        self, name: str, now: datetime, after: tuple[datetime, str] | None, limit: int
    ) -> Page:
        with self._db.reading() as tx:
            listed = self._ledger.page_in(tx, name, now, after, limit)
            thread_ids, broken = parted(thread_id for _, thread_id in listed)
            if broken:
                number, first = len(broken), broken[0]
                event(log, logging.ERROR, "thread_ids_unreadable", threads=number, first=first)
            facts = self.facts_in(tx, thread_ids)
            cursor = listed[-1] if len(listed) == limit else None
            return Page([facts[thread_id] for thread_id in thread_ids], cursor)

    def _join(
        self, tx: Transaction, thread_ids: Sequence[str], heads: dict[str, Head]
    ) -> list[ThreadFacts]:
        entries, faults = self._ledger.read_in(tx, thread_ids)
        metadata = self._metadata_in(tx, heads)
        found = ((t, heads.get(t, (None, None)), entries.get(t)) for t in thread_ids)
        return [
            ThreadFacts(t, head, head_at, entry, metadata.get(t), faults.get(t))
            for t, (head, head_at), entry in found
        ]

    def _metadata_in(
        self, tx: Transaction, heads: dict[str, Head]
    ) -> Mapping[str, dict[str, Scalar]]:
        if not self._keys or not heads:
            return {}
        names = {thread_id: head for thread_id, (head, _) in heads.items()}
        return self._rows.head_metadata(tx, names, self._keys)
