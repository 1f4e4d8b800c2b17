"""The servers that tests ask for by naming a fixture."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.servers import (
    ExternalPostgres,
    ExternalRabbit,
    ExternalRedis,
    Postgres,
    PostgresServer,
    Rabbit,
    RabbitServer,
    Redis,
    RedisCluster,
    RedisServer,
    SentinelRedis,
    ServiceMissingError,
    TlsRedis,
)
from tests.servers.pushgateway import PushgatewayServer
from tests.servers.redis_programs import NoWheelError, packaged_redis, redis62, valkey


def pytest_configure() -> None:
    """Undo what a shell does to background jobs: tests and the commands they start heed Ctrl-C.

    Sweeps in the process of the tests are not to make it stand back behind other tests.
    """
    os.environ.setdefault("SWEEP_NICE", "0")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def service() -> Iterator[None]:
    """A service that is missing skips the test on a developer's machine and fails it in CI."""
    try:
        yield
    except NoWheelError as error:
        pytest.skip(str(error))
    except ServiceMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """One PostgreSQL for the whole run. A test that stops or breaks its server starts its own."""
    url = os.environ.get("TEST_POSTGRES_URL")
    if url:
        yield ExternalPostgres(url)
        return
    with service():
        server = PostgresServer()
    with server:
        yield server


@pytest.fixture
def postgres_dsn(postgres_server: Postgres) -> Iterator[str]:
    """The address of an empty database that only this test knows."""
    name = postgres_server.create_database()
    yield postgres_server.dsn(name)
    postgres_server.drop_database(name)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    """One Redis for the whole run. A test that stops or breaks its server starts its own."""
    url = os.environ.get("TEST_REDIS_URL")
    if url:
        yield ExternalRedis(url)
        return
    with service():
        server = RedisServer()
    with server:
        yield server


@pytest.fixture
def redis_url(redis_server: Redis) -> str:
    """The address of an empty Redis database."""
    redis_server.flush()
    return redis_server.url()


@pytest.fixture(scope="session")
def redis_store_server() -> Iterator[RedisServer]:
    """The Redis that stores are opened on: never the broker's, and always a server of our own."""
    with service():
        server = RedisServer()
    with server:
        yield server


@pytest.fixture
def redis_store_url(redis_store_server: RedisServer) -> str:
    """The address of that Redis, whose databases are all empty."""
    redis_store_server.flush()
    return redis_store_server.url()


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[RedisServer]:
    """One Valkey for the whole run; a test empties it first."""
    with service():
        server = RedisServer(program=valkey())
    with server:
        yield server


@pytest.fixture(scope="session")
def redis62_server() -> Iterator[RedisServer]:
    """One Redis of the oldest release supported, where there is one; a test empties it first."""
    with service():
        server = RedisServer(program=redis62())
    with server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[RedisCluster]:
    """One Cluster for the whole run; a test empties it first."""
    with service():
        packaged_redis()
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def redis_sentinel() -> Iterator[SentinelRedis]:
    """One Redis behind Sentinel for the whole run; a test empties it first."""
    with service():
        server = SentinelRedis()
    with server:
        yield server


@pytest.fixture(scope="session")
def redis_tls() -> Iterator[TlsRedis]:
    """One Redis that is reached over TLS, for the whole run; a test empties it first."""
    with service():
        server = TlsRedis()
    with server:
        yield server


@pytest.fixture(scope="session")
def rabbit_server() -> Iterator[Rabbit]:
    """One RabbitMQ for the whole run. A test that stops or breaks its server starts its own."""
    url = os.environ.get("TEST_AMQP_URL")
    if url:
        yield ExternalRabbit(url)
        return
    with service():
        server = RabbitServer()
    with server:
        yield server


@pytest.fixture(scope="session")
def pushgateway() -> Iterator[PushgatewayServer]:
    """One Pushgateway for the whole run; each test has a store of another name."""
    with service():
        server = PushgatewayServer()
    with server:
        yield server
