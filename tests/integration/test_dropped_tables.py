"""A table of this project's that somebody dropped is named; nothing makes it anew unasked."""

from datetime import UTC, datetime, timedelta

import pytest

from retention.errors import CheckpointStoreFormatError, ConfigurationError
from retention.threads import Hold
from stores import Access, adopt_store, init_store
from tests.integration.places import Place
from tests.integration.sweeping import would_sweep
from tests.seeding import seed_thread

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
HELD = {
    "retention_threads": "marks, declared retentions and holds",
    "retention_runs": "the record of every sweep",
    "retention_batches": "which threads each sweep was to delete",
    "retention_totals": "the totals over all sweeps",
    "retention_pauses": "whether sweeps are paused",
}


def lacking(place: Place, table: str) -> None:
    """A store with a held thread, in which somebody dropped a table."""
    with place.store() as store:
        seed_thread(store.saver, "old", OLD)
        store.ledger.hold(["old"], Hold("audit"))
    place.query(f"DROP TABLE {table}")


def is_there(place: Place, table: str) -> bool:
    catalog = {
        "sqlite": "SELECT count(*) FROM sqlite_master WHERE name = '{}'",
        "postgres": "SELECT count(*) FROM pg_tables WHERE tablename = '{}'",
    }
    return place.query(catalog[place.provider].format(table)) == [(1,)]


@pytest.mark.parametrize("table", HELD)
def test_a_store_that_lacks_a_table_is_refused_whatever_is_asked_of_it(
    place: Place, table: str
) -> None:
    lacking(place, table)
    for access in Access:
        with pytest.raises(ConfigurationError) as raised, place.store(access=access):
            pass
        line = str(raised.value)
        assert (
            f"the table {table} is gone while others of this project are there: "
            f"it held {HELD[table]}; restore it, or let `retention store init` make it anew, empty"
        ) in line
        assert "\n" not in line
        assert not is_there(place, table)


@pytest.mark.parametrize("compresses", [None, False])
def test_a_store_that_lacks_a_table_is_not_adopted_again(
    place: Place, compresses: bool | None
) -> None:
    lacking(place, "retention_threads")
    with pytest.raises(ConfigurationError, match="the table retention_threads is gone"):
        adopt_store(place.address, compresses=compresses)
    assert not is_there(place, "retention_threads")


def test_who_asks_for_it_gets_the_table_anew(place: Place) -> None:
    lacking(place, "retention_threads")
    init_store(place.address)
    with place.store(access=Access.WRITE) as store:
        assert store.ledger.entries(["old"]) == {}
        assert would_sweep(store, NOW).to_json()["waiting_swept"] == ["old"]


def test_where_the_record_of_the_format_is_gone_as_well_that_comes_first(place: Place) -> None:
    lacking(place, "retention_threads")
    place.query("DROP TABLE retention_format")
    with (
        pytest.raises(CheckpointStoreFormatError, match="no record of their format"),
        place.store(),
    ):
        pass


def test_the_first_use_of_an_empty_store_misses_nothing(place: Place) -> None:
    with place.stock_saver():
        pass
    with place.store(access=Access.WRITE) as store:
        assert would_sweep(store, NOW).to_json()["swept_count"] == 0
