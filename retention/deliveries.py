"""What is owed to hooks: which of them were told of a batch's deleted threads, and which were not.

A batch with deleted threads owes a delivery from its end on. The record lies with the batch, so a
worker that dies between its deletes and a hook leaves the debt for the next tick to find.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from retention.runs import Batch, BatchKind, Source


class Delivery(NamedTuple):
    """How far one hook is with one batch: tries so far, when it was told, and its last error."""

    attempts: int = 0
    delivered_at: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A batch that owes a delivery, the next try's instant, and each hook it was tried with."""

    batch: Batch
    deliver_at: datetime
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        """Which batch it is."""
        return Source(self.batch.run_id, self.batch.number)

    @property
    def is_erase(self) -> bool:
        """Whether it is an erase that owes it, and no run's batch."""
        return self.batch.kind is BatchKind.ERASE

    @property
    def thread_ids(self) -> list[str]:
        """The threads that the batch deleted, or an erase is to delete."""
        if self.is_erase:
            return [candidate.thread_id for candidate in self.batch.candidates]
        return [candidate.thread_id for candidate in self.batch.deleted()]

    @property
    def attempts(self) -> int:
        """How often the hook that was tried most was."""
        return max((d.attempts for d in self.deliveries.values()), default=0)


class DeliveryLog(Protocol):
    """The part of a run log that knows which batches owe a delivery."""

    def pending(self, now: datetime, limit: int) -> list[Source]:
        """Batches that owe a delivery whose next try has come, longest due first."""

    def take(self, source: Source, now: datetime, until: datetime) -> Undelivered | None:
        """Put a due delivery off until an instant, and read it; None if it is not due.

        Whoever takes it has until then: nobody else takes it in between.
        """

    def record(
        self,
        source: Source,
        deliveries: Mapping[str, Delivery],
        retry_at: datetime | None,
        now: datetime,
    ) -> None:
        """Keep how far each hook is; without another try the batch owes nothing any more."""

    def owe(self, batch: Batch, deliver_at: datetime) -> None:
        """Keep the batch of an erase, in the place of what was kept of it, and when it is due."""

    def drop(self, source: Source) -> None:
        """Keep the batch of an erase no longer; one of a run stays."""

    def count(self) -> int:
        """Batches that owe a delivery, due or not."""

    def listing(self, limit: int) -> list[Undelivered]:
        """Batches that owe a delivery, due or not; the one to be tried next first."""
