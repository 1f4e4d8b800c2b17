"""Which batches owe a delivery, on Redis: fields of the batch, and an index by the next try."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from retention.deliveries import Delivery, Undelivered
from retention.runs import Batch, Source
from stores.redis.connection import Connection
from stores.redis.layout import LOG, instant, micros, raw, text
from stores.redis.requests import Arg, one
from stores.redis.run_records import batch_from
from stores.redis.scripts import script
from stores.runlog.encoding import (
    dump_candidates,
    dump_deliveries,
    dump_outcomes,
    load_deliveries,
)


class RedisDeliveries:
    """The deliveries of a Redis run log."""

    def __init__(self, connection: Connection) -> None:
        """Keep them beside the batches, through this connection."""
        self._connection = connection

    def pending(self, now: datetime, limit: int) -> list[Source]:
        """Batches that owe a delivery whose next try has come, longest due first."""
        members = (text(member) for member in self._ask("deliveries_pending", micros(now), limit))
        parts = (member.partition(":") for member in members)
        return [Source(run_id, int(number)) for number, _, run_id in parts]

    def take(self, source: Source, now: datetime, until: datetime) -> Undelivered | None:
        """Put a due delivery off until an instant, and read it; None if it is not due."""
        key = (raw(source.run_id), source.number)
        found = self._ask("deliveries_take", *key, micros(now), micros(until))
        return None if found is None else _read(found)

    def record(
        self,
        source: Source,
        deliveries: Mapping[str, Delivery],
        retry_at: datetime | None,
        now: datetime,
    ) -> None:
        """Keep how far each hook is; without another try the batch owes nothing any more."""
        at = "" if retry_at is None else micros(retry_at)
        stored = dump_deliveries(deliveries)
        self._ask("deliveries_record", raw(source.run_id), source.number, stored, at)

    def owe(self, batch: Batch, deliver_at: datetime) -> None:
        """Keep the batch of an erase, in the place of what was kept of it, and when it is due."""
        threads = (dump_candidates(batch.candidates), dump_outcomes(batch.outcomes))
        done = "" if batch.done_at is None else micros(batch.done_at)
        key = (raw(batch.run_id), batch.number)
        self._ask("deliveries_owe", *key, str(batch.kind), *threads, done, micros(deliver_at))

    def drop(self, source: Source) -> None:
        """Keep the batch of an erase no longer; one of a run stays."""
        self._ask("deliveries_drop", raw(source.run_id), source.number)

    def count(self) -> int:
        """Batches that owe a delivery, due or not."""
        return int(self._ask("deliveries_count"))

    def listing(self, limit: int) -> list[Undelivered]:
        """Batches that owe a delivery, due or not; the one to be tried next first."""
        return [_read(found) for found in self._ask("deliveries_listing", limit)]

    def _ask(self, name: str, *args: Arg) -> Any:
        return self._connection.run(one(script(name, "log"), LOG, *args))


def _read(found: Any) -> Undelivered:
    run, rows, deliver_at, deliveries = found
    at = instant(deliver_at)
    assert at is not None
    return Undelivered(batch_from(text(run), rows), at, load_deliveries(text(deliveries or b"{}")))
