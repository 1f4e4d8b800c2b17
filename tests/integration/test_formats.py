"""The format generation: recorded on first use, checked at each opening, never guessed."""

from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest

from retention.errors import CheckpointStoreFormatError
from stores import Access, StoreOptions, adopt_store, init_store, open_saver, open_store
from stores.opening import store_ddl
from tests.integration.places import Place
from tests.integration.sweeping import would_sweep
from tests.integration.test_opening_together import together
from tests.seeding import seed_thread

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)


def recorded(place: Place) -> list[tuple[Any, ...]]:
    """What a store says of its format."""
    return place.query("SELECT generation, compression FROM retention_format")


def tables(place: Place) -> set[str]:
    """The names of all tables."""
    catalog = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
        "postgres": "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
    }
    return {row[0] for row in place.query(catalog[place.provider])}


def refused(place: Place, access: Access = Access.WRITE) -> str:
    """The one line with which a store is refused for its format, by either API."""
    with pytest.raises(CheckpointStoreFormatError) as caught, place.store(access=access):
        pass
    line = str(caught.value)
    assert "\n" not in line
    return line


def seed_stock(place: Place) -> None:
    """An old thread by a stock saver, in a store that nobody adopted."""
    with place.stock_saver() as saver:
        seed_thread(saver, "old", OLD, checkpoints=2)


def test_the_first_use_of_an_empty_store_records_the_generation(place: Place) -> None:
    with place.store() as store:
        assert recorded(place) == [("10", "on")]
        seed_thread(store.saver, "t", NOW)
    with place.store(access=Access.WRITE) as store:
        assert recorded(place) == [("10", "on")]
    init_store(place.address)
    assert recorded(place) == [("10", "on")]


async def test_an_async_saver_records_and_checks_alike(place: Place) -> None:
    async with place.asaver("ours"):
        pass
    assert recorded(place) == [("10", "on")]
    place.query("UPDATE retention_format SET generation = '11'")
    with pytest.raises(CheckpointStoreFormatError, match="'11'"):
        async with place.asaver("ours"):
            pass


def test_an_empty_store_made_by_an_owner_gets_its_record_at_the_first_use(place: Place) -> None:
    for statement in store_ddl(place.address):
        place.query(statement)
    with place.store(access=Access.READ) as store:
        assert would_sweep(store, NOW).to_json()["swept_count"] == 0
    assert recorded(place) == []
    with place.store(access=Access.WRITE):
        assert recorded(place) == [("10", "on")]


def test_a_store_without_our_tables_is_not_paused(place: Place) -> None:
    with place.stock_saver():
        pass
    with place.store(access=Access.READ) as store:
        assert store.runs.pauses.current() is None


def test_an_empty_stock_store_is_ours_at_the_first_use(place: Place) -> None:
    with place.stock_saver():
        pass
    with place.store(access=Access.WRITE):
        assert recorded(place) == [("10", "on")]
    seed_stock(place)
    with place.store(access=Access.WRITE) as store:
        assert would_sweep(store, NOW).to_json()["swept_count"] == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("generation", "11"),
        ("generation", "3"),
        ("generation", ""),
        ("generation", "ten \u00e9\U0001f9ff"),
        ("generation", " 10"),
        ("generation", "1" * 4_000),
        ("compression", "maybe"),
    ],
)
def test_another_generation_or_garbage_is_refused_whatever_is_asked_of_the_store(
    place: Place, column: str, value: str
) -> None:
    with place.store() as store:
        seed_thread(store.saver, "old", OLD)
    place.query(f"UPDATE retention_format SET {column} = '{value}'")
    for access in Access:
        line = refused(place, access)
        assert repr(value[:40]) in line
        assert "reads generation 10 only" in line
        assert "reset the checkpoint store" in line
        assert len(line) < 400
    with pytest.raises(CheckpointStoreFormatError), open_saver(place.address):
        pass
    for compresses in (None, False):
        with pytest.raises(CheckpointStoreFormatError):
            adopt_store(place.address, compresses=compresses)
    assert recorded(place)[0][column == "compression"] == value
    assert place.rows("old")["checkpoints"] == 1


