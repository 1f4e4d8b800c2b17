"""The planner's memory stays flat, however many threads are due."""

import multiprocessing
import resource
import sys
import traceback
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from retention.filters import FilterRegistry
from retention.ids import lowest_id_at
from retention.policy import RetentionPolicy
from retention.sweep import SweepResult, open_run
from retention.sweep.context import Sweep
from tests.integration.places import Place

NOW = datetime.now(UTC)
FEW, MANY = 2_000, 200_000


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


def plan(place: Place, expected: int, results: Any) -> None:
    """Plan a run, and answer with the growth of this process's peak, in KiB; drop the run."""
    queue = Queue()
    try:
        with place.store() as store:
            filters = FilterRegistry().select(["flows-engine"], store)
            sweep = Sweep(store, RetentionPolicy(), filters, queue, lambda: NOW)
            run_id = uuid.uuid4().hex
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            assert open_run(sweep, run_id, allow_over_limit=True) is None
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            run = store.runs.get(run_id)
            assert run is not None
            assert run.planned == expected
            assert queue.sent == expected // sweep.options.batch_size
        place.query("DELETE FROM retention_batches")
        place.query("DELETE FROM retention_runs")
        results.put(after - before)
    except Exception:  # noqa: BLE001 - the parent looks at it
        results.put(traceback.format_exc())


def growth_of_a_plan(place: Place, expected: int) -> int:
    """What planning in a process of its own adds to its peak, in KiB."""
    context = multiprocessing.get_context("forkserver")
    results = context.Queue()
    process = context.Process(target=plan, args=(place, expected, results))
    process.start()
    growth = results.get(timeout=120)
    process.join(timeout=30)
    assert isinstance(growth, int), growth
    return growth


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak is counted in bytes")
def test_a_plan_of_200_000_threads_needs_little_more_memory_than_one_of_2_000(
    place: Place,
) -> None:
    with place.store():
        pass
    seed(place, 0, FEW)
    few = growth_of_a_plan(place, FEW)
    seed(place, FEW, MANY)
    assert growth_of_a_plan(place, MANY) - few < 40 * 1024
