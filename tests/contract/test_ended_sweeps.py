"""A sweep in the caller's own process that is told to end: the next one need not wait for it."""

from datetime import timedelta
from typing import Any

import pytest

from retention.errors import StoreUnavailableError
from retention.runs import Outcome, RunOutcome
from retention.sweep import LocalDispatch, Sweep, open_run, repair, run_sweep
from tests.contract.lab import Claims, Lab
from tests.contract.pool import LEASE, Queue, a_run

ENDS = (KeyboardInterrupt, SystemExit)
#: The least by which time goes on.
INSTANT = timedelta(microseconds=1)


class Ends(Claims):
    """A filter within whose question the process is told to end, once some were answered."""

    def __init__(self, kind: type[BaseException], answered: int) -> None:
        super().__init__()
        self._kind = kind
        self._answered = answered

    def claims(self, thread_ids: object) -> list[str]:
        if self._answered == 0:
            raise self._kind
        self._answered -= 1
        return []


def seed(lab: Lab) -> None:
    """Four threads past a horizon."""
    for number in range(4):
        lab.seed(f"t{number}", 30, marked=20)


def tick(sweep: Sweep) -> None:
    """What a worker does when beat asks for a sweep."""
    repair(sweep)
    open_run(sweep, "r", allow_over_limit=False)


def ended(lab: Lab, kind: type[BaseException], answered: int) -> None:
    """A sweep in batches of one that is told to end within the batch after so many."""
    with pytest.raises(kind):
        lab.run(Ends(kind, answered), batch_size=1)


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("answered", [0, 1, 3])
def test_the_next_sweep_goes_on_at_once_where_the_ended_one_stopped(
    lab: Lab, kind: type[BaseException], answered: int
) -> None:
    seed(lab)
    ended(lab, kind, answered)
    live = lab.store.runs.live()
    assert live is not None
    assert len(lab.threads()) == 4 - answered
    lab.clock.now += INSTANT
    assert lab.run().outcome is RunOutcome.COMPLETED
    assert lab.threads() == set()
    closed = lab.store.runs.get(live.run_id)
    assert closed is not None
    assert (closed.outcome, closed.counts.total(Outcome.DELETED)) == (RunOutcome.COMPLETED, 4)


@pytest.mark.parametrize("kind", ENDS)
def test_a_plan_that_is_ended_is_made_again_at_once(
    lab: Lab, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(lab)

    def ends(*_: object) -> None:
        raise kind

    with monkeypatch.context() as patched:
        patched.setattr(lab.worker.runs, "note_due", ends)
        with pytest.raises(kind):
            lab.run()
    lab.clock.now += INSTANT
    assert lab.run().outcome is RunOutcome.COMPLETED
    assert lab.threads() == set()
    assert lab.store.runs.totals()["deleted:finished"] == 4


def test_a_run_of_a_pool_that_was_brought_on_its_way_here_is_given_back_too(lab: Lab) -> None:
    seed(lab)
    assert open_run(lab.sweep(dispatch=Queue(), batch_size=1), "pool", allow_over_limit=False) is (
        None
    )
    lab.clock.now += LEASE + INSTANT
    ended(lab, KeyboardInterrupt, 1)
    live = lab.store.runs.live()
    assert live is not None
    assert (live.run_id, live.lease_until) == ("pool", lab.clock.now)


def test_a_run_that_somebody_else_works_on_keeps_its_lease(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(lab)
    assert open_run(lab.sweep(dispatch=Queue()), "pool", allow_over_limit=False) is None
    before = lab.store.runs.live()

    def ends(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(lab.worker.runs, "count_unopened", ends)
        with pytest.raises(KeyboardInterrupt):
            lab.run()
    assert lab.store.runs.live() == before


def test_where_the_store_cannot_be_told_the_lease_runs_out(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(lab)

    def away(*_: object) -> None:
        raise StoreUnavailableError("away")

    local = LocalDispatch()
    sweep = lab.sweep(Ends(KeyboardInterrupt, 1), dispatch=local, batch_size=1)
    with monkeypatch.context() as patched:
        patched.setattr(lab.worker.runs, "release", away)
        patched.setattr(lab.worker.runs, "renew", away)
        with pytest.raises(KeyboardInterrupt):
            run_sweep(sweep, local, "r")
    lab.clock.now += INSTANT
    assert lab.run().outcome is RunOutcome.SKIPPED_LOCKED
    lab.clock.now += LEASE
    assert lab.run().outcome is RunOutcome.COMPLETED
    assert lab.threads() == set()


@pytest.mark.parametrize("end", [*ENDS, StoreUnavailableError])
@pytest.mark.parametrize("step", ["open", "take_plan"])
def test_a_lease_that_was_taken_is_given_back_though_its_worker_never_learned_of_it(
    lab: Lab, end: type[BaseException], step: str
) -> None:
    """A signal comes behind the commit, or the reply to it is lost."""
    seed(lab)
    sweep = lab.sweep(dispatch=Queue())
    runs = sweep.store.runs
    if step == "take_plan":
        assert runs.open(a_run(lab), "dead")
        lab.clock.now += LEASE + INSTANT
    taken = getattr(runs, step)

    def interrupted(*args: Any) -> None:
        assert taken(*args)
        raise end

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, step, interrupted)
        with pytest.raises(end):
            tick(sweep)
    assert len(lab.threads()) == 4
    lab.clock.now += INSTANT
    assert lab.run().outcome is RunOutcome.COMPLETED
    assert lab.threads() == set()
