"""What the totals say of all runs, and of the latest one: also of runs that have no record."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from retention.errors import ClaimLostError, StoreError
from retention.ports import RunLog
from retention.runs import Latest, RunOutcome
from retention.sweep import open_run
from retention.threads import Horizon
from stores import Access
from tests.contract.lab import NOW, Claims, Lab, in_sql, run_sweep
from tests.contract.pool import LEASE, Queue, a_run, opened


class Notes:
    """Metrics that only note which runs ended, and what the totals were then."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []

    def push(self, run_id: str, runs: RunLog) -> None:
        self.told.append((run_id, sum(n for s, n in runs.totals().items() if s[:5] == "runs:")))


class Unavailable:
    """A filter that is not there."""

    owner = "away"

    def claims(self, thread_ids: object) -> list[str]:
        raise RuntimeError("away")


def test_nothing_is_known_before_the_first_run(lab: Lab) -> None:
    assert lab.store.runs.totals() == {}
    assert lab.store.runs.latest() == Latest()


def test_a_completed_run_is_the_latest_and_the_last_success(lab: Lab) -> None:
    lab.seed("due", 30, marked=20)
    sweep = lab.sweep(dispatch=Queue())
    assert open_run(sweep, "r", allow_over_limit=False) is None
    assert lab.store.runs.latest() == Latest(due={Horizon.FINISHED: 1, Horizon.WAITING: 0})
    lab.clock.advance(2)
    assert lab.store.runs.stop("r", RunOutcome.COMPLETED, "", lab.clock.now)
    assert lab.store.runs.close("r", lab.clock.now) is not None
    assert lab.store.runs.latest() == Latest(
        NOW + timedelta(minutes=2),
        NOW + timedelta(minutes=2),
        timedelta(minutes=2),
        {Horizon.FINISHED: 1, Horizon.WAITING: 0},
    )


@pytest.mark.parametrize("ends_as", [RunOutcome.FAILED, RunOutcome.REFUSED, RunOutcome.PARTIAL])
def test_only_a_completed_run_advances_the_last_success(lab: Lab, ends_as: RunOutcome) -> None:
    lab.run()
    lab.clock.advance(5)
    lab.seed("due", 30, marked=20)
    if ends_as is RunOutcome.PARTIAL:
        opened(lab, ["a"])
        lab.store.runs.stop("r", RunOutcome.PARTIAL, "stopped", lab.clock.now)
        run = lab.store.runs.close("r", lab.clock.now)
        assert run is not None
        assert run.outcome is ends_as
    else:
        filters = [Unavailable()] if ends_as is RunOutcome.FAILED else []
        limit: dict[str, Any] = {} if filters else {"max_threads": 0}
        assert lab.run(*filters, **limit).outcome is ends_as
    latest = lab.store.runs.latest()
    assert (latest.run_at, latest.success_at) == (NOW + timedelta(minutes=5), NOW)
    assert lab.store.runs.totals()[f"runs:{ends_as}"] == 1


def test_a_skipped_run_counts_and_is_not_the_latest(lab: Lab) -> None:
    lab.run()
    before = lab.store.runs.latest()
    assert lab.store.runs.open(a_run(lab, "live"), "plan")
    lab.clock.advance(1)
    for _ in range(2):
        result = open_run(lab.sweep(dispatch=Queue()), "late", allow_over_limit=False)
        assert result is not None
        assert result.outcome is RunOutcome.SKIPPED_LOCKED
    assert lab.store.runs.latest() == before
    assert lab.store.runs.totals() == {"runs:completed": 1, "runs:skipped_locked": 2}


def test_a_refused_plan_says_what_was_due(lab: Lab) -> None:
    for number in range(3):
        lab.seed(f"t{number}", 30, marked=20)
    assert lab.run(max_threads=2).outcome is RunOutcome.REFUSED
    assert lab.store.runs.latest().due == {Horizon.FINISHED: 3, Horizon.WAITING: 0}
    lab.run()
    lab.run()
    assert lab.store.runs.latest().due == {Horizon.FINISHED: 0, Horizon.WAITING: 0}


def test_a_plan_that_was_taken_over_notes_nothing(lab: Lab) -> None:
    assert lab.store.runs.open(a_run(lab), "plan")
    with pytest.raises(ClaimLostError):
        lab.store.runs.note_due("r", "other", {Horizon.WAITING: 9}, NOW + LEASE)
    assert lab.store.runs.latest() == Latest()


def test_totals_equal_what_was_done_after_the_history_is_forgotten(lab: Lab) -> None:
    """Records of runs go; what they add up to stays, and so does the latest."""
    lab.seed("kept", 30, marked=20)
    for round_ in range(3):
        for number in range(round_ + 1):
            lab.seed(f"due-{round_}-{number}", 30, marked=20)
        run_sweep(lab.sweep(Claims("kept", owner="own:er"), history=timedelta(0)))
        lab.clock.advance(60 * 48)
    totals, latest = lab.store.runs.totals(), lab.store.runs.latest()
    for _ in range(4):
        run_sweep(lab.sweep(Claims("kept", owner="own:er"), history=timedelta(0)))
        lab.clock.advance(60 * 48)
    assert len(lab.store.runs.history(10)) < 7
    assert (totals["deleted:finished"], totals["spared:finished:own:er"]) == (6, 3)
    assert lab.store.runs.totals() == {
        **totals,
        "spared:finished:own:er": 7,
        "runs:completed": 7,
    }
    assert lab.store.runs.latest() != latest


def test_every_end_of_a_run_is_told_once_with_the_run_counted(lab: Lab) -> None:
    notes = Notes()

    def sweep(run_id: str, *filters: Unavailable, **options: Any) -> RunOutcome:
        told = replace(lab.sweep(*filters, **options), metrics=notes)
        return run_sweep(told, run_id).outcome

    lab.seed("due", 30, marked=20)
    assert sweep("refused", max_threads=0) is RunOutcome.REFUSED
    assert sweep("failed", Unavailable()) is RunOutcome.FAILED
    assert sweep("done") is RunOutcome.COMPLETED
    assert lab.store.runs.open(a_run(lab, "live"), "plan")
    assert sweep("skipped") is RunOutcome.SKIPPED_LOCKED
    assert notes.told == [("refused", 1), ("failed", 2), ("done", 3), ("skipped", 4)]


def test_a_skip_that_cannot_be_counted_is_still_answered(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert lab.store.runs.open(a_run(lab, "live"), "plan")

    def fail(outcome: RunOutcome) -> None:
        raise StoreError("no room")

    monkeypatch.setattr(lab.store.runs, "count_unopened", fail)
    result = open_run(lab.sweep(dispatch=Queue()), "late", allow_over_limit=False)
    assert result is not None
    assert result.outcome is RunOutcome.SKIPPED_LOCKED
    assert "no room" in caplog.text


@in_sql
def test_due_threads_are_told_apart_by_horizon(lab: Lab) -> None:
    lab.seed("due", 30, marked=20)
    lab.seed("old", 90)
    lab.seed("older", 95)
    lab.run()
    assert lab.store.runs.latest().due == {Horizon.FINISHED: 1, Horizon.WAITING: 2}


@in_sql
def test_a_store_without_our_tables_has_no_totals(lab: Lab) -> None:
    """One that a stock saver made, opened to read only."""
    with lab.sql.without_own_tables(), lab.other(access=Access.READ) as store:
        assert (store.runs.totals(), store.runs.latest()) == ({}, Latest())
