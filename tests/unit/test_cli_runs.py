"""`retention sweep status`, `cancel` and `history`: what the run log says."""

from datetime import timedelta
from pathlib import Path

import pytest

from retention.policy import RetentionPolicy
from retention.runs import Outcome, Run, ThreadOutcome
from stores import open_store
from stores.options import now
from tests.commands import command_on
from tests.seeding import seed_thread
from tests.unit.live_runs import begin_run, live_run


def test_status_shows_a_live_run(path: Path) -> None:
    live_run(path)
    live = command_on(path, "sweep", "status", "--json").answer["live"]
    assert live["run_id"] == "live-run"
    assert (live["state"], live["stale"]) == ("sweeping", False)
    assert (live["batches_done"], live["batches_open"]) == (0, 2)
    assert (live["done_count"], live["remaining_count"]) == (0, 10)
    assert live["seconds_left"] is None
    shown = command_on(path, "sweep", "status").out
    assert "0 done, 2 open" in shown
    assert "lease" in shown


def test_status_tells_rate_and_time_left_once_threads_are_done(path: Path) -> None:
    with open_store(str(path)) as store:
        claim = begin_run(store)
        store.runs.record(claim, dict.fromkeys(range(5), ThreadOutcome(Outcome.GONE)))
        store.runs.finish_batch(claim, now())
    live = command_on(path, "sweep", "status", "--json").answer["live"]
    assert (live["batches_done"], live["batches_open"]) == (1, 1)
    assert (live["done_count"], live["remaining_count"]) == (5, 5)
    assert live["threads_per_second"] > 0
    assert live["seconds_left"] == pytest.approx(live["elapsed_seconds"], rel=0.01)
    assert "time left" in command_on(path, "sweep", "status").out


def test_status_tells_a_run_that_nobody_renews(path: Path) -> None:
    with open_store(str(path)) as store:
        begun = now() - timedelta(hours=2)
        run = Run("left-run", RetentionPolicy(), begun, begun + timedelta(minutes=5))
        assert store.runs.open(run, "token")
    assert command_on(path, "sweep", "status", "--json").answer["live"]["stale"] is True
    assert "the next sweep takes the run up again" in command_on(path, "sweep", "status").out


def test_status_without_a_live_run_tells_the_last(path: Path) -> None:
    assert command_on(path, "sweep", "status").out.strip() == "no sweep is live"
    run_id = command_on(path, "sweep", "run", "--json").answer["run_id"]
    answer = command_on(path, "sweep", "status", "--json").answer
    assert (answer["live"], answer["last"]["run_id"]) == (None, run_id)
    assert run_id in command_on(path, "sweep", "status").out


def test_cancel_says_what_it_would_do_until_it_is_told_yes(path: Path) -> None:
    assert command_on(path, "sweep", "cancel").out.startswith("no sweep is live")
    live_run(path)
    asked = command_on(path, "sweep", "cancel", "--json")
    assert (asked.status, asked.answer["would_cancel"]) == (0, True)
    assert "would cancel run live-run" in command_on(path, "sweep", "cancel").out
    assert command_on(path, "sweep", "status", "--json").answer["live"]["state"] == "sweeping"
    done = command_on(path, "sweep", "cancel", "--yes")
    assert done.status == 0
    assert "ends with those at work" in done.out
    assert command_on(path, "sweep", "status", "--json").answer["live"]["state"] == "stopping"


def test_cancel_closes_a_run_that_nobody_works_on(path: Path) -> None:
    with open_store(str(path)) as store:
        run = Run("idle-run", RetentionPolicy(), now(), now() + timedelta(hours=1))
        assert store.runs.open(run, "token")
    done = command_on(path, "sweep", "cancel", "--yes", "--json")
    assert done.answer["cancelled"] is True
    assert "nothing to cancel" in command_on(path, "sweep", "cancel", "--yes").out
    with open_store(str(path)) as store:
        # Whoever opened it may wait for its result: the pool hands that out.
        assert [run.run_id for run in store.runs.unpublished(10)] == ["idle-run"]


def sweeps(path: Path, count: int) -> list[str]:
    """Sweep a store several times; the ids of the runs, newest first."""
    runs = [command_on(path, "sweep", "run", "--json").answer["run_id"] for _ in range(count)]
    return runs[::-1]


