"""Stores that another process is making at this moment: a stock saver makes its tables one by one.

Ours are made in one transaction, so that nobody sees some of them.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from langgraph.checkpoint.postgres.base import MIGRATIONS

from retention.errors import ConfigurationError, StoreUnavailableError
from stores import Access, StoreOptions, adopt_store
from stores.opening import store_ddl
from tests.integration.places import Place
from tests.seeding import seed_thread
from tests.waiting import eventually

NOW = datetime.now(UTC)
AT_ONCE = timedelta(0)
SAVER_TABLES = {
    "sqlite": ("checkpoints", "writes"),
    "postgres": ("checkpoints", "checkpoint_blobs", "checkpoint_writes"),
}


def half_made(place: Place, missing: str) -> None:
    """Make the saver's tables but one, as a stock saver that is not done leaves them."""
    with place.stock_saver():
        pass
    place.query(f"DROP TABLE {missing}")
    if place.provider == "postgres":
        place.query("DELETE FROM checkpoint_migrations")


def every_missing_table(place: Place) -> Iterator[str]:
    """Each of the saver's tables in turn, while all others are there."""
    for missing in SAVER_TABLES[place.provider]:
        half_made(place, missing)
        yield missing


def opens(place: Place) -> None:
    """Use a store that must be whole once it is open."""
    with place.store() as store:
        seed_thread(store.saver, "t", NOW)
    assert place.threads() == {"t"}


@pytest.mark.parametrize("number", [0, 1, -1])
def test_a_store_that_lacks_a_table_yet_is_opened_whole(place: Place, number: int) -> None:
    half_made(place, SAVER_TABLES[place.provider][number])
    opens(place)


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE])
def test_who_may_make_no_table_is_told_in_one_line_which_is_missing(
    place: Place, access: Access
) -> None:
    for missing in every_missing_table(place):
        with (
            pytest.raises(ConfigurationError) as raised,
            place.store(access=access, lock_timeout=AT_ONCE),
        ):
            pass
        line = str(raised.value)
        assert f"the table {missing} is missing" in line
        assert "`retention store init" in line
        assert "\n" not in line


@pytest.mark.parametrize("compresses", [None, True])
def test_a_half_made_store_is_not_adopted(place: Place, compresses: bool | None) -> None:
    for missing in every_missing_table(place):
        with pytest.raises(ConfigurationError, match=f"the table {missing} is missing"):
            adopt_store(
                place.address,
                settings=StoreOptions(lock_timeout=AT_ONCE),
                compresses=compresses,
            )
    opens(place)


@contextmanager
def beside(work: Callable[[], None]) -> Iterator[None]:
    """Work in a thread of its own, which ends with the block; what it raises is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again below
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(timeout=60)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


@pytest.mark.parametrize("statement", [MIGRATIONS[1], MIGRATIONS[3], MIGRATIONS[0]])
def test_a_stock_saver_that_makes_the_same_table_in_the_same_moment_fails_no_opening(
    postgres_place: Place, statement: str
) -> None:
    with psycopg.connect(postgres_place.address) as stock:
        stock.execute(statement.encode())
        with beside(lambda: opens(postgres_place)):
            eventually(lambda: waits_for_any_lock(postgres_place), "the opening waits")
            stock.commit()


def waits_for_any_lock(place: Place) -> bool:
    """Whether a session waits for what another one has not committed yet."""
    return place.query("SELECT count(*) FROM pg_locks WHERE NOT granted") != [(0,)]


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE])
def test_who_opens_a_file_that_is_half_made_waits_for_the_other_half(
    sqlite_place: Place, access: Access
) -> None:
    for statement in store_ddl(sqlite_place.address):
        sqlite_place.query(statement)
    writes = sqlite_place.query("SELECT sql FROM sqlite_master WHERE name = 'writes'")[0][0]
    sqlite_place.query("DROP TABLE writes")
    opened: list[bool] = []

    def opening() -> None:
        with sqlite_place.store(access=access, lock_timeout=timedelta(seconds=30)):
            opened.append(True)

    with beside(opening):
        assert opened == []
        sqlite_place.query(writes)
    assert opened == [True]


def test_a_switch_to_wal_waits_for_who_writes_and_not_for_ever(sqlite_place: Place) -> None:
    """SQLite itself refuses the switch at once while another process writes."""
    sqlite_place.query("CREATE TABLE notes (word TEXT)")
    with closing(sqlite3.connect(sqlite_place.address, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with (
            pytest.raises(StoreUnavailableError, match="locked"),
            sqlite_place.store(lock_timeout=AT_ONCE),
        ):
            pass
        writer.execute("ROLLBACK")
    opens(sqlite_place)
    assert sqlite_place.query("PRAGMA journal_mode") == [("wal",)]
