"""One lab for each store; a test that names it runs on all of them.

On PostgreSQL applications come as the tables' owner, and the worker as the role of
``deploy/sql/worker-role.sql``: the whole sweep suite runs with no other rights.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from stores import Access, Store, StoreOptions, init_store, open_store
from stores.postgres.schema import POSTGRES_TABLES
from stores.redis.client import connected
from stores.redis_address import parse
from tests.contract.direct import Direct, DirectMemory
from tests.contract.direct_redis import DirectRedis
from tests.contract.direct_sql import DirectPostgres, DirectSqlite
from tests.contract.lab import POLICY, REDIS, Lab, SettableClock
from tests.servers import Postgres, Redis, run_role_script

PROVIDERS = ("memory", "sqlite", "postgres", *REDIS)


#: What the other servers of a Redis store run in every test run; all else there is in ./run soak.
_ON_EVERY_SERVER = {"test_sweep", "test_ledger", "test_savers"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to ./run soak what one more kind of Redis server hardly tells."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        server = callspec.params.get("provider") if callspec else None
        if server in REDIS and server != "redis" and item.path.stem not in _ON_EVERY_SERVER:
            item.add_marker(pytest.mark.soak)


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    """The store under test; ``on_disk`` and ``in_memory`` of the lab narrow it."""
    return str(request.param)


@dataclass(frozen=True)
class Addresses:
    """Where one store is for its owner's applications, and for its worker."""

    owner: str
    worker: str


@pytest.fixture(scope="session")
def shared_database(postgres_server: Postgres) -> Iterator[Addresses]:
    """One database for all labs: to empty its tables takes a tenth of the time to make them."""
    name, role = postgres_server.create_database(), f"worker_{uuid.uuid4().hex[:12]}"
    owner = postgres_server.dsn(name)
    init_store(owner, settings=StoreOptions(policy=POLICY))
    run_role_script("worker-role.sql", owner, role=role)
    password = uuid.uuid4().hex
    set_password = sql.SQL("ALTER ROLE {} PASSWORD {}")
    postgres_server.execute(set_password.format(sql.Identifier(role), sql.Literal(password)))
    yield Addresses(owner, postgres_server.dsn(name, role, password))
    postgres_server.drop_database(name)
    postgres_server.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.fixture
def emptied_database(shared_database: Addresses) -> Addresses:
    """The addresses of the labs' database, empty."""
    tables = "checkpoints, checkpoint_blobs, checkpoint_writes, " + ", ".join(POSTGRES_TABLES)
    with psycopg.connect(shared_database.owner, autocommit=True) as connection:
        connection.execute(f"TRUNCATE {tables}".encode())
        # What a test broke on purpose.
        connection.execute("DROP FUNCTION IF EXISTS broken CASCADE")
    return shared_database


@pytest.fixture
def addresses(provider: str, request: pytest.FixtureRequest, tmp_path: Path) -> Addresses:
    """The addresses of an empty store that only this test knows."""
    if provider == "postgres":
        found: Addresses = request.getfixturevalue("emptied_database")
        return found
    if provider in REDIS:
        server: Redis = request.getfixturevalue(REDIS[provider])
        server.flush()
        return Addresses(server.url(), server.url())
    address = "memory://" if provider == "memory" else f"sqlite:///{tmp_path / 'checkpoints.db'}"
    return Addresses(address, address)


@pytest.fixture
def address(addresses: Addresses) -> str:
    """The address of an empty store, as its owner."""
    return addresses.owner


@pytest.fixture(scope="session")
def redis_clients() -> Iterator[Callable[[str], Any]]:
    """Clients of the tests' own, one for each server: a cluster's takes long to make."""
    with ExitStack() as stack:

        def made(address: str) -> Any:
            place, options = parse(address), StoreOptions(policy=POLICY)
            return stack.enter_context(connected(place, options)).client

        yield cache(made)


@pytest.fixture
def metadata_keys() -> tuple[str, ...]:
    """What the lab's store reads of each head's metadata; a module may name some."""
    return ()


@pytest.fixture
def lab(
    provider: str,
    addresses: Addresses,
    redis_clients: Callable[[str], Any],
    metadata_keys: tuple[str, ...],
) -> Iterator[Lab]:
    """An opened store whose clock stands still."""
    clock = SettableClock()
    options = StoreOptions(
        policy=POLICY,
        clock=clock,
        lock_timeout=timedelta(seconds=20),
        metadata_keys=metadata_keys,
    )
    with ExitStack() as stack:
        owned = stack.enter_context(open_store(addresses.owner, settings=options))
        worker, direct = owned, _direct(owned, addresses.owner, stack, redis_clients)
        if provider == "postgres":
            as_worker = replace(options, access=Access.WRITE)
            worker = stack.enter_context(open_store(addresses.worker, settings=as_worker))
        yield Lab(addresses.owner, _joined(owned, worker), worker, options, clock, direct)


def _joined(owned: Store, worker: Store) -> Store:
    """What applications use as its owner, and what the sweep uses as its worker."""
    ports = (worker.threads, worker.deleter, worker.runs)
    asks = owned.asks if owned.holds_asks else None
    skipped = owned.waiting_skipped
    return Store(owned.provider, owned.ledger, *ports, lambda: owned.saver, skipped, asks=asks)


def _direct(
    store: Store, address: str, stack: ExitStack, redis_clients: Callable[[str], Any]
) -> Direct:
    if store.provider == "memory":
        return DirectMemory(store)
    if store.provider == "sqlite":
        return DirectSqlite(address.removeprefix("sqlite:///"))
    if store.provider == "redis":
        return DirectRedis(redis_clients(address))
    connection = psycopg.connect(address, autocommit=True)
    return DirectPostgres(stack.enter_context(connection))
