"""The planner's memory stays flat, however many threads are due."""

import tracemalloc
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from retention.filters import FilterRegistry
from retention.ids import lowest_id_at
from retention.policy import RetentionPolicy
from retention.sweep import SweepResult, open_run
from retention.sweep.context import Sweep
from tests.integration.places import Place

NOW = datetime.now(UTC)
FEW = 2_000
MANY = {"postgres": 200_000, "sqlite": 50_000}
MEBIBYTE = 1024 * 1024


class Queue:
    """Takes batches, as a broker would; nobody works on them."""

    def __init__(self) -> None:
        self.sent = 0

    def batches(self, run_id: str, numbers: Iterable[int]) -> None:
        self.sent += len(list(numbers))

    def finish(self, run_id: str) -> None:
        raise AssertionError

    def publish(self, result: SweepResult) -> bool:
        raise AssertionError


def seed(place: Place, first: int, last: int) -> None:
    """Old threads of one checkpoint each, by SQL."""
    head = lowest_id_at(NOW - timedelta(days=8))
    if place.provider == "sqlite":
        place.query(
            "INSERT INTO checkpoints (thread_id, checkpoint_id)"
            f" WITH RECURSIVE n (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM n"
            f" WHERE n < {last - 1}) SELECT 'thread-' || n, '{head}' FROM n"
        )
        return
    place.query(
        "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint)"
        f" SELECT 'thread-' || n, '{head}', '{{}}' FROM generate_series({first}, {last - 1}) n"
    )


def peak_of_a_plan(place: Place, expected: int) -> int:
    """The most memory that Python held while a run was planned; the run is dropped again."""
    queue = Queue()
    with place.store() as store:
        filters = FilterRegistry().select(["flows-engine"], store)
        sweep = Sweep(store, RetentionPolicy(), filters, queue, lambda: NOW)
        run_id = uuid.uuid4().hex
        tracemalloc.start()
        try:
            assert open_run(sweep, run_id, allow_over_limit=True) is None
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        run = store.runs.get(run_id)
        assert run is not None
        assert run.planned == expected
        assert queue.sent == expected // sweep.options.batch_size
    place.query("DELETE FROM retention_batches")
    place.query("DELETE FROM retention_runs")
    return peak


def test_a_plan_of_very_many_threads_needs_little_more_memory_than_one_of_few(
    place: Place,
) -> None:
    many_threads = MANY[place.provider]
    with place.store():
        pass
    seed(place, 0, FEW)
    few = peak_of_a_plan(place, FEW)
    seed(place, FEW, many_threads)
    many = peak_of_a_plan(place, many_threads)
    assert many - few < 40 * MEBIBYTE
