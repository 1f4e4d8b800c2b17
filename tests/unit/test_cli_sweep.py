"""`retention sweep run`: what it prints, what it changes, and its exit status."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from retention.filters import FlowsEngineFilter
from retention.runs import RunOutcome
from tests.commands import command_on, retention_command
from tests.unit.live_runs import live_run
from worker.cli.exit_status import status_of


def thread_ids(path: Path) -> set[str]:
    """The threads that hold checkpoints."""
    with closing(sqlite3.connect(path)) as connection:
        return {row[0] for row in connection.execute("SELECT DISTINCT thread_id FROM checkpoints")}


def test_run_deletes_what_is_due_and_says_so(path: Path) -> None:
    ran = command_on(path, "sweep", "run")
    assert ran.status == 0
    assert "completed" in ran.out
    assert "flows-engine" in ran.out
    assert thread_ids(path) == {"parked", "fresh-0000", "fresh-0001"}


def test_run_answers_with_one_json_object(path: Path) -> None:
    ran = command_on(path, "--json", "sweep", "run")
    assert ran.status == 0
    assert ran.answer["outcome"] == "completed"
    assert ran.answer["swept_count"] == 5
    assert ran.answer["spared"] == [
        {"thread_id": "parked", "horizon": "waiting", "owner": "flows-engine"}
    ]


def test_options_count_wherever_they_stand_and_the_last_one_wins(path: Path) -> None:
    placed = retention_command(
        "--storage", "nowhere.db", "sweep", "--json", "status", "--storage", str(path)
    )
    owed = {"undelivered_batches": 0, "undelivered": []}
    assert placed.answer == {"live": None, "last": None, **owed, "pause": None}


def test_a_dry_run_says_the_same_and_changes_nothing(path: Path, folder: Path) -> None:
    before = path.read_bytes(), sorted(p.name for p in folder.iterdir())
    dry = command_on(path, "sweep", "run", "--dry-run", "--json")
    assert dry.status == 0
    assert (path.read_bytes(), sorted(p.name for p in folder.iterdir())) == before
    told = command_on(path, "sweep", "run", "--dry-run")
    assert "would delete" in told.out
    assert "nothing was changed" in told.out
    real = command_on(path, "sweep", "run", "--json")
    differ = ("run_id", "dry_run", "started_at", "duration_seconds")
    assert {k: v for k, v in dry.answer.items() if k not in differ} == {
        k: v for k, v in real.answer.items() if k not in differ
    }


def test_a_safety_limit_refuses_with_5_and_can_be_lifted_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEP_MAX_THREADS", "3")
    refused = command_on(path, "sweep", "run")
    assert refused.status == 5
    assert "SWEEP_MAX_THREADS" in refused.out
    assert len(thread_ids(path)) == 8
    assert command_on(path, "sweep", "run", "--allow-over-limit").status == 0


def test_another_sweep_leaves_with_4_and_is_named(path: Path) -> None:
    live_run(path)
    locked = command_on(path, "sweep", "run", "--json")
    assert locked.status == 4
    assert locked.answer["outcome"] == "skipped_locked"
    assert "live-run" in locked.answer["reason"]


def test_a_thread_that_cannot_be_deleted_leaves_with_3_and_is_named(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TRIGGER stuck BEFORE DELETE ON checkpoints WHEN old.thread_id = 'old-0002' "
            "BEGIN SELECT RAISE(ABORT, 'it is stuck'); END"
        )
    partial = command_on(path, "sweep", "run")
    assert partial.status == 3
    assert "old-0002" in partial.out
    assert "it is stuck" in partial.out
    assert " level=ERROR event=thread_failed " in partial.err
    assert thread_ids(path) == {"old-0002", "parked", "fresh-0000", "fresh-0001"}


def test_a_filter_that_fails_leaves_with_1_and_without_a_traceback(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("no answer")

    monkeypatch.setattr(FlowsEngineFilter, "claims", fails)
    failed = command_on(path, "sweep", "run")
    assert failed.status == 1
    assert "no answer" in failed.out
    assert "Traceback" not in failed.out + failed.err
    assert len(thread_ids(path)) == 8
    assert "Traceback" in command_on(path, "sweep", "run", "--debug").err
    assert command_on(path, "sweep", "run", "--dry-run").status == 1


@pytest.mark.parametrize("outcome", RunOutcome)
def test_every_outcome_has_its_exit_status(outcome: RunOutcome) -> None:
    statuses = {"completed": 0, "partial": 3, "budget_exhausted": 3, "failed": 1}
    statuses |= {"skipped_locked": 4, "refused": 5}
    assert status_of(outcome) == statuses[outcome]


def test_an_interrupted_run_says_what_is_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("worker.cli.sweep.run_sweep", interrupted)
    ran = command_on(path, "sweep", "run")
    assert ran.status == 130
    assert ran.err.count("\n") == 1
    assert "the next sweep works on the rest" in ran.err


def test_an_interrupt_anywhere_else_is_one_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("worker.cli.sweep.examine", interrupted)
    ran = command_on(path, "sweep", "run", "--dry-run")
    assert (ran.status, ran.err) == (130, "retention: interrupted\n")


def test_an_unexpected_error_is_one_line_that_names_the_way_to_its_traceback(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise LookupError("line one\nline two")

    monkeypatch.setattr("worker.cli.sweep.examine", breaks)
    ran = command_on(path, "sweep", "run", "--dry-run")
    assert ran.status == 1
    assert ran.err.startswith("retention: unexpected LookupError: line one line two")
    assert ran.err.count("\n") == 1
    assert "--debug" in ran.err
    traced = command_on(path, "sweep", "run", "--dry-run", "--debug")
    assert "Traceback" in traced.err
