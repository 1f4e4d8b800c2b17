"""One lab for each store; a test that names it runs on all of them."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from stores import StoreOptions, init_store, open_store
from stores.relational.schema import OWN_TABLES
from tests.contract.direct import Direct, DirectMemory, DirectPostgres, DirectSqlite
from tests.contract.lab import POLICY, Lab, SettableClock
from tests.servers import Postgres

PROVIDERS = ("memory", "sqlite", "postgres")


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    """The store under test; ``on_disk`` and ``in_memory`` of the lab narrow it."""
    return str(request.param)


@pytest.fixture(scope="session")
def shared_database(postgres_server: Postgres) -> Iterator[str]:
    """One database for all labs: to empty its tables takes a tenth of the time to make them."""
    name = postgres_server.create_database()
    init_store(postgres_server.dsn(name), settings=StoreOptions(policy=POLICY))
    yield postgres_server.dsn(name)
    postgres_server.drop_database(name)


@pytest.fixture
def emptied_database(shared_database: str) -> str:
    """The address of the labs' database, empty."""
    tables = "checkpoints, checkpoint_blobs, checkpoint_writes, " + ", ".join(OWN_TABLES)
    with psycopg.connect(shared_database, autocommit=True) as connection:
        connection.execute(f"TRUNCATE {tables}".encode())
        # What a test broke on purpose.
        connection.execute("DROP FUNCTION IF EXISTS broken CASCADE")
    return shared_database


@pytest.fixture
def address(provider: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store that only this test knows."""
    if provider == "postgres":
        return str(request.getfixturevalue("emptied_database"))
    return "memory://" if provider == "memory" else f"sqlite:///{tmp_path / 'checkpoints.db'}"


@pytest.fixture
def lab(provider: str, address: str) -> Iterator[Lab]:
    """An opened store whose clock stands still."""
    clock = SettableClock()
    options = StoreOptions(policy=POLICY, clock=clock, lock_timeout=timedelta(seconds=20))
    with ExitStack() as stack:
        store = stack.enter_context(open_store(address, settings=options))
        direct: Direct
        if provider == "memory":
            direct = DirectMemory(store)
        elif provider == "sqlite":
            direct = DirectSqlite(address.removeprefix("sqlite:///"))
        else:
            connection = psycopg.connect(address, autocommit=True)
            direct = DirectPostgres(stack.enter_context(connection))
        yield Lab(address, store, options, clock, direct)
