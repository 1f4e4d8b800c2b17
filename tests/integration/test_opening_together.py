"""Ten processes open one database at once, and none fails."""

import traceback
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest
from langgraph.checkpoint.postgres.base import MIGRATIONS

from stores import StoreOptions, open_store
from tests import forked
from tests.integration.places import Place, later
from tests.integration.sweeping import sweep
from tests.seeding import seed_thread, seed_threads

PROCESSES = 10


def opens(address: str, number: int, ready: Barrier, results: Any) -> None:
    """Open the store once all are ready, write a thread, and say how that went."""
    try:
        ready.wait(timeout=60)
        with open_store(address, settings=StoreOptions()) as store:
            seed_thread(store.saver, f"thread-{number}", later(0))
            store.ledger.start([f"thread-{number}"])
        results.put(None)
    except Exception:  # noqa: BLE001 - the parent looks at it
        results.put(traceback.format_exc())


def sweeps(address: str, number: int, ready: Barrier, results: Any) -> None:
    """Sweep the store once all are ready, and say what came of it."""
    try:
        ready.wait(timeout=60)
        with open_store(address, settings=StoreOptions()) as store:
            results.put(sweep(store).to_json())
    except Exception:  # noqa: BLE001 - the parent looks at it
        results.put(traceback.format_exc())


def together(work: Any, address: str, count: int) -> list[Any]:
    """What processes of a clean parent answer that all begin at the same moment."""
    context = forked.CONTEXT
    ready, results = context.Barrier(count), context.Queue()
    processes = [
        context.Process(target=work, args=(address, number, ready, results))
        for number in range(count)
    ]
    for process in processes:
        process.start()
    answers = [results.get(timeout=90) for _ in processes]
    for process in processes:
        process.join(timeout=30)
    return answers


def test_ten_processes_open_an_empty_database_at_once(place: Place) -> None:
    assert together(opens, place.address, PROCESSES) == [None] * PROCESSES
    assert len(place.threads()) == PROCESSES


def test_ten_processes_bring_an_older_stock_store_up_to_date_at_once(
    postgres_place: Place,
) -> None:
    for number, migration in enumerate(MIGRATIONS[:5]):
        postgres_place.query(migration)
        postgres_place.query(f"INSERT INTO checkpoint_migrations (v) VALUES ({number})")
    assert together(opens, postgres_place.address, PROCESSES) == [None] * PROCESSES
    versions = postgres_place.query("SELECT v FROM checkpoint_migrations ORDER BY v")
    assert versions == [(number,) for number in range(len(MIGRATIONS))]


@pytest.mark.parametrize("rivals", [2, 4])
def test_of_sweeps_begun_at_once_each_thread_is_counted_by_one(place: Place, rivals: int) -> None:
    with place.store() as store:
        seed_threads(store.saver, "old", 60, later(0))
    answers = together(sweeps, place.address, rivals)
    assert all(isinstance(answer, dict) for answer in answers), answers
    assert sum(answer["swept_count"] for answer in answers) == 60
    assert {answer["outcome"] for answer in answers} <= {"completed", "skipped_locked"}
    assert place.threads() == set()
    with place.store() as store:
        assert store.runs.totals()["deleted:waiting"] == 60
