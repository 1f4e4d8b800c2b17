"""PostgreSQL has one log for all who write: how a sweep leaves room for the others."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from retention.abilities import SparesWriters
from retention.sweep import LocalDispatch, SweepOptions, run_sweep
from stores import Store
from stores.postgres.deleter import PostgresDeleter
from tests.integration.places import Place
from tests.integration.sweeping import sweep_of
from tests.integration.transactions import Transactions
from tests.seeding import seed_thread

NOW = datetime.now(UTC)
THREADS = 190


@pytest.fixture
def transactions(
    postgres_place: Place, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Transactions:
    """Counts the transactions that delete; others write beside them where the test says so."""
    return Transactions(postgres_place, request.param).of(PostgresDeleter, monkeypatch)


@pytest.mark.parametrize(
    ("transactions", "sizes"),
    [(False, [50, 50, 90]), (True, [50, 50, 50, 40])],
    indirect=["transactions"],
)
def test_transactions_are_small_at_first_and_while_others_write(
    postgres_place: Place, transactions: Transactions, sizes: list[int]
) -> None:
    with postgres_place.saver("ours") as saver:
        for number in range(THREADS):
            seed_thread(saver, f"t{number}", NOW - timedelta(days=30))
    with postgres_place.store() as store:
        local = LocalDispatch()
        run_sweep(sweep_of(store, local, NOW, options=SweepOptions()), local, "run")
    assert transactions.sizes == sizes


@dataclass
class Clock:
    """An instant that a test moves on."""

    at: datetime = NOW

    def __call__(self) -> datetime:
        return self.at


def met(store: Store, number: int | None) -> int | None:
    """What a store allows once a transaction of its own is to get this number."""
    deleter: Any = store.deleter
    deleter._met(number)
    assert isinstance(deleter, SparesWriters)
    return deleter.threads_at_once()


def test_others_are_taken_to_write_for_a_minute_after_more_numbers_went_than_ours(
    postgres_place: Place,
) -> None:
    clock = Clock()
    with postgres_place.store(clock=clock) as store:
        assert [met(store, 7), met(store, 7), met(store, 8)] == [50, None, 50]
        clock.at += timedelta(seconds=59)
        assert met(store, 8) == 50
        clock.at += timedelta(seconds=1)
        assert met(store, 8) is None
        store.ledger.start(["ours"])
        assert met(store, 9) is None


def test_a_transaction_under_way_is_a_writer(postgres_place: Place) -> None:
    with postgres_place.store(clock=Clock()) as store:
        assert [met(store, 7), met(store, None)] == [50, 50]
