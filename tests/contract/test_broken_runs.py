"""A run whose record somebody broke by hand: it is named, and an operator gets past it."""

from typing import Any, cast

import pytest

from retention.errors import StoreError, StoreUnavailableError
from retention.runs import Outcome, RunOutcome, RunState
from retention.sweep import cancel_run, open_run, work_on
from tests.commands import command_on
from tests.contract.lab import POLICY, Lab
from tests.contract.pool import LEASE, Queue
from tests.seeding import seed_threads

in_sql = pytest.mark.parametrize("provider", ["sqlite", "postgres"], indirect=True)
BREAKS = ("state = 'zombie'", "waiting_minutes = -1", "outcome = 'fine'")


def break_run(lab: Lab, run_id: str, change: str) -> None:
    """Change the record of a run by hand."""
    cast(Any, lab.direct).execute(f"UPDATE retention_runs SET {change} WHERE run_id = '{run_id}'")


def broken(lab: Lab, change: str) -> None:
    """A live run that deleted two of its four threads, and whose record then broke."""
    thread_ids = seed_threads(lab.saver, "t", 4, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(thread_ids))
    sweep = lab.sweep(dispatch=Queue(), batch_size=2)
    assert open_run(sweep, "broken", allow_over_limit=False) is None
    assert work_on(sweep, "broken", 0).worked
    break_run(lab, "broken", change)


@in_sql
@pytest.mark.parametrize("change", BREAKS)
def test_every_sweep_names_the_command_that_gets_past_it(lab: Lab, change: str) -> None:
    broken(lab, change)
    lab.clock.now += LEASE * 2
    with pytest.raises(StoreError) as raised:
        lab.run()
    line = str(raised.value)
    assert line.startswith("the record of run 'broken' in retention_runs cannot be read (")
    assert line.endswith("): `retention sweep cancel broken --yes` ends it")


@in_sql
@pytest.mark.parametrize("change", BREAKS)
def test_once_cancelled_its_counts_are_in_the_totals_and_sweeps_go_on(
    lab: Lab, change: str
) -> None:
    broken(lab, change)
    run = cancel_run(lab.sweep(), "broken", "asked to")
    assert run is not None
    assert (run.state, run.outcome, run.policy) == (RunState.CLOSED, RunOutcome.FAILED, POLICY)
    assert run.reason == "asked to: its record could not be read"
    assert run.counts.total(Outcome.DELETED) == 2
    assert lab.store.runs.totals()["deleted:finished"] == 2
    lab.clock.advance(1)
    assert lab.run().counts.total(Outcome.DELETED) == 2
    assert lab.threads() == set()
    assert lab.store.runs.totals()["deleted:finished"] == 4
    assert [r.run_id for r in lab.store.runs.history(10)][1:] == ["broken"]


@in_sql
def test_a_batch_at_work_is_finished_before_the_broken_run_is_closed(lab: Lab) -> None:
    broken(lab, "state = 'sweeping'")
    claim = lab.store.runs.claim("broken", 1, "token", lab.clock.now, lab.clock.now + LEASE)
    assert claim is not None
    break_run(lab, "broken", "waiting_minutes = -1")
    run = cancel_run(lab.sweep(), "broken", "asked to")
    assert run is not None
    assert run.state is RunState.STOPPING
    lab.store.runs.finish_batch(claim, lab.clock.now)
    closed = cancel_run(lab.sweep(), "broken", "asked again")
    assert closed is not None
    assert (closed.state, closed.outcome) == (RunState.CLOSED, RunOutcome.FAILED)


@in_sql
def test_a_closed_run_that_broke_hides_no_other_and_stops_no_sweep(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    names = []
    for _ in range(4):
        lab.clock.advance(1)
        names.append(lab.run().run_id)
    for name in names[1:3]:
        break_run(lab, name, "waiting_minutes = -1, published_at = NULL")
    kept = [names[3], names[0]]
    assert [run.run_id for run in lab.store.runs.history(10)] == kept
    assert [run.run_id for run in lab.store.runs.history(2)] == kept
    assert [run.run_id for run in lab.store.runs.history(1)] == kept[:1]
    assert "run_unreadable" in caplog.text
    lab.clock.advance(1)
    assert lab.run().outcome is RunOutcome.COMPLETED


@in_sql
def test_a_closed_run_that_broke_can_be_mended_and_is_counted_once(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    name = lab.run().run_id
    break_run(lab, name, "outcome = 'fine'")
    totals = dict(lab.store.runs.totals())
    run = cancel_run(lab.sweep(), name, "asked to")
    assert run is not None
    assert (run.outcome, run.counts.total(Outcome.DELETED)) == (RunOutcome.FAILED, 1)
    assert lab.store.runs.totals() == totals
    assert lab.store.runs.unpublished(10) == []


def test_a_run_that_can_be_read_is_cancelled_by_its_name_only_while_it_lives(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    assert open_run(lab.sweep(dispatch=Queue()), "r", allow_over_limit=False) is None
    assert cancel_run(lab.sweep(), "other", "asked to") is None
    run = cancel_run(lab.sweep(), "r", "asked to")
    assert run is not None
    assert (run.outcome, run.reason) == (RunOutcome.PARTIAL, "asked to")
    assert cancel_run(lab.sweep(), "r", "asked again") == run


def test_a_store_that_is_away_breaks_no_run(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise StoreUnavailableError("away")

    monkeypatch.setattr(lab.worker.runs, "get", away)
    with pytest.raises(StoreUnavailableError):
        cancel_run(lab.sweep(), "r", "asked to")


class Unmendable:
    """A run log that can say no more than that a record is broken."""

    def get(self, run_id: str) -> None:
        raise StoreError(f"{run_id} cannot be read")


def test_a_log_that_cannot_mend_says_why_the_run_stays(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab.worker, "runs", Unmendable())
    with pytest.raises(StoreError, match="r cannot be read"):
        cancel_run(lab.sweep(), "r", "asked to")


@in_sql
def test_there_is_nothing_to_mend_under_another_name(lab: Lab) -> None:
    before = lab.dump()
    runs: Any = lab.worker.runs
    assert runs.mend("nobody", POLICY, "asked to", lab.clock.now) is False
    assert lab.dump() == before


@pytest.mark.parametrize("provider", ["sqlite"], indirect=True)
def test_the_command_ends_a_broken_run_once_it_is_told_yes(lab: Lab) -> None:
    from pathlib import Path

    broken(lab, "started_at = 'yesterday'")
    path = Path(lab.address.removeprefix("sqlite:///"))
    refused = command_on(path, "sweep", "run")
    assert (refused.status, "sweep cancel broken --yes" in refused.err) == (1, True)
    before = lab.dump()
    asked = command_on(path, "sweep", "cancel", "broken")
    assert asked.out == (
        "would cancel run broken, whose record is broken; nothing was changed: --yes does it\n"
    )
    assert lab.dump() == before
    done = command_on(path, "sweep", "cancel", "broken", "--yes", "--json")
    assert (done.status, done.answer) == (
        (
            0,
            {"run_id": "broken", "cancelled": True, "would_cancel": False, "state": "closed"},
        )
    )
    assert command_on(path, "sweep", "run").status == 0
    again = command_on(path, "sweep", "cancel", "broken", "--yes")
    assert again.out == "no sweep is live: there is nothing to cancel\n"
    unknown = command_on(path, "sweep", "cancel", "nobody")
    assert (unknown.status, unknown.err) == (
        (2, "retention: no run 'nobody' in the log of this store\n")
    )