def test_a_store_of_another_generation_is_known_by_its_record_alone(place: Place) -> None:
    with place.store():
        pass
    place.query("UPDATE retention_format SET generation = '11'")
    place.query("DROP TABLE retention_totals")
    assert "'11'" in refused(place)
    with pytest.raises(CheckpointStoreFormatError, match="'11'"):
        adopt_store(place.address, compresses=False)
    assert "retention_totals" not in tables(place)


def test_a_record_that_is_gone_from_a_store_with_checkpoints_is_refused(place: Place) -> None:
    with place.store() as store:
        seed_thread(store.saver, "old", OLD)
    place.query("DELETE FROM retention_format")
    for access in Access:
        assert "`retention store adopt`" in refused(place, access)
    assert recorded(place) == []


@pytest.mark.parametrize("access", Access)
def test_a_stock_store_that_nobody_adopted_is_refused_and_left_as_it_is(
    place: Place, access: Access
) -> None:
    seed_stock(place)
    before = tables(place), place.rows("old")
    line = refused(place, access)
    assert "holds checkpoints and no record of their format" in line
    assert "`retention store adopt`" in line
    assert (tables(place), place.rows("old")) == before


def test_pending_writes_alone_are_a_store_that_is_not_empty(place: Place) -> None:
    seed_stock(place)
    place.query("DELETE FROM checkpoints")
    assert "`retention store adopt`" in refused(place)


def test_an_older_stock_store_is_not_migrated_before_it_is_adopted(postgres_place: Place) -> None:
    seed_stock(postgres_place)
    postgres_place.query("ALTER TABLE checkpoint_writes DROP COLUMN task_path")
    postgres_place.query("DELETE FROM checkpoint_migrations WHERE v = 9")
    refused(postgres_place, Access.CREATE)
    assert postgres_place.query("SELECT max(v) FROM checkpoint_migrations") == [(8,)]
    postgres_place.adopt()
    assert postgres_place.query("SELECT max(v) FROM checkpoint_migrations") == [(8,)]
    with postgres_place.saver("ours") as saver:
        assert len(list(saver.list({"configurable": {"thread_id": "old"}}))) == 2
    assert postgres_place.query("SELECT max(v) FROM checkpoint_migrations") == [(9,)]


def test_the_check_is_made_once_for_an_opened_store(place: Place) -> None:
    with place.store() as store:
        seed_thread(store.saver, "old", OLD)
        place.query("DELETE FROM retention_format")
        seed_thread(store.saver, "older", OLD)
        store.ledger.start(["old"])
        assert would_sweep(store, NOW).to_json()["waiting_swept"] == ["older"]


def test_the_format_recorded_first_stays(place: Place) -> None:
    init_store(place.address)
    place.query("UPDATE retention_format SET compression = 'off'")
    with place.store():
        assert recorded(place) == [("10", "off")]


def opens_and_writes(address: str, number: int, ready: Barrier, results: Any) -> None:
    """Open a store once all are ready, write a thread at once, and open it again."""
    try:
        ready.wait(timeout=60)
        for step in ("first", "again"):
            with open_store(address, settings=StoreOptions()) as store:
                seed_thread(store.saver, f"{step}-{number}", NOW)
        results.put(None)
    except Exception as error:  # noqa: BLE001 - the parent looks at it
        results.put(repr(error))


@pytest.mark.parametrize("made_by", ["nobody", "an owner", "a stock saver"])
def test_four_processes_that_use_an_empty_store_first_agree_on_one_record(
    place: Place, made_by: str
) -> None:
    if made_by == "an owner":
        for statement in store_ddl(place.address):
            place.query(statement)
    elif made_by == "a stock saver":
        with place.stock_saver():
            pass
    assert together(opens_and_writes, place.address, 4) == [None] * 4
    assert recorded(place) == [("10", "on")]
    assert len(place.threads()) == 8
