"""Hooks are told of an erased thread on every store, at least once, whatever dies meanwhile."""

import logging
from datetime import timedelta

import pytest

from retention.deliveries import Delivery
from retention.erasing import ErasureOutcome, Receipt, erase
from retention.errors import StoreUnavailableError
from retention.runs import Source
from retention.sweep import Sweep, repair
from retention.sweep.erase_debts import owe_erase
from tests.contract.lab import Lab, in_sql, on_redis, run_sweep
from tests.contract.pool import no_answer
from tests.contract.test_deliveries import Told, events, hooks, owed, sweep_of
from tests.contract.test_erase import after_the_delete
from tests.seeding import seed_thread

_ERROR = "RuntimeError: the bucket is locked"


def erased(sweep: Sweep) -> Receipt:
    """Erase the thread ``t``, as an operator does."""
    return erase(sweep, "t", "ops")


def test_hooks_are_told_of_an_erased_thread_and_nothing_of_it_is_kept(lab: Lab) -> None:
    before = lab.dump()
    lab.seed("t", 0)
    first, second = Told(), Told()
    receipt = erased(sweep_of(lab, hooks(first=first, second=second)))
    assert first.calls == second.calls == [(["t"], "lab", receipt.run_id)]
    assert receipt.run_id.startswith("erase-")
    assert receipt.to_json()["hooks"] == {
        "first": {"told": True, "error": None},
        "second": {"told": True, "error": None},
    }
    assert owed(lab) == 0
    assert lab.dump() == before


def test_hooks_are_told_after_the_commit(lab: Lab) -> None:
    lab.seed("t", 0)
    seen: list[bool] = []

    def look(thread_ids: list[str], *, store: str, run_id: str) -> None:
        with lab.other() as other:
            seen.append(other.threads.facts(thread_ids)["t"].head is None)

    assert erased(sweep_of(lab, hooks(look=look))).hooks == {"look": None}
    assert seen == [True]


