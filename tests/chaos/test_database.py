"""A database that goes away in the middle of a sweep."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stores import init_store
from tests.acceptance.deployment import Deployment
from tests.brokers import FilesystemPlace
from tests.chaos.pool import SETTINGS, Pool
from tests.conftest import service
from tests.servers import PostgresServer


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL that the test may stop."""
    with service():
        server = PostgresServer()
    with server:
        yield server


@pytest.mark.soak
def test_a_database_that_comes_back_finds_its_sweep_going_on(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Tasks are tried again with a growing pause; no delete is lost, and none counts twice."""
    address = postgres.dsn(postgres.create_database())
    init_store(address)
    broker = FilesystemPlace(tmp_path / "broker")
    pool = Pool(Deployment(tmp_path, "postgres", address, broker.url, SETTINGS))
    pool.seed("due", 200)
    with pool.running():
        pool.begin("due")
        postgres.stop_hard()
        pool.says("task_retried", "Retry in")
        postgres.start()
        pool.ends()
