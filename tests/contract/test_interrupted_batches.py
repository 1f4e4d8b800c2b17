"""A batch whose worker dies, loses its claim or its store in the middle of the work."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest

from retention.errors import StoreUnavailableError
from retention.runs import Outcome, RunOutcome
from retention.sweep import Sweep, finish, open_run, work_on
from retention.threads import Rule
from tests.contract.lab import POLICY, Claims, Lab, on_sqlite
from tests.contract.pool import LEASE, Queue, claimed
from tests.seeding import config_of


class Acts(Claims):
    """A filter that does something between the claim of a batch and its deletes."""

    def __init__(self, act: Any) -> None:
        super().__init__()
        self._act = act

    def claims(self, thread_ids: Any) -> list[str]:
        self._act()
        return super().claims(thread_ids)


def opened_run(lab: Lab, *filters: Claims, store: Any = None, **how: Any) -> Sweep:
    """A run with one thread, due."""
    lab.seed("t", 30, marked=20)
    sweep = lab.sweep(*filters, dispatch=Queue(), store=store, **how)
    assert open_run(sweep, "r", allow_over_limit=False) is None
    return sweep


def test_what_a_dead_worker_deleted_is_looked_at_again_by_the_next(lab: Lab) -> None:
    sweep = opened_run(lab)
    (head,) = {row["checkpoint_id"] for row in lab.rows_of("t")["checkpoints"][-1:]}
    dead = claimed(lab, "dead")
    assert dead is not None
    lab.store.deleter.settle(dead, [0], Rule(POLICY, lab.clock.now).judge, {})
    lab.saver.put_writes(config_of("t", "", head), [("messages", "late")], "task")
    lab.clock.now += LEASE + timedelta(seconds=1)
    assert work_on(sweep, "r", 0).worked
    assert lab.rows_of("t") == {}
    result = finish(sweep, "r")
    assert result is not None
    assert result.counts.values == {"deleted:finished": 1}


def test_a_worker_that_loses_its_claim_on_the_way_deletes_nothing(lab: Lab) -> None:
    """I6"""

    def overtaken() -> None:
        lab.clock.now += LEASE + timedelta(seconds=1)
        assert claimed(lab, "other") is not None

    sweep = opened_run(lab, Acts(overtaken))
    report = work_on(sweep, "r", 0)
    assert (report.worked, report.retry_at) == (False, None)
    assert lab.threads() == {"t"}
    assert lab.store.runs.progress("r").values == {}


def test_a_worker_that_is_told_to_end_gives_its_claim_back(lab: Lab) -> None:
    """Whoever gets the message next need not wait for the lease."""
    ends = iter([True, False])

    def act() -> None:
        if next(ends):
            raise SystemExit

    sweep = opened_run(lab, Acts(act))
    with pytest.raises(SystemExit):
        work_on(sweep, "r", 0)
    assert lab.threads() == {"t"}
    assert work_on(sweep, "r", 0).worked
    assert lab.threads() == set()


def test_a_store_that_is_away_gives_the_claim_back_for_another_try(lab: Lab) -> None:
    answers: list[Exception | None] = [StoreUnavailableError("away"), None]

    def act() -> None:
        answer = answers.pop(0)
        if answer is not None:
            raise answer

    sweep = opened_run(lab, Acts(act))
    with pytest.raises(StoreUnavailableError, match="away"):
        work_on(sweep, "r", 0)
    assert lab.threads() == {"t"}
    assert work_on(sweep, "r", 0).worked
    result = finish(sweep, "r")
    assert result is not None
    assert result.counts.values == {"deleted:finished": 1}


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt, StoreUnavailableError])
def test_a_claim_that_was_made_is_given_back_though_its_worker_never_learned_of_it(
    lab: Lab, end: type[BaseException]
) -> None:
    """A signal comes behind the commit, or the reply to it is lost."""
    sweep = opened_run(lab)
    claim = sweep.store.runs.claim

    def interrupted(*args: Any) -> None:
        assert claim(*args) is not None
        raise end

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep.store.runs, "claim", interrupted)
        with pytest.raises(end):
            work_on(sweep, "r", 0)
    assert lab.threads() == {"t"}
    assert work_on(sweep, "r", 0).worked
    assert lab.threads() == set()


@contextmanager
def writer_of(lab: Lab) -> Iterator[sqlite3.Connection]:
    """Another process that can take SQLite's one write lock."""
    with closing(sqlite3.connect(lab.address.removeprefix("sqlite:///"))) as connection:
        yield connection


@on_sqlite
def test_a_store_that_goes_away_within_a_batch_leaves_the_claim_to_run_out(lab: Lab) -> None:
    soon = timedelta(milliseconds=20)
    with lab.other(lock_timeout=soon) as store, writer_of(lab) as writer:
        taken = Acts(lambda: writer.execute("BEGIN IMMEDIATE"))
        sweep = opened_run(lab, taken, store=store)
        with pytest.raises(StoreUnavailableError, match="locked"):
            work_on(sweep, "r", 0)
        writer.rollback()
        report = work_on(sweep, "r", 0)
        assert (report.worked, report.retry_at) == (False, lab.clock.now + LEASE)
    assert lab.threads() == {"t"}


@on_sqlite
def test_a_store_that_goes_away_within_a_look_for_late_writes_is_tried_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = lab.seed("t", 30, marked=20)[-1]
    assert lab.run().counts.values == {"deleted:finished": 1}
    lab.saver.put_writes(config_of("t", "", head), [("messages", "late")], "task")
    with lab.other(lock_timeout=timedelta(milliseconds=20)) as store, writer_of(lab) as writer:
        sweep = lab.sweep(dispatch=Queue(), store=store)
        assert open_run(sweep, "r", allow_over_limit=False) is None
        look = store.deleter.remnants

        def locked(*args: Any, **kwargs: Any) -> set[str]:
            writer.execute("BEGIN IMMEDIATE")
            return look(*args, **kwargs)

        monkeypatch.setattr(store.deleter, "remnants", locked)
        with pytest.raises(StoreUnavailableError, match="locked"):
            work_on(sweep, "r", 0)
        writer.rollback()
    lab.clock.now += LEASE + timedelta(seconds=1)
    assert work_on(lab.sweep(dispatch=Queue()), "r", 0).worked
    assert lab.store.runs.progress("r").values == {"cleaned:finished": 1}


def test_a_look_for_late_writes_that_a_budget_stopped_is_made_by_the_next_sweep(lab: Lab) -> None:
    head = lab.seed("t", 30, marked=20)[-1]
    assert lab.run().counts.values == {"deleted:finished": 1}
    lab.saver.put_writes(config_of("t", "", head), [("messages", "late")], "task")
    sweep = lab.sweep(dispatch=Queue(), time_budget=timedelta(seconds=1))
    assert open_run(sweep, "r", allow_over_limit=False) is None
    lab.clock.now += timedelta(seconds=2)
    assert work_on(sweep, "r", 0).worked
    stopped = finish(sweep, "r")
    assert stopped is not None
    assert (stopped.outcome, stopped.counts.values) == (RunOutcome.BUDGET_EXHAUSTED, {})
    assert lab.run().counts.total(Outcome.CLEANED) == 1
    assert lab.rows_of("t") == {}
