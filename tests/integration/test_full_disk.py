"""SQLite that may not grow: a sweep says so, changes nothing, and the next one works."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from retention.errors import StoreUnavailableError
from tests.integration.places import Place
from tests.integration.sweeping import sweep
from tests.seeding import seed_thread

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)


def test_a_full_disk_breaks_a_sweep_off_and_costs_time_alone(sqlite_place: Place) -> None:
    # The record of a batch with such ids needs pages of its own.
    due = {f"{number:03}-{'x' * 2_000}" for number in range(20)}
    with sqlite_place.store() as store:
        for thread_id in due:
            seed_thread(store.saver, thread_id, OLD)
        parts: Any = store.deleter
        connection = parts._db.connection
        connection.execute("VACUUM")
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreUnavailableError, match="disk is full"):
            sweep(store, NOW)
        assert sqlite_place.threads() == due
        connection.execute("PRAGMA max_page_count = 1073741823")
        sweep(store, NOW + timedelta(minutes=10))
        assert sqlite_place.threads() == set()
        assert store.runs.totals()["deleted:waiting"] == len(due)
