"""An operator's pause: kept in the store, obeyed within one batch, ended by a word or a time."""

from datetime import timedelta

import pytest

from retention.brakes import Pause
from retention.errors import ConfigurationError
from retention.runs import Outcome, Run, RunOutcome, RunState
from retention.sweep import (
    LocalDispatch,
    Sweep,
    cancel,
    finish,
    open_run,
    pause,
    pause_in_force,
    repair,
    resume,
    work_on,
)
from tests.contract.lab import POLICY, Claims, Lab, count_of
from tests.contract.pool import Queue, claimed
from tests.contract.test_limits import seed_due


def pooled(lab: Lab, queue: Queue, threads: int = 3) -> Sweep:
    """A run of the pool with one thread a batch, all of them sent."""
    seed_due(lab, threads)
    sweep = lab.sweep(dispatch=queue, batch_size=1)
    assert open_run(sweep, "r", allow_over_limit=False) is None
    return sweep


def work_through(sweep: Sweep, queue: Queue) -> int:
    """Work on all that was sent; how many batches were worked on."""
    sent, queue.sent = queue.sent, []
    return sum(work_on(sweep, *message).worked for message in sent)


def test_a_pause_is_kept_in_the_store_and_taken_off(lab: Lab) -> None:
    pauses = lab.store.runs.pauses
    assert pauses.current() is None
    assert not pauses.take_off()
    first = Pause(lab.clock.now)
    later = Pause(lab.clock.now, lab.ago(-60), "Zoë", "a migration; back at one")
    for placed in (first, later):
        pauses.put(placed)
        with lab.other() as store:
            assert store.runs.pauses.current() == placed
    assert pauses.take_off()
    assert pauses.current() is None


def test_no_sweep_begins_while_sweeps_are_paused(lab: Lab) -> None:
    seed_due(lab, 2)
    pause(lab.sweep(), by="ops", reason="a migration")
    result = lab.run()
    assert result.outcome is RunOutcome.REFUSED
    assert result.reason == "sweeps are paused by ops until resumed: a migration"
    assert len(lab.threads()) == 2
    assert lab.store.runs.history(10) == []
    # No alarm goes by it: a refused run in the totals is one above a safety limit.
    assert lab.store.runs.totals() == {}
    # What a sweep would do can be asked all the same.
    assert count_of(lab.preview(), Outcome.DELETED) == 2
    assert resume(lab.sweep())
    assert count_of(lab.run(), Outcome.DELETED) == 2


def test_a_pause_with_an_end_lapses_by_itself(lab: Lab) -> None:
    seed_due(lab, 1)
    pause(lab.sweep(), lab.ago(-60))
    assert lab.run().outcome is RunOutcome.REFUSED
    lab.clock.advance(60)
    assert lab.run().outcome is RunOutcome.COMPLETED
    assert lab.store.runs.pauses.current() is None


def test_a_pause_that_ends_in_the_past_is_refused(lab: Lab) -> None:
    for until in (lab.clock.now, lab.ago(1)):
        with pytest.raises(ConfigurationError, match="must lie ahead"):
            pause(lab.sweep(), until)
    assert lab.store.runs.pauses.current() is None


