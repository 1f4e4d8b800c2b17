"""SQLite lets one connection write at a time: how a sweep leaves room for the others."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from retention.abilities import SharesOneWriter
from retention.sweep import LocalDispatch, SharedPace, SweepOptions, run_sweep
from stores import Store
from stores.sqlite.deleter import SqliteDeleter
from tests.integration.places import Place
from tests.integration.sweeping import sweep_of
from tests.integration.transactions import Transactions, write
from tests.seeding import seed_thread

NOW = datetime.now(UTC)
THREADS = 220


@dataclass
class Clock:
    """An instant that a test moves on."""

    at: datetime = NOW

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def transactions(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Transactions:
    """Counts the transactions that delete; others write beside them where the test says so."""
    return Transactions(sqlite_place, request.param).of(SqliteDeleter, monkeypatch)


def others_write(store: Store) -> bool:
    """Whether the store is taken to be written by others."""
    assert isinstance(store.deleter, SharesOneWriter)
    return store.deleter.others_write()


def test_others_are_taken_to_write_for_a_minute_after_their_commit(sqlite_place: Place) -> None:
    clock = Clock()
    with sqlite_place.store(clock=clock) as store:
        assert not others_write(store)
        store.ledger.start(["ours"])
        assert not others_write(store)
        write(sqlite_place)
        assert others_write(store)
        clock.at += timedelta(seconds=59)
        assert others_write(store)
        clock.at += timedelta(seconds=1)
        assert not others_write(store)


def test_an_open_file_that_nobody_writes_to_is_not_shared(sqlite_place: Place) -> None:
    with sqlite_place.store() as store, sqlite_place.saver("ours") as other:
        other.get_tuple({"configurable": {"thread_id": "t"}})
        assert not others_write(store)


def test_on_postgresql_no_writer_waits_for_the_sweep(postgres_place: Place) -> None:
    with postgres_place.store() as store:
        assert not isinstance(store.deleter, SharesOneWriter)


@pytest.mark.parametrize(
    ("transactions", "pace", "sizes"),
    [
        (False, SharedPace.AUTO, [100, 100, 20]),
        (True, SharedPace.AUTO, [100, 50, 50, 20]),
        (True, SharedPace.UNPACED, [100, 100, 20]),
        (False, SharedPace.PACED, [50, 50, 50, 50, 20]),
    ],
    indirect=["transactions"],
)
def test_transactions_are_small_while_others_write(
    sqlite_place: Place, transactions: Transactions, pace: SharedPace, sizes: list[int]
) -> None:
    with sqlite_place.saver("ours") as saver:
        for number in range(THREADS):
            seed_thread(saver, f"t{number}", NOW - timedelta(days=30))
    options = SweepOptions(batch_size=100, shared_pace=pace)
    with sqlite_place.store() as store:
        local = LocalDispatch()
        run_sweep(sweep_of(store, local, NOW, options=options), local, "run")
    assert transactions.sizes == sizes
