"""Deployments of real processes: each store with each broker."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pytest_celery import (
    CeleryBackendCluster,
    CeleryBrokerCluster,
    CeleryTestSetup,
    CeleryWorkerCluster,
)

from stores import init_store
from tests.acceptance.deployment import Deployment
from tests.acceptance.nodes import LocalBackend, LocalBroker, Place, WorkerProcess
from tests.acceptance.places import PostgresPlace, RedisStorePlace, SqlitePlace, StorePlace
from tests.brokers import BrokerPlace, broker_place
from worker.app import RetentionApp
from worker.settings import load_broker_settings, load_sweep_settings

#: Older than any horizon.
LONG_AGO = timedelta(days=30)


@pytest.fixture
def long_ago() -> datetime:
    """An instant past every horizon."""
    return datetime.now(UTC) - LONG_AGO


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StorePlace:
    """An initialised store of each kind; `redis-of-the-broker` is on the broker's server."""
    made: StorePlace
    if request.param == "sqlite":
        made = SqlitePlace(str(tmp_path / "checkpoints.db"))
    elif request.param == "postgres":
        made = PostgresPlace(request.getfixturevalue("postgres_dsn"))
    else:
        urls = {"redis": "redis_store_url", "redis-of-the-broker": "redis_url"}
        made = RedisStorePlace(request.getfixturevalue(urls[request.param]))
    init_store(made.address)
    return made


@pytest.fixture(params=["filesystem", "redis"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BrokerPlace]:
    """Each broker: one of the session, or a folder of the test's own."""
    made = broker_place(request, request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def leaving() -> Iterator[list[WorkerProcess]]:
    """Workers that were asked to end; all have, at the end of the run."""
    processes: list[WorkerProcess] = []
    yield processes
    for process in processes:
        process.teardown()


@pytest.fixture
def deployment(
    tmp_path: Path, place: StorePlace, broker: BrokerPlace, leaving: list[WorkerProcess]
) -> Iterator[Deployment]:
    """A store and a broker, with batches of two threads; no worker yet."""
    settings = {"SWEEP_BATCH_SIZE": "2", **broker.settings}
    made = Deployment(tmp_path, place.provider, place.address, broker.url, settings)
    yield made
    leaving += made.close()


@pytest.fixture
def celery_setup(deployment: Deployment) -> Iterator[CeleryTestSetup]:
    """Pytest-celery's view of a deployment with one worker."""
    variables = deployment.variables
    broker = load_broker_settings(variables, None)
    worker = deployment.start_worker("retention")
    setup = CeleryTestSetup(
        worker_cluster=CeleryWorkerCluster(worker),
        broker_cluster=CeleryBrokerCluster(LocalBroker(Place(broker.broker_url))),
        backend_cluster=CeleryBackendCluster(LocalBackend(Place(broker.result_backend))),
        app=RetentionApp(broker, load_sweep_settings(variables, None)),
    )
    assert setup.ready(control=True)
    yield setup
    setup.teardown()
