"""A broker that is down, restarted, emptied or full: nothing is lost but time."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from stores import init_store
from tests.acceptance.deployment import Deployment
from tests.brokers import BrokerPlace, FilesystemPlace, RabbitPlace, RedisPlace, broker_place
from tests.chaos.pool import SETTINGS, Pool
from tests.conftest import service
from tests.servers import RabbitServer, RedisServer

soak = pytest.mark.soak


def pool_on(broker: BrokerPlace, folder: Path) -> Pool:
    """A pool on a SQLite store: the store is not what is tried here."""
    address = str(folder / "store.db")
    init_store(address)
    settings = {**SETTINGS, **broker.settings}
    return Pool(Deployment(folder, "sqlite", address, broker.url, settings))


@pytest.fixture
def redis_of_its_own() -> Iterator[RedisServer]:
    """A Redis that the test may break."""
    with service():
        server = RedisServer()
    with server:
        yield server


@pytest.fixture
def rabbit_of_its_own() -> Iterator[RabbitServer]:
    """A RabbitMQ that the test may break."""
    with service():
        server = RabbitServer()
    with server:
        yield server


@pytest.mark.parametrize("kind", ["redis", pytest.param("rabbitmq", marks=soak)])
def test_a_broker_may_be_down_at_start_and_restart_under_load(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Worker and beat wait for it; Redis keeps nothing over its restart, and nothing is missed."""
    broker: BrokerPlace
    if kind == "redis":
        server = request.getfixturevalue("redis_of_its_own")
        broker = RedisPlace(server)
    else:
        server = request.getfixturevalue("rabbit_of_its_own")
        broker = RabbitPlace(server, "retention", tmp_path / "results")
    pool = pool_on(broker, tmp_path)
    pool.seed("due")
    server.stop()
    with pool.running():
        pool.says("Cannot connect to")
        server.start()
        pool.begin("due")
        server.kill()
        server.start()
        pool.ends()


@soak
@pytest.mark.parametrize("kind", ["redis", "filesystem", "rabbitmq"])
def test_a_broker_may_lose_all_it_holds(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Nobody has to be restarted: beat's next tick gets through, and so does a call."""
    broker = broker_place(request, kind, tmp_path)
    with contextlib.closing(broker):
        pool = pool_on(broker, tmp_path)
        pool.seed("due")
        with pool.running():
            pool.begin("due")
            broker.lose_everything()
            pool.ends()
            pool.seed("more", 4)
            pool.ends()


def test_a_redis_that_is_full_holds_up_the_sweep_and_no_more(
    redis_of_its_own: RedisServer, tmp_path: Path
) -> None:
    pool = pool_on(RedisPlace(redis_of_its_own), tmp_path)
    pool.seed("due")
    with (
        contextlib.closing(redis.Redis.from_url(redis_of_its_own.url())) as client,
        pool.running(),
    ):
        pool.begin("due")
        client.config_set("maxmemory", "1")
        pool.says("OOM command not allowed", "OutOfMemoryError")
        client.config_set("maxmemory", "0")
        pool.ends()


@soak
def test_a_message_folder_that_cannot_be_used_holds_up_the_sweep_and_no_more(
    tmp_path: Path,
) -> None:
    """Root may write to a read-only folder, so a file stands in its place."""
    broker = FilesystemPlace(tmp_path / "broker")
    pool = pool_on(broker, tmp_path)
    pool.seed("due")
    with pool.running():
        pool.begin("due")
        broker.messages.rename(broker.messages.with_name("away"))
        broker.messages.touch()
        pool.says("Not a directory")
        broker.messages.unlink()
        pool.ends()