def test_history_lists_runs_newest_first_page_by_page(path: Path) -> None:
    assert command_on(path, "sweep", "history").out.strip() == "no sweep is in the log"
    runs = sweeps(path, 3)
    first = command_on(path, "sweep", "history", "--limit", "2", "--json").answer
    assert [run["run_id"] for run in first["runs"]] == runs[:2]
    assert first["next_cursor"] == runs[1]
    rest = command_on(path, "sweep", "history", "--after", first["next_cursor"], "--json").answer
    assert [run["run_id"] for run in rest["runs"]] == runs[2:]
    assert rest["next_cursor"] is None
    shown = command_on(path, "sweep", "history", "--limit", "2").out
    assert f"--after {runs[1]}" in shown


def test_history_of_a_run_is_its_result(path: Path) -> None:
    result = command_on(path, "sweep", "run", "--json").answer
    told = command_on(path, "sweep", "history", result["run_id"], "--json").answer
    assert told.pop("state") == "closed"
    assert (told.pop("undelivered_batches"), told.pop("undelivered")) == (0, [])
    assert {**told, "duration_seconds": 0} == {**result, "duration_seconds": 0}
    assert "flows-engine" in command_on(path, "sweep", "history", result["run_id"]).out


def test_history_of_a_live_run_has_no_outcome_yet(path: Path) -> None:
    live_run(path)
    told = command_on(path, "sweep", "history", "live-run", "--json").answer
    assert (told["outcome"], told["state"], told["planned_count"]) == (None, "sweeping", 10)
    assert "sweeping" in command_on(path, "sweep", "history", "live-run").out
    listed = command_on(path, "sweep", "history", "live-run", "--threads", "--json").answer
    assert {thread["outcome"] for thread in listed["threads"]} == {None}
    assert "open" in command_on(path, "sweep", "history", "live-run", "--threads").out


def test_history_lists_every_thread_page_by_page(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEP_BATCH_SIZE", "2")
    (run_id,) = sweeps(path, 1)
    threads = [*("history", run_id, "--threads"), "--json"]
    whole = command_on(path, "sweep", *threads).answer
    assert (whole["run_id"], whole["next_cursor"]) == (run_id, None)
    assert sorted(t["thread_id"] for t in whole["threads"]) == [
        *(f"old-{n:04}" for n in range(5)),
        "parked",
    ]
    assert {t["thread_id"]: t["owner"] for t in whole["threads"]}["parked"] == "flows-engine"
    paged, cursor = [], None
    for _ in range(4):
        after = ("--after", cursor) if cursor else ()
        page = command_on(path, "sweep", *threads, "--limit", "2", *after).answer
        paged += page["threads"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert paged == whole["threads"]
    shown = command_on(path, "sweep", "history", run_id, "--threads", "--limit", "1").out
    assert shown.splitlines()[0].split() == ["outcome", "horizon", "thread", "owner", "or", "error"]
    assert shown.splitlines()[-1] == "more: --after 0.0"


def test_a_look_for_late_writes_lists_only_threads_that_had_some(path: Path) -> None:
    first, second = sweeps(path, 2)
    assert first != second
    listed = command_on(path, "sweep", "history", first, "--threads", "--json").answer
    assert [thread["thread_id"] for thread in listed["threads"]] == ["parked"]


def test_a_result_with_too_many_threads_to_name_says_where_they_are(path: Path) -> None:
    with open_store(str(path)) as store:
        for number in range(12):
            at = now() - timedelta(days=40)
            seed_thread(store.saver, f"parked-{number}", at, interrupted=True)
    result = command_on(path, "sweep", "run")
    assert result.out.count("flows-engine") == 10
    assert "--threads" in result.out


def test_init_makes_a_store_once_and_again(folder: Path) -> None:
    made = command_on(folder / "new.db", "store", "init", "--json")
    assert made.answer == {
        "provider": "sqlite",
        "storage": str(folder / "new.db"),
        "ready": True,
    }
    assert command_on(folder / "new.db", "store", "init").status == 0
    assert command_on(folder / "new.db", "sweep", "run").status == 0
    sql = command_on(folder / "other.db", "store", "init", "--print-sql", "--json").answer
    assert any("retention_runs" in statement for statement in sql["statements"])
    assert not (folder / "other.db").exists()
