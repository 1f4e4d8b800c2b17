"""SQLite files that are locked, wrong, missing or closed: errors in one line, nothing created."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from retention.errors import ConfigurationError, RetentionError, StoreError, StoreUnavailableError
from stores import Access, StoreOptions, adopt_store, init_store
from tests.integration.places import Place
from tests.integration.sweeping import sweep, would_sweep
from tests.seeding import seed_thread, seed_threads

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
SOON = timedelta(milliseconds=50)


@contextmanager
def write_locked(place: Place) -> Iterator[None]:
    """Somebody else is writing, and does not come to an end."""
    with closing(sqlite3.connect(place.address, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def refusal(path: Path | str, access: Access, kind: type[RetentionError]) -> str:
    """The one line with which opening a file is refused."""
    with pytest.raises(kind) as caught, Place("sqlite", str(path)).store(access=access):
        pass
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_a_locked_file_is_unavailable_within_the_timeout_and_works_afterwards(
    sqlite_place: Place,
) -> None:
    with sqlite_place.store(lock_timeout=SOON) as store:
        seed_thread(store.saver, "old", OLD)
        with write_locked(sqlite_place):
            with pytest.raises(StoreUnavailableError, match="locked"):
                store.ledger.start(["old"])
            with pytest.raises(StoreUnavailableError, match="locked"):
                sweep(store, NOW)
            assert would_sweep(store, NOW).to_json()["waiting_swept"] == ["old"]
        assert sweep(store, NOW).to_json()["waiting_swept"] == ["old"]


def test_a_locked_stock_file_can_be_looked_at_and_not_adopted_yet(sqlite_place: Place) -> None:
    with sqlite_place.stock_saver() as saver:
        seed_thread(saver, "old", OLD)
    soon = StoreOptions(lock_timeout=SOON)
    with write_locked(sqlite_place):
        with pytest.raises(StoreUnavailableError, match="locked"):
            adopt_store(sqlite_place.address, settings=soon, compresses=False)
        assert adopt_store(sqlite_place.address, settings=soon).ids.threads == 1
    sqlite_place.adopt()
    with sqlite_place.store() as store:
        assert sweep(store, NOW).to_json()["waiting_swept"] == ["old"]


@pytest.mark.parametrize("access", Access)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(
    tmp_path: Path, access: Access
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    assert "not a database" in refusal(path, access, ConfigurationError)
    assert path.read_text() == "not a database, " * 100
    assert os.listdir(tmp_path) == ["notes.txt"]  # noqa: PTH208 - names only


@pytest.mark.parametrize("access", Access)
def test_a_folder_is_no_file(tmp_path: Path, access: Access) -> None:
    assert "is a folder" in refusal(tmp_path, access, ConfigurationError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE])
def test_a_mistyped_path_creates_nothing(tmp_path: Path, access: Access) -> None:
    assert "no such file" in refusal(tmp_path / "mistyped.db", access, ConfigurationError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("access", Access)
def test_a_missing_folder_is_named_and_not_made(tmp_path: Path, access: Access) -> None:
    line = refusal(tmp_path / "absent" / "store.db", access, ConfigurationError)
    assert "absent" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE])
def test_another_programs_database_is_no_store(tmp_path: Path, access: Access) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE notes (word TEXT)")
    assert "no checkpoint store" in refusal(path, access, ConfigurationError)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("notes",)]


@pytest.fixture
def read_only(sqlite_place: Place) -> Iterator[Place]:
    """A stock file that this process may not write; root may write anything."""
    with sqlite_place.saver("stock") as saver:
        seed_thread(saver, "old", OLD)
    path = Path(sqlite_place.address)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write read-only files")
    yield sqlite_place
    path.parent.chmod(0o755)


def test_a_read_only_file_can_be_looked_at_and_not_swept(read_only: Place) -> None:
    with read_only.store(access=Access.READ) as store:
        assert would_sweep(store, NOW).to_json()["waiting_swept"] == ["old"]
    assert "readonly" in refusal(read_only.address, Access.WRITE, StoreError)


def test_a_dry_run_leaves_a_stock_file_as_it_is(sqlite_place: Place) -> None:
    with sqlite_place.saver("stock") as saver:
        seed_thread(saver, "old", OLD)
        seed_thread(saver, "young", NOW)
    with sqlite_place.store(access=Access.READ) as store:
        assert would_sweep(store, NOW).to_json()["waiting_swept"] == ["old"]
        with pytest.raises(StoreError):
            store.ledger.start(["old"])
    assert sqlite_place.threads() == {"old", "young"}


def test_a_dry_run_makes_no_table_beside_an_empty_stock_store(sqlite_place: Place) -> None:
    with sqlite_place.stock_saver():
        pass
    with sqlite_place.store(access=Access.READ) as store:
        assert would_sweep(store, NOW).to_json()["swept_count"] == 0
    tables = {row[0] for row in sqlite_place.query("SELECT name FROM sqlite_master")}
    assert not {name for name in tables if name.startswith("retention_")}


def test_a_thread_that_cannot_be_deleted_and_one_that_has_no_date_stop_nobody(
    sqlite_place: Place,
) -> None:
    init_store(sqlite_place.address)
    with sqlite_place.store() as store:
        seed_threads(store.saver, "old", 6, OLD)
        sqlite_place.query(
            "INSERT INTO checkpoints (thread_id, checkpoint_id) VALUES ('foreign', 'zz-foreign')"
        )
        sqlite_place.query(
            "CREATE TRIGGER stuck BEFORE DELETE ON checkpoints WHEN OLD.thread_id = 'old-0003'"
            " BEGIN SELECT RAISE(ABORT, 'this row stays'); END"
        )
        result = sweep(store, NOW).to_json()
    assert result["outcome"] == "partial"
    assert [entry["thread_id"] for entry in result["failed"]] == ["old-0003"]
    assert "this row stays" in result["failed"][0]["error"]
    assert result["undatable"] == ["foreign"]
    assert (result["swept_count"], result["undatable_count"]) == (5, 1)
    assert sqlite_place.threads() == {"old-0003", "foreign"}
