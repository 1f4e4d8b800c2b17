"""A worker that is to end gives back what it has not done."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stores import init_store
from tests.acceptance.deployment import Deployment
from tests.acceptance.places import HeldPlace, PostgresPlace
from tests.brokers import BrokerPlace, broker_place
from tests.chaos.run_log import assert_deleted_once
from tests.seeding import seed_threads
from tests.waiting import eventually

soak = pytest.mark.soak
LONG_AGO = datetime.now(UTC) - timedelta(days=30)


@pytest.fixture
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BrokerPlace]:
    """Each broker."""
    made = broker_place(request, request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture
def place(postgres_dsn: str) -> HeldPlace:
    """A database: a statement of SQLite's that is held up can be ended by nobody."""
    init_store(postgres_dsn)
    return PostgresPlace(postgres_dsn)


@pytest.mark.parametrize(
    "broker",
    ["redis", *(pytest.param(kind, marks=soak) for kind in ("filesystem", "rabbitmq", "quorum"))],
    indirect=True,
)
def test_a_batch_that_does_not_end_in_time_goes_to_another_worker_at_once(
    place: HeldPlace, broker: BrokerPlace, tmp_path: Path
) -> None:
    """Its claim is given back with it: the next worker need not wait for the lease of an hour."""
    settings = {
        "SWEEP_BATCH_SIZE": "2",
        "SWEEP_LEASE_SECONDS": "3600",
        "SWEEP_LOCK_TIMEOUT_SECONDS": "60",
        "SWEEP_SOFT_SHUTDOWN_SECONDS": "1",
        "REMAP_SIGTERM": "SIGQUIT",
        **broker.settings,
    }
    deployment = Deployment(tmp_path, place.provider, place.address, broker.url, settings)
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 6, LONG_AGO)
        first = deployment.start_worker("first")
        try:
            with place.holding_delete(due[2]):
                run_id = deployment.call()
                eventually(place.delete_is_held, "a delete under way")
                first.container.teardown()
                assert "Initiating Soft Shutdown" in first.logs()
            deployment.start_worker("second")
            assert deployment.result(run_id)["swept_count"] == len(due)
        finally:
            deployment.close()
        assert_deleted_once(store, due)
    assert place.remains(due) == {}
