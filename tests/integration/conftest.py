"""Databases for the integration tests: each fact is shown on SQLite and on PostgreSQL."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import sql

from tests.integration.owning import World
from tests.integration.places import Place
from tests.servers import Postgres

#: The stores that owners are tried on.
OWNER_STORES = ("memory", "sqlite", "postgres", "redis")


#: Where "async" tells no more than "sync": both save every step. All modes run in ./run soak.
_ALIKE_IN_TWO_MODES = {"test_owners", "test_parked_graphs"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave one of LangGraph's three durability modes to ./run soak where it repeats another."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        mode = callspec.params.get("durability") if callspec else None
        if mode == "async" and item.path.stem in _ALIKE_IN_TWO_MODES:
            item.add_marker(pytest.mark.soak)


@pytest.fixture
def postgres_place(postgres_dsn: str) -> Place:
    """An empty PostgreSQL database."""
    return Place("postgres", postgres_dsn)


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Place:
    """The path of a SQLite file that does not exist yet."""
    return Place("sqlite", str(tmp_path / "checkpoints.db"))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    """An empty database of each kind."""
    found: Place = request.getfixturevalue(f"{request.param}_place")
    return found


@pytest.fixture(params=["stock", "ours"])
def who(request: pytest.FixtureRequest) -> str:
    """Whose saver runs the graph."""
    return str(request.param)


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    """Whether the saver is the sync or the async one."""
    return str(request.param)


@pytest.fixture(params=["sync", "async", "exit"])
def durability(request: pytest.FixtureRequest) -> str:
    """When LangGraph saves: at once, in the background, or at the end of a run."""
    return str(request.param)


@pytest.fixture(scope="session")
def owners_dsn(postgres_server: Postgres) -> Iterator[str]:
    """One database for all tests of owners: each uses thread ids of its own."""
    name = postgres_server.create_database()
    yield postgres_server.dsn(name)
    postgres_server.drop_database(name)


@pytest.fixture(params=OWNER_STORES)
def owner_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that owners can use."""
    servers = {"postgres": "owners_dsn", "redis": "redis_store_url"}
    if request.param in servers:
        return str(request.getfixturevalue(servers[request.param]))
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'owners.db'}"


@pytest.fixture
def here(owner_address: str, mode: str) -> Iterator[World]:
    """An open store, for sync or async runs."""
    with World.of(owner_address, mode) as opened:
        yield opened


@pytest.fixture
def role(postgres_server: Postgres) -> Iterator[str]:
    """The name of a role that the script is to make; it goes after the database."""
    name = f"role {uuid.uuid4().hex[:12]}"
    yield name
    postgres_server.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(name)))
