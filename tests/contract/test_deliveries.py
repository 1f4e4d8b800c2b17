"""Hooks on every store: told of exactly the deleted threads, after the commit, at least once."""

import logging
import threading
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from retention.deliveries import Delivery
from retention.errors import StoreUnavailableError
from retention.events import Event
from retention.hooks import Hooks, OnDeleted
from retention.runs import Outcome, RunOutcome, Source
from retention.sweep import Sweep, deliver, open_run, repair, work_on
from stores import Access, StoreOptions, open_store
from tests.contract.lab import Claims, Lab, in_sql, on_redis, run_sweep
from tests.contract.pool import no_answer
from tests.seeding import seed_threads

_FAILS = RuntimeError("the bucket is locked")


@dataclass
class Told:
    """A hook that keeps what it was told, and fails as often as it is set to."""

    failures: int = 0
    calls: list[tuple[list[str], str, str]] = field(default_factory=list)

    def __call__(self, thread_ids: list[str], *, store: str, run_id: str) -> None:
        """Keep the call."""
        self.calls.append((sorted(thread_ids), store, run_id))
        if self.failures:
            self.failures -= 1
            raise _FAILS

    @property
    def ids(self) -> list[str]:
        """All ids it was told, in order."""
        return sorted(thread_id for ids, _, _ in self.calls for thread_id in ids)


def hooks(seconds: float = 30, **calls: OnDeleted) -> Hooks:
    """These hooks, of a store named ``lab``."""
    return Hooks(calls, "lab", timedelta(seconds=seconds))


def sweep_of(lab: Lab, told: Hooks, *filters: Claims, **options: Any) -> Sweep:
    """A sweep with hooks."""
    return replace(lab.sweep(*filters, **options), hooks=told)


def events(caplog: pytest.LogCaptureFixture, name: str) -> list[Event]:
    """The events of a name."""
    found = [record.msg for record in caplog.records if isinstance(record.msg, Event)]
    return [one for one in found if one.name == name]


def owed(lab: Lab) -> int:
    """How many batches owe a delivery."""
    return lab.store.runs.deliveries.count()


def test_a_hook_is_told_exactly_the_deleted_threads_of_each_batch(lab: Lab) -> None:
    due = seed_threads(lab.saver, "due", 5, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(due))
    lab.seed("claimed", 30, marked=20)
    lab.seed("held", 30, marked=20)
    lab.hold("held")
    lab.seed("live", 30)
    told = Told()
    run_sweep(sweep_of(lab, hooks(files=told), Claims("claimed"), batch_size=3), "r")
    assert told.ids == due
    assert {(store, run) for _, store, run in told.calls} == {("lab", "r")}
    assert all(len(ids) <= 3 for ids, _, _ in told.calls)
    assert owed(lab) == 0
    run_sweep(sweep_of(lab, hooks(files=told)), "later")
    assert told.ids == sorted([*due, "claimed"])


