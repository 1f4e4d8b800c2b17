"""Databases for the integration tests: each fact is shown on SQLite and on PostgreSQL."""

from pathlib import Path

import pytest

from tests.integration.places import Place


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
