"""Which batches owe a delivery, in SQL: columns of the batch, found by an index of their own."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from retention.deliveries import Delivery, Undelivered
from retention.errors import StoreError
from retention.runs import Batch, Source
from stores.relational.database import Database, Row, Transaction
from stores.runlog.encoding import (
    dump_candidates,
    dump_deliveries,
    dump_outcomes,
    load_deliveries,
)
from stores.runlog.records import sources_of

_LONG_SINCE = datetime(1970, 1, 1, tzinfo=UTC)

#: Reads a batch within a transaction.
ReadBatch = Callable[[Transaction, str, int], Batch | None]


class RelationalDeliveries:
    """The deliveries of a run log that has SQL tables for it."""

    def __init__(self, db: Database, read_batch: ReadBatch) -> None:
        """Keep them beside the batches of this database."""
        self._db = db
        self._read_batch = read_batch
        self._sql = db.sql("stores.relational", "deliveries.sql")

    def pending(self, now: datetime, limit: int) -> list[Source]:
        """Batches that owe a delivery whose next try has come, longest due first."""
        with self._db.reading() as tx:
            return sources_of(tx.rows(self._sql["pending"], now=now, limit=limit))

    def take(self, source: Source, now: datetime, until: datetime) -> Undelivered | None:
        """Put a due delivery off until an instant, and read it; None if it is not due."""
        with self._db.transaction() as tx:
            key = {"run_id": source.run_id, "number": source.number}
            if not tx.change(self._sql["take"], **key, now=now, until=until):
                return None
            (row,) = tx.rows(self._sql["taken"], **key)
            return self._read(tx, row)

    def record(
        self,
        source: Source,
        deliveries: Mapping[str, Delivery],
        retry_at: datetime | None,
        now: datetime,
    ) -> None:
        """Keep how far each hook is; without another try the batch owes nothing any more."""
        with self._db.transaction() as tx:
            tx.change(
                self._sql["record"],
                run_id=source.run_id,
                number=source.number,
                deliveries=dump_deliveries(deliveries),
                retry_at=retry_at,
                delivered_at=now if retry_at is None else None,
            )

    def owe(self, batch: Batch, deliver_at: datetime) -> None:
        """Keep the batch of an erase, in the place of what was kept of it, and when it is due."""
        with self._db.transaction() as tx:
            tx.change(
                self._sql["owe"],
                run_id=batch.run_id,
                number=batch.number,
                kind=str(batch.kind),
                candidates=dump_candidates(batch.candidates),
                outcomes=dump_outcomes(batch.outcomes),
                done_at=batch.done_at,
                deliver_at=deliver_at,
            )

    def drop(self, source: Source) -> None:
        """Keep the batch of an erase no longer; one of a run stays."""
        with self._db.transaction() as tx:
            tx.change(self._sql["drop"], run_id=source.run_id, number=source.number)

    def count(self) -> int:
        """Batches that owe a delivery, due or not."""
        if not self._db.has_own_tables():
            return 0
        with self._db.reading() as tx:
            return int(tx.rows(self._sql["count"])[0][0])

    def listing(self, limit: int) -> list[Undelivered]:
        """Batches that owe a delivery, due or not; the one to be tried next first."""
        if not self._db.has_own_tables():
            return []
        with self._db.reading() as tx:
            found = [self._read(tx, row) for row in tx.rows(self._sql["listing"], limit=limit)]
        return [owed for owed in found if owed is not None]

    def _read(self, tx: Transaction, row: Row) -> Undelivered | None:
        run_id, number, deliver_at, deliveries = row
        named = sources_of([(run_id, number)])
        batch = self._read_batch(tx, run_id, number) if named else None
        if batch is None:
            return None
        return Undelivered(batch, self._instant(deliver_at), load_deliveries(deliveries))

    def _instant(self, deliver_at: Any) -> datetime:
        """When it is due; long since, where that cannot be read."""
        try:
            return self._db.instant(deliver_at) or _LONG_SINCE
        except StoreError:
            return _LONG_SINCE
