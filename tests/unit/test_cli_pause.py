"""`retention sweep pause` and `resume`: what they say, and what a sweep does meanwhile."""

from pathlib import Path

import pytest

from stores import open_store
from tests.commands import command_on
from tests.unit.live_runs import live_run
from tests.unit.test_cli_sweep import thread_ids


def test_a_pause_keeps_sweeps_from_beginning_until_it_is_resumed(path: Path) -> None:
    before = thread_ids(path)
    paused = command_on(path, "sweep", "pause", "--by", "ops", "--reason", "a migration")
    assert (paused.status, paused.out) == (
        0,
        "sweeps are paused by ops until resumed: a migration\n",
    )
    ran = command_on(path, "sweep", "run", "--json")
    assert (ran.status, ran.answer["outcome"]) == (5, "refused")
    assert ran.answer["reason"] == "sweeps are paused by ops until resumed: a migration"
    assert thread_ids(path) == before
    assert command_on(path, "sweep", "run", "--dry-run").status == 0
    shown = command_on(path, "sweep", "status").out.splitlines()
    assert shown == ["sweeps are paused by ops until resumed: a migration", "no sweep is live"]
    assert command_on(path, "sweep", "resume").out == "sweeps are resumed\n"
    assert command_on(path, "sweep", "status").out.splitlines() == ["no sweep is live"]
    assert command_on(path, "sweep", "run").status == 0
    assert thread_ids(path) < before


def test_pause_and_resume_name_the_run_they_hold_up(path: Path) -> None:
    live_run(path)
    paused = command_on(path, "sweep", "pause")
    assert "run live-run begins no further batch" in paused.out
    status = command_on(path, "sweep", "status", "--json").answer
    assert (status["pause"]["until"], status["live"]["stale"]) == (None, False)
    assert "time left" not in command_on(path, "sweep", "status").out
    resumed = command_on(path, "sweep", "resume")
    assert "the next sweep goes on with run live-run" in resumed.out
    # Nobody renews it, so that the next sweep sends its batches again.
    assert command_on(path, "sweep", "status", "--json").answer["live"]["stale"] is True


def test_pause_and_resume_answer_with_one_json_object(path: Path) -> None:
    until = "2999-01-01T00:00:00+00:00"
    paused = command_on(path, "sweep", "pause", "--until", until, "--by", "ops", "--json").answer
    at = command_on(path, "sweep", "status", "--json").answer["pause"]["at"]
    pause = {"at": at, "until": until, "by": "ops", "reason": None}
    assert paused == {"pause": pause, "run_id": None}
    resumed = command_on(path, "sweep", "resume", "--json").answer
    assert resumed == {"pause": None, "was_paused": True, "run_id": None}
    again = command_on(path, "sweep", "resume", "--json").answer
    assert again["was_paused"] is False
    assert command_on(path, "sweep", "status", "--json").answer["pause"] is None


def test_a_pause_may_end_after_a_while(path: Path) -> None:
    assert command_on(path, "sweep", "pause", "--until", "30m").status == 0
    with open_store(str(path)) as store:
        pause = store.runs.pauses.current()
    assert pause is not None
    assert pause.until is not None
    assert (pause.until - pause.at).total_seconds() == pytest.approx(1800, abs=5)


def test_resume_without_a_pause_says_so(path: Path) -> None:
    assert command_on(path, "sweep", "resume").out == "sweeps are not paused\n"


@pytest.mark.parametrize(
    ("until", "said"),
    [
        ("soon", "neither a time such as 2026-07-01T00:00:00Z nor a while such as 2h"),
        ("1234567d", "neither a time"),
        ("2001-01-01T00:00:00Z", "a pause's end must lie ahead"),
        ("2999-01-01T00:00:00", "a pause's end needs a time zone"),
    ],
)
def test_an_end_that_is_none_is_refused(path: Path, until: str, said: str) -> None:
    ran = command_on(path, "sweep", "pause", "--until", until)
    assert ran.status == 2
    assert said in ran.err
    assert command_on(path, "sweep", "status", "--json").answer["pause"] is None


def test_a_plan_above_a_limit_is_refused_with_how_to_let_it_pass(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEP_MAX_THREADS", "3")
    before = thread_ids(path)
    for arguments in ((), ("--dry-run",)):
        ran = command_on(path, "sweep", "run", *arguments)
        assert ran.status == 5
        assert f" of {len(before)} threads, above the limit of 3 (SWEEP_MAX_THREADS)" in ran.out
        assert "--allow-over-limit" in ran.out
        assert thread_ids(path) == before
    assert command_on(path, "sweep", "run", "--allow-over-limit").status == 0
    assert thread_ids(path) < before


def test_a_limit_that_this_store_cannot_tell_of_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEP_MAX_LOCK_WAITS", "3")
    ran = command_on(path, "sweep", "run")
    assert ran.status == 2
    assert "the sqlite store tells nothing of replicas and lock waits" in ran.err
    # Whoever wants to look or to cancel may all the same.
    assert command_on(path, "sweep", "status").status == 0
