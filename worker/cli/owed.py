"""What hooks are still to be told, as ``sweep status`` and ``sweep history`` show it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from retention.deliveries import Undelivered
from retention.sweep import Sweep
from worker.cli.printing import print_line, print_table

#: Batches that are named; the others are counted.
_NAMED = 20
#: Batches that are looked through for those of one run.
_LOOKED_THROUGH = 1000
_COLUMNS = ("run", "batch", "threads", "next try (UTC)", "hook", "tries", "error")


@dataclass(frozen=True, slots=True)
class Owed:
    """Batches that owe a delivery: how many, and the first of them."""

    count: int
    batches: Sequence[Undelivered]

    @classmethod
    def of(cls, sweep: Sweep, run_id: str | None = None) -> "Owed":
        """Read what is owed, by all runs or by one."""
        deliveries = sweep.store.runs.deliveries
        if run_id is None:
            return cls(deliveries.count(), deliveries.listing(_NAMED))
        listed = deliveries.listing(_LOOKED_THROUGH)
        own = [owed for owed in listed if owed.batch.run_id == run_id]
        return cls(len(own), own[:_NAMED])

    def to_json(self) -> dict[str, Any]:
        """The same as JSON types."""
        return {
            "undelivered_batches": self.count,
            "undelivered": [_batch_json(owed) for owed in self.batches],
        }

    def show(self) -> None:
        """Print it, where anything is owed."""
        if not self.count:
            return
        batches = "1 batch" if self.count == 1 else f"{self.count} batches"
        print_line(f"hooks are still to be told of {batches} of deleted threads")
        print_table(_COLUMNS, [row for owed in self.batches for row in _rows(owed)])


def _batch_json(owed: Undelivered) -> dict[str, Any]:
    return {
        "run_id": owed.batch.run_id,
        "batch": owed.batch.number,
        "threads": len(owed.thread_ids),
        "next_try": owed.deliver_at.isoformat(),
        "hooks": {
            name: {
                "attempts": delivery.attempts,
                "delivered_at": delivery.delivered_at and delivery.delivered_at.isoformat(),
                "error": delivery.error,
            }
            for name, delivery in owed.deliveries.items()
        },
    }


def _rows(owed: Undelivered) -> list[tuple[object, ...]]:
    """A row for each hook that failed; one without a hook where none was told yet."""
    batch, threads = owed.batch, len(owed.thread_ids)
    place = (batch.run_id, batch.number, threads, f"{owed.deliver_at:%Y-%m-%d %H:%M:%S}")
    none: list[tuple[object, ...]] = [(None, 0, None)]
    failed = [(n, d.attempts, d.error) for n, d in owed.deliveries.items() if d.error is not None]
    return [(*place, *hook) for hook in failed or none]