def test_a_live_run_hands_out_no_further_batch_while_paused(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    assert work_on(sweep, *queue.sent.pop(0)).worked
    pause(sweep)
    report = work_on(sweep, *queue.sent[0])
    assert (report.worked, report.retry_at) == (False, None)
    assert report.held_up == "sweeps are paused until resumed"
    assert work_through(sweep, queue) == 0
    lab.clock.advance(60)
    repair(sweep)
    assert queue.sent == []
    assert len(lab.threads()) == 2
    run = lab.store.runs.live()
    assert run is not None
    assert run.state is RunState.SWEEPING


@pytest.mark.parametrize("minutes", [0, 60])
def test_after_a_pause_the_next_tick_sends_what_is_open(lab: Lab, minutes: float) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    pause(sweep)
    assert work_through(sweep, queue) == 0
    lab.clock.advance(minutes)
    resume(sweep)
    repair(sweep)
    assert work_through(sweep, queue) == 3
    result = finish(sweep, "r")
    assert result is not None
    assert (result.outcome, count_of(result, Outcome.DELETED)) == (RunOutcome.COMPLETED, 3)


def test_a_pause_shorter_than_the_lease_that_lapses_costs_no_lease(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    pause(sweep, lab.ago(-1))
    assert work_through(sweep, queue) == 0
    lab.clock.advance(1)
    repair(sweep)
    assert work_through(sweep, queue) == 3


def test_a_batch_at_work_when_the_pause_begins_is_finished(lab: Lab) -> None:
    queue = Queue()

    class Pausing(Claims):
        def claims(self, thread_ids: object) -> list[str]:
            pause(lab.sweep())
            return []

    seed_due(lab, 2)
    sweep = lab.sweep(Pausing(), dispatch=queue, batch_size=1)
    open_run(sweep, "r", allow_over_limit=False)
    assert work_through(sweep, queue) == 1
    assert len(lab.threads()) == 1


def test_the_last_batch_closes_its_run_though_sweeps_are_paused(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    assert work_through(sweep, queue) == 3
    pause(sweep)
    repair(sweep)
    assert lab.store.runs.live() is None


def test_a_batch_of_a_dead_worker_waits_for_the_end_of_the_pause(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue, threads=1)
    queue.sent.clear()
    assert claimed(lab, "dead") is not None
    pause(sweep)
    lab.clock.advance(6)
    repair(sweep)
    assert queue.sent == []
    resume(sweep)
    repair(sweep)
    assert work_through(sweep, queue) == 1


def test_a_plan_that_stopped_is_not_made_again_while_paused(lab: Lab) -> None:
    seed_due(lab, 1)
    queue = Queue()
    sweep = lab.sweep(dispatch=queue)
    assert lab.store.runs.open(Run("r", POLICY, lab.clock.now, lab.clock.now), "dead")
    pause(sweep)
    lab.clock.advance(6)
    repair(sweep)
    assert queue.sent == []
    resume(sweep)
    repair(sweep)
    assert work_through(sweep, queue) == 1


def test_a_run_can_be_cancelled_while_paused(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    pause(sweep)
    run = cancel(sweep, "cancelled")
    assert run is not None
    assert (run.outcome, run.reason) == (RunOutcome.PARTIAL, "cancelled")
    assert len(lab.threads()) == 3


def test_paused_time_counts_against_the_time_budget(lab: Lab) -> None:
    queue = Queue()
    seed_due(lab, 2)
    sweep = lab.sweep(dispatch=queue, batch_size=1, time_budget=timedelta(minutes=5))
    open_run(sweep, "r", allow_over_limit=False)
    assert work_on(sweep, *queue.sent.pop(0)).worked
    pause(sweep)
    lab.clock.advance(6)
    resume(sweep)
    work_through(sweep, queue)
    repair(sweep)
    run = lab.store.runs.get("r")
    assert run is not None
    assert run.outcome is RunOutcome.BUDGET_EXHAUSTED
    assert count_of(lab.run(), Outcome.DELETED) == 1


def test_a_sweep_in_this_process_that_is_paused_is_taken_up_by_the_next(lab: Lab) -> None:
    seed_due(lab, 3)

    class Pausing(Claims):
        def claims(self, thread_ids: object) -> list[str]:
            pause(lab.sweep(), by="ops")
            return []

    result = lab.run(Pausing(), batch_size=1)
    assert result.outcome is RunOutcome.PARTIAL
    assert result.reason == "sweeps are paused by ops until resumed"
    assert count_of(result, Outcome.DELETED) == 1
    assert lab.run().outcome is RunOutcome.REFUSED
    resume(lab.sweep())
    lab.clock.now += timedelta(microseconds=1)
    assert lab.run().outcome is RunOutcome.COMPLETED
    assert lab.threads() == set()
    earlier = lab.store.runs.get(result.run_id)
    assert earlier is not None
    assert earlier.counts.total(Outcome.DELETED) == 3


def test_resume_without_a_pause_says_so(lab: Lab) -> None:
    assert not resume(lab.sweep(dispatch=LocalDispatch()))
    pause(lab.sweep(), lab.ago(-1))
    lab.clock.advance(2)
    # It lapsed before: nothing stood any more.
    assert not resume(lab.sweep())
    assert pause_in_force(lab.sweep()) is None
    assert lab.store.runs.pauses.current() is None
