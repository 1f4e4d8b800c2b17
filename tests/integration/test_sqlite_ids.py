"""SQLite keeps any bytes as an id: what is no text stops no sweep, stays, and is said once."""

import logging
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from retention.errors import StoreError
from retention.ids import lowest_id_at
from retention.sweep import SweepOptions
from stores import Access
from tests.integration.places import Place
from tests.integration.sweeping import sweep, would_sweep
from tests.seeding import config_of, seed_thread, seed_threads

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
OLD_ID = lowest_id_at(OLD)

#: Ids as literals of SQL: before, between and after those of threads that can be read.
UNREADABLE = (
    "CAST(x'00ff' AS TEXT)",
    "CAST(x'6f6c642d30303031ff' AS TEXT)",
    "CAST(x'ff' AS TEXT)",
    "x'6f6c64'",
    "x'ff00'",
)


def insert(place: Place, thread_id: str, checkpoint_id: str = f"'{OLD_ID}'") -> None:
    """Write a checkpoint as only a foreign program would; both ids are literals of SQL."""
    place.query(
        f"INSERT INTO checkpoints (thread_id, checkpoint_id) VALUES ({thread_id}, {checkpoint_id})"
    )


def stored(place: Place) -> set[str]:
    """The ids of all threads, as literals of SQL."""
    return {row[0] for row in place.query("SELECT DISTINCT hex(thread_id) FROM checkpoints")}


def test_a_thread_whose_id_is_no_text_is_left_alone_and_all_others_go(
    sqlite_place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with sqlite_place.store() as store:
        seed_threads(store.saver, "old", 5, OLD)
        for thread_id in UNREADABLE:
            insert(sqlite_place, thread_id)
        before = would_sweep(store, NOW).to_json()
        caplog.clear()
        result = sweep(store, NOW, options=SweepOptions(batch_size=2)).to_json()
    assert (result["outcome"], result["swept_count"], result["planned_count"]) == (
        ("completed", 5, 5)
    )
    assert before["waiting_swept"] == result["waiting_swept"]
    assert stored(sqlite_place) == {"00FF", "6F6C642D30303031FF", "FF", "6F6C64", "FF00"}
    lines = [r for r in caplog.records if r.getMessage().startswith("thread_ids_unreadable")]
    assert [record.levelno for record in lines] == [logging.ERROR] * len(lines)
    said = " ".join(record.getMessage() for record in lines)
    assert "CAST(x'00ff' AS TEXT)" in said


def test_the_log_names_a_row_so_that_it_can_be_found(
    sqlite_place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with sqlite_place.store() as store:
        insert(sqlite_place, "x'ff00'")
        assert sweep(store, NOW).to_json()["swept_count"] == 0
    (line,) = (r for r in caplog.messages if r.startswith("thread_ids_unreadable"))
    assert line == "thread_ids_unreadable threads=1 first=\"x'ff00'\""
    assert sqlite_place.query("SELECT count(*) FROM checkpoints WHERE thread_id = x'ff00'") == [
        (1,)
    ]


def test_a_young_thread_with_such_an_id_is_not_worth_a_line(
    sqlite_place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with sqlite_place.store() as store:
        insert(sqlite_place, "x'ff00'", f"'{lowest_id_at(NOW)}'")
        sweep(store, NOW)
    assert "thread_ids_unreadable" not in caplog.text


@pytest.mark.parametrize("checkpoint_id", ["CAST(x'ff' AS TEXT)", "x'ff'", "x'00'"])
def test_a_thread_with_a_checkpoint_id_that_is_no_text_is_undatable(
    sqlite_place: Place, checkpoint_id: str
) -> None:
    with sqlite_place.store() as store:
        seed_threads(store.saver, "old", 3, OLD)
        insert(sqlite_place, "'old-0001'", checkpoint_id)
        seed_thread(store.saver, "marked", OLD)
        insert(sqlite_place, "'marked'", checkpoint_id)
        store.ledger.mark_finished(["marked"])
        result = sweep(store, NOW + timedelta(days=2)).to_json()
    assert result["undatable"] == ["old-0001"]
    assert (result["finished_swept"], result["waiting_swept"]) == (
        ["marked"],
        ["old-0000", "old-0002"],
    )


def test_ids_beyond_ascii_are_text_in_every_encoding(sqlite_place: Place) -> None:
    with closing(sqlite3.connect(sqlite_place.address)) as connection:
        connection.execute("PRAGMA encoding = 'UTF-16le'")
        connection.execute("CREATE TABLE notes (word TEXT)")
    names = ["\u00e9", "\u4e2d\u6587", "\U0001f600", "plain"]
    with sqlite_place.store() as store:
        for name in names:
            seed_thread(store.saver, name, OLD)
        insert(sqlite_place, "x'ff00'")
        assert sorted(sweep(store, NOW).to_json()["waiting_swept"]) == sorted(names)


def test_an_id_that_no_database_can_keep_is_refused_in_one_line(place: Place) -> None:
    with place.store() as store:
        seed_thread(store.saver, "t", NOW)
        with pytest.raises(StoreError, match="is no UTF-8 text"):
            store.ledger.start(["\udcff"])
        assert store.saver.get_tuple(config_of("t")) is not None
    with place.store(access=Access.READ) as store:
        assert store.ledger.entries(["t"]) == {}
