"""What is no text in a row of this project's own on SQLite: one entry is broken, and no page."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from retention.errors import StoreError
from retention.explaining import explain
from retention.sweep import LocalDispatch, SweepOptions, open_run
from retention.threads import Hold, Verdict
from stores import Store
from tests.commands import Ran, retention_command
from tests.integration.places import Place
from tests.integration.sweeping import sweep, sweep_of
from tests.listings import all_holds
from tests.seeding import seed_thread, seed_threads

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)

#: No text, as literals of SQL: one that sorts before any instant, one behind, and bytes.
BROKEN = ("CAST(x'30ff' AS TEXT)", "CAST(x'ff' AS TEXT)", "x'30ff'")


@pytest.fixture
def store(sqlite_place: Place) -> Iterator[Store]:
    """A store with three finished threads that are due."""
    with sqlite_place.store() as store:
        seed_threads(store.saver, "t", 3, OLD)
        ids = ["t-0000", "t-0001", "t-0002"]
        store.ledger.start(ids)
        store.ledger.mark_finished(ids)
        sqlite_place.query(f"UPDATE retention_threads SET due_at = '{OLD.isoformat()}'")
        yield store


def change(place: Place, change: str, thread_id: str = "t-0001") -> None:
    """Change a thread's row by hand."""
    place.query(f"UPDATE retention_threads SET {change} WHERE thread_id = '{thread_id}'")


def command(place: Place, *arguments: str) -> Ran:
    """Run a command on the store."""
    return retention_command(*arguments, "--storage", place.address)


@pytest.mark.parametrize("value", BROKEN)
@pytest.mark.parametrize(
    "column",
    [
        *("started_at", "marked_at", "owner", "declared_waiting_minutes"),
        *("ended_at", "ended_by", "ended_reason"),
        *("hold_reason", "hold_until", "held_by", "held_at"),
    ],
)
@pytest.mark.parametrize("batch_size", [1, 500])
def test_a_thread_whose_entry_holds_no_text_stays_and_is_named_and_all_others_go(
    store: Store, sqlite_place: Place, column: str, value: str, batch_size: int
) -> None:
    """I5"""
    is_hold = column.startswith("h")
    change(sqlite_place, f"ended_at = '{OLD.isoformat()}'")
    if is_hold:
        change(sqlite_place, "hold_reason = 'audit'")
    change(sqlite_place, f"{column} = {value}")
    result = sweep(store, NOW, options=SweepOptions(batch_size=batch_size)).to_json()
    assert result["outcome"] == "partial"
    assert result["finished_swept"] == ["t-0000", "t-0002"]
    (failed,) = result["failed"]
    assert failed["thread_id"] == "t-0001"
    assert "what retention_threads says of thread 't-0001' cannot be read" in failed["error"]
    found = explain(sweep_of(store, LocalDispatch(), NOW), "t-0001")
    assert found is not None
    assert found.to_json()["verdict"] == Verdict.UNREADABLE


@pytest.mark.parametrize("batch_size", [1, 2, 500])
@pytest.mark.parametrize("value", BROKEN)
def test_pages_go_on_behind_a_due_time_that_is_no_text(
    store: Store, sqlite_place: Place, value: str, batch_size: int
) -> None:
    change(sqlite_place, f"due_at = {value}")
    result = sweep(store, NOW, options=SweepOptions(batch_size=batch_size)).to_json()
    assert (result["finished_swept"], sqlite_place.threads()) == (["t-0000", "t-0002"], {"t-0001"})


