"""Deleting again what a run writes into a thread that is being deleted."""

from datetime import datetime

from retention.errors import CheckpointDeleteError
from retention.ports import ThreadDeleter
from retention.sweep.options import SweepOptions


def delete_remnants(
    deleter: ThreadDeleter, thread_id: str, head: str, options: SweepOptions, now: datetime
) -> int:
    """Delete the rows of a dead thread until none is left; say how many there were.

    The delete itself was the first round. Each further one finds what the round before left.

    Raises:
        CheckpointDeleteError: A round, from the second on, left no fewer checkpoints and writes
            than the round before, or the rounds are used up.
    """
    found_before: int | None = None
    removed = done = 0
    while True:
        done += 1
        found = deleter.remove_dead(thread_id, head, now - options.orphan_grace)
        if not found:
            return removed
        no_progress = found_before is not None and found.size >= found_before
        if no_progress or done >= options.max_delete_rounds:
            raise CheckpointDeleteError(
                thread_id, len(found.checkpoints), found.write_count, rounds=done
            )
        found_before = found.size
        removed += found.size