def test_a_hook_is_told_after_the_commit(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    seen: list[set[str]] = []

    def look(thread_ids: list[str], *, store: str, run_id: str) -> None:
        with lab.other() as other:
            held = other.threads.facts(thread_ids)
        seen.append({t for t, facts in held.items() if facts.head is not None})

    run_sweep(sweep_of(lab, hooks(look=look)))
    assert seen == [set()]


def test_a_failing_hook_is_told_again_in_the_next_tick_and_never_undoes_the_sweep(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.seed("t", 30, marked=20)
    told = Told(failures=1)
    sweep = sweep_of(lab, hooks(files=told))
    with caplog.at_level(logging.ERROR):
        result = run_sweep(sweep, "r")
    assert (result.outcome, lab.threads()) == (RunOutcome.COMPLETED, set())
    (failed,) = events(caplog, "hook_failed")
    wanted = {"run": "r", "batch": 0, "hook": "files", "attempts": 1}
    assert failed.fields == {**wanted, "error": "RuntimeError: the bucket is locked"}
    (waiting,) = lab.store.runs.deliveries.listing(10)
    assert (waiting.source, waiting.thread_ids) == (Source("r", 0), ["t"])
    assert waiting.deliveries == {"files": Delivery(1, None, "RuntimeError: the bucket is locked")}
    repair(sweep)
    assert told.calls == [(["t"], "lab", "r")] * 2
    assert (owed(lab), lab.store.runs.deliveries.listing(10)) == (0, [])
    repair(sweep)
    assert len(told.calls) == 2


def test_each_hook_has_a_state_of_its_own(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    first, second, third = Told(), Told(failures=2), Told()
    sweep = sweep_of(lab, hooks(first=first, second=second, third=third))
    run_sweep(sweep)
    repair(sweep)
    assert [len(told.calls) for told in (first, second, third)] == [1, 2, 1]
    (waiting,) = lab.store.runs.deliveries.listing(10)
    assert {name: d.attempts for name, d in waiting.deliveries.items()} == {
        "first": 1,
        "second": 2,
        "third": 1,
    }
    lab.clock.advance(1)
    repair(sweep)
    assert [len(told.calls) for told in (first, second, third)] == [1, 3, 1]
    assert owed(lab) == 0


def test_each_failure_puts_the_next_try_off_twice_as_long_up_to_six_hours(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    told = Told(failures=100)
    sweep = sweep_of(lab, hooks(files=told))
    run_sweep(sweep)
    pauses = []
    for _ in range(11):
        (waiting,) = lab.store.runs.deliveries.listing(10)
        pause = waiting.deliver_at - lab.clock.now
        pauses.append(pause / timedelta(minutes=1))
        if pause:
            lab.clock.now += pause - timedelta(microseconds=1)
            repair(sweep)
            assert waiting.attempts == len(told.calls)
            lab.clock.now += timedelta(microseconds=1)
        repair(sweep)
    assert pauses == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 360]


def test_a_worker_that_dies_between_commit_and_hook_leaves_it_to_the_next_tick(lab: Lab) -> None:
    due = seed_threads(lab.saver, "due", 3, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(due))
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    assert open_run(sweep, "r", allow_over_limit=False) is None
    claim = lab.store.runs.claim("r", 0, "dies", lab.clock.now, sweep.lease_until())
    assert claim is not None
    rule = sweep.rule(sweep.policy, lab.clock.now)
    lab.worker.deleter.settle(claim, [0, 1, 2], rule.judge, {})
    assert (lab.threads(), told.calls, owed(lab)) == (set(), [], 0)
    lab.clock.advance(6)
    repair(sweep)
    assert work_on(sweep, "r", 0).worked
    assert told.calls == [(due, "lab", "r")]
    assert owed(lab) == 0


def test_a_worker_that_dies_after_it_closed_the_batch_leaves_it_to_the_next_tick(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    assert open_run(sweep, "r", allow_over_limit=False) is None
    claim = lab.store.runs.claim("r", 0, "dies", lab.clock.now, sweep.lease_until())
    assert claim is not None
    rule = sweep.rule(sweep.policy, lab.clock.now)
    lab.worker.deleter.settle(claim, [0], rule.judge, {})
    lab.store.runs.finish_batch(claim, lab.clock.now, owes=True)
    assert owed(lab) == 1
    repair(sweep)
    assert told.calls == [(["t"], "lab", "r")]
    assert owed(lab) == 0


def test_a_worker_that_dies_within_a_hook_leaves_it_for_when_its_time_is_over(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    told = Told(failures=1)
    sweep = sweep_of(lab, hooks(files=told))
    run_sweep(sweep, "r")
    deliveries, now = lab.store.runs.deliveries, lab.clock.now
    assert deliveries.take(Source("r", 0), now, now + timedelta(minutes=5)) is not None
    assert deliver(sweep, Source("r", 0))
    repair(sweep)
    assert len(told.calls) == 1
    lab.clock.advance(5)
    repair(sweep)
    assert len(told.calls) == 2


def test_what_a_stopped_run_had_deleted_is_told(lab: Lab) -> None:
    due = seed_threads(lab.saver, "due", 2, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(due))
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    assert open_run(sweep, "r", allow_over_limit=False) is None
    claim = lab.store.runs.claim("r", 0, "dies", lab.clock.now, sweep.lease_until())
    assert claim is not None
    rule = sweep.rule(sweep.policy, lab.clock.now)
    lab.worker.deleter.settle(claim, [0], rule.judge, {})
    lab.clock.advance(6)
    lab.store.runs.stop("r", RunOutcome.PARTIAL, "enough", lab.clock.now)
    run = lab.store.runs.close("r", lab.clock.now)
    assert run is not None
    assert run.counts.total(Outcome.DELETED) == 1
    repair(sweep)
    assert told.ids == [claim.batch.candidates[0].thread_id]
    assert owed(lab) == 0


@on_redis
def test_what_only_the_buckets_of_a_dead_worker_knew_is_told_too(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = seed_threads(lab.saver, "due", 2, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(due))
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))
    assert open_run(sweep, "r", allow_over_limit=False) is None
    claim = lab.store.runs.claim("r", 0, "dies", lab.clock.now, sweep.lease_until())
    assert claim is not None
    rule = sweep.rule(sweep.policy, lab.clock.now)
    lab.worker.deleter.settle(claim, [0], rule.judge, {})

    def dies(*_: object) -> None:
        raise StoreUnavailableError("the worker is gone")

    with monkeypatch.context() as patched:
        patched.setattr(type(lab.worker.runs), "record", dies)
        with pytest.raises(StoreUnavailableError):
            lab.worker.deleter.settle(claim, [1], rule.judge, {})
    lab.clock.advance(6)
    lab.store.runs.stop("r", RunOutcome.PARTIAL, "enough", lab.clock.now)
    repair(sweep)
    assert set(told.ids) == set(due)
    assert owed(lab) == 0


def test_without_hooks_nothing_is_owed(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    lab.run()
    assert owed(lab) == 0
    told = Told()
    repair(sweep_of(lab, hooks(files=told)))
    assert told.calls == []


def test_what_is_owed_when_no_hook_is_on_any_more_is_cleared(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    run_sweep(sweep_of(lab, hooks(files=Told(failures=1))))
    assert owed(lab) == 1
    repair(lab.sweep())
    assert owed(lab) == 0


def test_a_hook_that_hangs_has_failed_and_holds_nothing_up_for_long(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    release = threading.Event()

    def hang(thread_ids: list[str], *, store: str, run_id: str) -> None:
        release.wait(60)

    told = Told()
    assert run_sweep(sweep_of(lab, hooks(0.05, hang=hang, files=told))).counts.total(
        Outcome.DELETED
    )
    release.set()
    (waiting,) = lab.store.runs.deliveries.listing(10)
    assert waiting.deliveries["hang"].error == "it did not end within 0.05 seconds"
    assert told.ids == ["t"]


def test_a_tick_stops_after_three_batches_whose_hooks_fail_and_goes_on_with_the_others(
    lab: Lab,
) -> None:
    due = seed_threads(lab.saver, "due", 5, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(due))
    told = Told(failures=8)
    sweep = sweep_of(lab, hooks(files=told), batch_size=1)
    run_sweep(sweep)
    assert (len(told.calls), owed(lab)) == (5, 5)
    repair(sweep)
    assert (len(told.calls), owed(lab)) == (8, 5)
    lab.clock.advance(1)
    repair(sweep)
    assert (len(told.calls), owed(lab)) == (13, 0)
    assert {ids[0] for ids, _, _ in told.calls} == set(due)


def test_where_hooks_are_down_batches_stop_waiting_for_them(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retention.sweep.delivering._BACKLOG", 2)
    due = seed_threads(lab.saver, "due", 6, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(due))
    told = Told(failures=2)
    sweep = sweep_of(lab, hooks(files=told), batch_size=1)
    run_sweep(sweep)
    assert (lab.threads(), len(told.calls), owed(lab)) == (set(), 2, 6)
    lab.clock.advance(1)
    repair(sweep)
    assert owed(lab) == 0
    assert set(told.ids) == set(due)


def test_what_could_not_be_delivered_is_given_up_with_the_history_and_said(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.seed("t", 30, marked=20)
    told = Told(failures=100)
    sweep = sweep_of(lab, hooks(files=told))
    run_sweep(sweep, "r")
    lab.clock.advance(60 * 24 * 30)
    repair(sweep)
    lab.clock.advance(60)
    with caplog.at_level(logging.ERROR):
        repair(sweep)
    assert len(told.calls) == 2
    (given_up,) = events(caplog, "delivery_given_up")
    assert given_up.fields == {"run": "r", "batch": 0, "threads": 1, "attempts": 2}
    assert owed(lab) == 0


def test_a_run_whose_record_goes_takes_what_it_owes_along(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    sweep = sweep_of(lab, hooks(files=Told(failures=100)))
    run_sweep(sweep, "r")
    for number in range(2):
        run_sweep(sweep, f"late-{number}")
        lab.clock.advance(60 * 24 + 1)
    lab.clock.advance(60 * 24 * 31)
    while lab.store.runs.forget(lab.clock.now, 10):
        pass
    assert lab.store.runs.get("r") is None
    assert owed(lab) == 0
    assert lab.store.runs.deliveries.pending(lab.clock.now, 10) == []


def test_an_outage_when_hooks_were_to_be_told_leaves_it_to_the_next_tick(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lab.seed("t", 30, marked=20)
    told = Told()
    sweep = sweep_of(lab, hooks(files=told))

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(type(lab.worker.runs.deliveries), "take", no_answer)
        assert open_run(sweep, "r", allow_over_limit=False) is None
        assert work_on(sweep, "r", 0).worked
    assert len(events(caplog, "delivery_put_off")) == 1
    repair(sweep)
    assert told.ids == ["t"]


@in_sql
def test_a_record_of_deliveries_that_somebody_broke_tells_every_hook_again(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    first, second = Told(), Told(failures=1)
    sweep = sweep_of(lab, hooks(first=first, second=second))
    run_sweep(sweep)
    lab.broken.break_batches("deliveries", "{")
    repair(sweep)
    assert (len(first.calls), len(second.calls)) == (2, 2)


def test_a_store_that_was_never_swept_owes_nothing(lab: Lab) -> None:
    assert (owed(lab), lab.store.runs.deliveries.listing(5)) == (0, [])


def test_a_stock_store_that_nobody_has_written_to_yet_owes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "stock.db")
    with SqliteSaver.from_conn_string(path) as saver:
        saver.setup()
    with open_store(path, settings=StoreOptions(access=Access.READ)) as store:
        assert (store.runs.deliveries.count(), store.runs.deliveries.listing(5)) == (0, [])