@pytest.mark.parametrize("batch_size", [1, 2, 500])
@pytest.mark.parametrize("value", BROKEN)
def test_an_entry_of_no_thread_is_left_alone_and_said_and_all_others_go(
    store: Store,
    sqlite_place: Place,
    value: str,
    batch_size: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    change(sqlite_place, f"thread_id = {value}")
    result = sweep(store, NOW, options=SweepOptions(batch_size=batch_size)).to_json()
    assert set(result["finished_swept"]) == {"t-0000", "t-0002"}
    assert f'thread_ids_unreadable threads=1 first="{value}"' in caplog.text
    assert sqlite_place.query("SELECT count(*) FROM retention_threads") == [(1,)]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_holds_of_no_thread_are_named_and_hide_no_other(
    store: Store, sqlite_place: Place, limit: int
) -> None:
    seed_thread(store.saver, "u", OLD)
    store.ledger.hold(["t-0000", "t-0001", "t-0002", "u"], Hold("audit"))
    change(sqlite_place, f"thread_id = {BROKEN[0]}", "t-0000")
    change(sqlite_place, f"thread_id = {BROKEN[2]}", "t-0001")
    found, faults = all_holds(store.ledger, limit)
    assert [entry.thread_id for entry in found] == ["t-0002", "u"]
    assert faults[BROKEN[0]] == (
        f"retention_threads holds {BROKEN[0]}, which is no id: delete that row"
    )
    assert set(faults) == {BROKEN[0], BROKEN[2]}


def test_bare_entries_are_dropped_beside_one_of_no_thread(
    store: Store, sqlite_place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    store.ledger.start(["bare", "broken"])
    for thread_id in ("bare", "broken"):
        change(sqlite_place, "started_at = '2020-01-01T00:00:00+00:00'", thread_id)
    change(sqlite_place, f"thread_id = {BROKEN[0]}", "broken")
    assert store.ledger.drop_bare(OLD, 10) == 1
    sweep(store, NOW)
    assert "old_records_stay" not in caplog.text


@pytest.mark.parametrize("value", BROKEN)
@pytest.mark.parametrize("column", ["run_id", "reason"])
def test_a_closed_run_that_holds_no_text_hides_no_other(
    store: Store, sqlite_place: Place, column: str, value: str
) -> None:
    sweep(store, NOW)
    other = sweep(store, NOW).run_id
    sqlite_place.query(f"UPDATE retention_runs SET {column} = {value} WHERE run_id <> '{other}'")
    listed = command(sqlite_place, "sweep", "history", "--json")
    assert listed.status == 0
    assert [run["run_id"] for run in listed.answer["runs"]] == [other]
    assert "event=run_unreadable" in listed.err
    assert command(sqlite_place, "sweep", "run").status == 0


@pytest.mark.parametrize("value", BROKEN)
def test_a_live_run_of_no_name_is_said_with_how_to_get_past_it(
    store: Store, sqlite_place: Place, value: str
) -> None:
    assert open_run(sweep_of(store, LocalDispatch(), NOW), "live", allow_over_limit=False) is None
    sqlite_place.query(f"UPDATE retention_runs SET run_id = {value}")
    with pytest.raises(StoreError, match=r"in retention_runs cannot be read .*: delete that row$"):
        store.runs.live()


@pytest.mark.parametrize("value", BROKEN)
@pytest.mark.parametrize(
    "column",
    ["run_id", "number", "source_run", "claimed_until", "done_at", "deliver_at", "deliveries"],
)
def test_a_batch_that_holds_no_text_stops_no_sweep(
    store: Store, sqlite_place: Place, column: str, value: str
) -> None:
    sweep(store, NOW)
    sqlite_place.query(f"UPDATE retention_batches SET {column} = {value}")
    seed_thread(store.saver, "later", OLD)
    assert command(sqlite_place, "sweep", "status").status == 0
    assert sweep(store, NOW).to_json()["waiting_swept"] == ["later"]


@pytest.mark.parametrize("value", BROKEN)
def test_a_delivery_that_holds_no_text_is_shown_or_left_out(
    store: Store, sqlite_place: Place, value: str
) -> None:
    sweep(store, NOW)
    sqlite_place.query(f"UPDATE retention_batches SET deliver_at = {value}")
    (owed,) = store.runs.deliveries.listing(5)
    assert owed.deliver_at.year == 1970
    sqlite_place.query(f"UPDATE retention_batches SET run_id = {value}")
    assert store.runs.deliveries.listing(5) == []
    assert store.runs.deliveries.pending(NOW, 5) == []


@pytest.mark.parametrize("value", BROKEN)
@pytest.mark.parametrize("column", ["paused_at", "paused_until", "paused_by", "reason"])
@pytest.mark.usefixtures("store")
def test_a_pause_that_holds_no_text_is_said_with_how_to_get_past_it(
    sqlite_place: Place, column: str, value: str
) -> None:
    assert command(sqlite_place, "sweep", "pause").status == 0
    sqlite_place.query(f"UPDATE retention_pauses SET {column} = {value}")
    refused = command(sqlite_place, "sweep", "status")
    assert refused.status == 1
    assert refused.err.startswith("retention: the pause in retention_pauses cannot be read (")
    assert "`retention sweep pause` puts another in its place" in refused.err
    assert command(sqlite_place, "sweep", "pause").status == 0
    assert command(sqlite_place, "sweep", "resume").status == 0
    assert command(sqlite_place, "sweep", "status").status == 0


def test_status_of_a_store_logs_no_error(
    store: Store, sqlite_place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        sweep(store, NOW)
        assert command(sqlite_place, "sweep", "status").err == ""
    assert caplog.messages == []