def test_a_hook_that_fails_undoes_nothing_and_is_told_again_by_the_next_tick(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    before = lab.dump()
    lab.seed("t", 0)
    first, second = Told(), Told(failures=1)
    sweep = sweep_of(lab, hooks(first=first, second=second))
    with caplog.at_level(logging.ERROR):
        receipt = erased(sweep)
    assert (receipt.outcome, receipt.hooks) == (
        ErasureOutcome.ERASED,
        {"first": None, "second": _ERROR},
    )
    assert [failed.fields["hook"] for failed in events(caplog, "hook_failed")] == ["second"]
    (waiting,) = lab.store.runs.deliveries.listing(10)
    assert (waiting.source, waiting.thread_ids) == (Source(receipt.run_id, 0), ["t"])
    assert waiting.deliveries["second"] == Delivery(1, None, _ERROR)
    repair(sweep)
    assert [len(told.calls) for told in (first, second)] == [1, 2]
    assert second.calls[0] == second.calls[1]
    assert (owed(lab), lab.dump()) == (0, before)


def test_what_is_erased_where_no_hook_is_on_is_told_by_the_next_tick_where_one_is(lab: Lab) -> None:
    before = lab.dump()
    lab.seed("t", 0)
    receipt = erased(lab.sweep())
    assert (receipt.hooks, owed(lab)) == ({}, 1)
    told = Told()
    repair(sweep_of(lab, hooks(files=told)))
    assert told.calls == [(["t"], "lab", receipt.run_id)]
    assert (owed(lab), lab.dump()) == (0, before)


def test_where_no_hook_is_on_anywhere_the_next_tick_clears_what_is_owed(lab: Lab) -> None:
    before = lab.dump()
    lab.seed("t", 0)
    erased(lab.sweep())
    repair(lab.sweep())
    assert (owed(lab), lab.dump()) == (0, before)


def test_no_hook_is_told_of_a_thread_that_is_held_or_was_none(lab: Lab) -> None:
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    assert erased(sweep).outcome is ErasureOutcome.UNKNOWN
    lab.seed("t", 0)
    lab.hold("t")
    before = lab.dump()
    assert erased(sweep).outcome is ErasureOutcome.HELD
    lab.clock.advance(6)
    repair(sweep)
    assert (told.calls, owed(lab), lab.dump()) == ([], 0, before)


@in_sql
def test_no_hook_is_told_of_a_thread_that_will_not_go_until_it_went(lab: Lab) -> None:
    lab.seed("t", 1)
    lab.sql.refuse_deletes("checkpoints", "t", silently=True)
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    assert erased(sweep).outcome is ErasureOutcome.LEFT
    assert (told.calls, owed(lab)) == ([], 0)


@in_sql
def test_hooks_are_told_where_a_new_conversation_began_under_the_id(lab: Lab) -> None:
    lab.seed("t", 1)
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    after_the_delete(sweep, lambda: seed_thread(lab.saver, "t", lab.ago(-1)))
    assert erased(sweep).outcome is ErasureOutcome.LEFT
    assert told.ids == ["t"]


def test_an_erase_that_dies_after_its_commit_leaves_the_hooks_to_a_tick(lab: Lab) -> None:
    before = lab.dump()
    lab.seed("t", 0)
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    after_the_delete(sweep, _die)
    with pytest.raises(SystemExit):
        erased(sweep)
    repair(sweep)
    assert (told.calls, owed(lab)) == ([], 1)
    lab.clock.advance(6)
    repair(sweep)
    assert told.ids == ["t"]
    assert (owed(lab), lab.dump()) == (0, before)


def test_an_erase_that_dies_before_its_delete_tells_no_hook_and_leaves_the_thread(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.seed("t", 0)
    before = lab.dump()
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    owe_erase(sweep, "t")
    lab.clock.advance(6)
    with caplog.at_level(logging.WARNING):
        repair(sweep)
    (unfinished,) = events(caplog, "erase_unfinished")
    assert unfinished.fields == {"thread": "t", "error": None}
    assert (told.calls, owed(lab), lab.dump()) == ([], 0, before)


@on_redis
def test_an_erase_that_died_on_a_thread_that_cannot_be_read_stops_no_tick(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    owe_erase(sweep, "t")
    lab.clock.advance(6)
    with lab.broken.unlisted(), caplog.at_level(logging.WARNING):
        repair(sweep)
    (unfinished,) = events(caplog, "erase_unfinished")
    assert "StoreError" in str(unfinished)
    assert (told.calls, owed(lab)) == ([], 0)


def test_an_outage_when_hooks_were_to_be_told_shows_in_the_receipt_and_a_tick_tells_them(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lab.seed("t", 0)
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(type(lab.worker.runs.deliveries), "take", no_answer)
        receipt = erased(sweep)
    assert (receipt.outcome, receipt.hooks) == (ErasureOutcome.ERASED, {"files": "no answer"})
    assert len(events(caplog, "delivery_put_off")) == 1
    repair(sweep)
    assert told.ids == ["t"]


def test_an_outage_after_a_refused_erase_is_cleared_by_a_tick(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.seed("t", 0)
    lab.hold("t")
    before, told = lab.dump(), Told()
    sweep = sweep_of(lab, hooks(files=told))

    with monkeypatch.context() as patched:
        patched.setattr(type(lab.worker.runs.deliveries), "drop", no_answer)
        assert erased(sweep).outcome is ErasureOutcome.HELD
    assert owed(lab) == 1
    lab.clock.advance(6)
    repair(sweep)
    assert (told.calls, owed(lab), lab.dump()) == ([], 0, before)


def test_what_an_erase_owes_is_given_up_with_the_history_and_goes(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    before = lab.dump()
    lab.seed("t", 0)
    sweep = sweep_of(lab, hooks(files=Told(failures=100)))
    erased(sweep)
    lab.clock.now += timedelta(days=30, minutes=1)
    with caplog.at_level(logging.ERROR):
        repair(sweep)
    assert len(events(caplog, "delivery_given_up")) == 1
    assert (owed(lab), lab.dump()) == (0, before)


def test_an_erase_is_no_run_and_no_tombstone(lab: Lab) -> None:
    lab.seed("t", 0)
    lab.seed("due", 30, marked=20)
    sweep = sweep_of(lab, hooks(files=Told(failures=100)))
    receipt = erased(sweep)
    assert lab.store.runs.get(receipt.run_id) is None
    assert lab.store.runs.live() is None
    assert lab.store.runs.late_sources(lab.clock.now, 10) == []
    result = run_sweep(sweep, "r")
    assert [run.run_id for run in lab.store.runs.history(10)] == ["r"]
    assert lab.store.runs.totals() == {"deleted:finished": 1, "runs:completed": 1}
    assert result.planned == 1


def test_what_a_runs_batch_owes_is_not_dropped_as_that_of_an_erase(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    run_sweep(sweep_of(lab, hooks(files=Told(failures=1))), "r")
    lab.store.runs.deliveries.drop(Source("r", 0))
    assert owed(lab) == 1


def _die() -> None:
    raise SystemExit


def test_an_outage_while_an_erase_that_died_is_looked_at_leaves_it_to_the_next_tick(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    owe_erase(sweep, "t")
    lab.clock.advance(6)

    with monkeypatch.context() as patched:
        patched.setattr(type(lab.worker.deleter), "holdings", no_answer)
        with pytest.raises(StoreUnavailableError):
            repair(sweep)
    lab.clock.advance(6)
    repair(sweep)
    assert (told.ids, owed(lab)) == (["t"], 0)
