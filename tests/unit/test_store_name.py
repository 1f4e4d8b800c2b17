"""What a store is called: the same in each worker, another for another store, nothing secret."""

from pathlib import Path

import pytest

from worker.metrics.naming import store_name
from worker.settings import load_store_settings, load_sweep_settings


def name(address: str, **sweep: str) -> str:
    """The name of the store at an address."""
    store = load_store_settings({}, None, storage=address)
    return store_name(store, load_sweep_settings(sweep, None))


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://app:geheim@db.internal:5432/agents", "postgres:db.internal/agents"),
        ("postgres://db.internal/agents?sslmode=require", "postgres:db.internal/agents"),
        ("postgresql://app@db:6432/agents", "postgres:db:6432/agents"),
        ("postgresql://app@[::1]:5433/agents", "postgres:[::1]:5433/agents"),
        ("postgresql://a:1@h1:1,h2:2/agents", "postgres:h1:1,h2:2/agents"),
        ("postgresql:///agents?host=%2Frun%2Fpg&port=5433", "postgres:/run/pg:5433/agents"),
        ("postgresql:///agents", "postgres:localhost/agents"),
        ("postgresql://db?dbname=agents&password=geheim", "postgres:db/agents"),
        (
            "postgresql://db/agents?options=-csearch_path%3Dblue",
            "postgres:db/agents?blue",
        ),
        ("postgresql://app:gehe/im@db/agents", "postgres:db/agents"),
    ],
)
def test_a_database_is_called_after_its_place(address: str, expected: str) -> None:
    assert name(address) == expected


def test_a_file_is_called_after_itself_and_told_from_one_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    relative, absolute = name("a/store.db"), name(f"sqlite:///{tmp_path}/a/store.db")
    assert relative == absolute
    assert relative.startswith("sqlite:store.db-")
    assert name("store.db") != relative


def test_a_name_that_was_set_is_the_name() -> None:
    assert name("postgresql://db/agents", SWEEP_STORE_NAME="blue") == "blue"
