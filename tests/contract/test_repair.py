"""Bringing a run on its way again after a worker, a plan, a queue or a result was lost."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from retention.errors import StoreUnavailableError
from retention.runs import Outcome, RunOutcome, RunState
from retention.sweep import Sweep, cancel, finish, open_run, repair, work_on
from retention.sweep.opening import plan_run
from tests.contract.lab import Claims, Lab, run_sweep
from tests.contract.pool import LEASE, Queue, a_run, claimed
from tests.seeding import seed_threads

EXPIRED = LEASE + timedelta(seconds=1)


def seed_due(lab: Lab, count: int) -> list[str]:
    """Threads that are due, by name."""
    thread_ids = seed_threads(lab.saver, "t", count, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(thread_ids))
    return thread_ids


def pooled(lab: Lab, queue: Queue, *filters: Claims, threads: int = 3) -> Sweep:
    """A run of the pool with one thread a batch, all of them sent."""
    seed_due(lab, threads)
    sweep = lab.sweep(*filters, dispatch=queue, batch_size=1)
    assert open_run(sweep, "r", allow_over_limit=False) is None
    return sweep


def test_repair_without_a_live_run_does_nothing(lab: Lab) -> None:
    before = lab.dump()
    queue = Queue()
    repair(lab.sweep(dispatch=queue))
    assert lab.dump() == before
    assert queue.sent == []


def test_repair_leaves_a_run_alone_that_somebody_works_on(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    assert claimed(lab, "working") is not None
    before = lab.dump()
    queue.sent.clear()
    repair(sweep)
    assert lab.dump() == before
    assert queue.sent == []


def test_a_batch_whose_claim_ran_out_is_sent_again(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    assert claimed(lab, "dead", 1) is not None
    lab.clock.advance(4)
    assert claimed(lab, "working", 2) is not None
    lab.clock.now += timedelta(seconds=61)
    queue.sent.clear()
    repair(sweep)
    assert queue.sent == [("r", 1)]


def test_the_batches_of_a_lost_queue_are_sent_again_and_once_a_lease_only(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    assert work_on(sweep, "r", 1).worked
    lab.clock.now += EXPIRED
    queue.sent.clear()
    repair(sweep)
    repair(sweep)
    assert queue.sent == [("r", 0), ("r", 2)]


class DiesSending(Queue):
    """The dispatch of a worker that is killed after its first message."""

    def batches(self, run_id: str, numbers: Iterable[int]) -> None:
        super().batches(run_id, list(numbers)[:1])
        raise SystemExit


def test_batches_that_their_sender_did_not_get_to_wait_for_the_lease(lab: Lab) -> None:
    """Until then nobody can tell them from batches that wait in the queue."""
    seed_due(lab, 3)
    with pytest.raises(SystemExit):
        open_run(lab.sweep(dispatch=DiesSending(), batch_size=1), "r", allow_over_limit=False)
    queue = Queue()
    sweep = lab.sweep(dispatch=queue, batch_size=1)
    lab.clock.now += LEASE
    assert work_on(sweep, "r", 0).worked
    repair(sweep)
    assert queue.sent == []
    lab.clock.now += EXPIRED
    repair(sweep)
    assert queue.sent == [("r", 1), ("r", 2)]
    assert work_on(sweep, "r", 1).worked
    assert work_on(sweep, "r", 2).worked
    result = finish(sweep, "r")
    assert result is not None
    assert result.counts.values == {"deleted:finished": 3}


def test_a_run_whose_last_worker_died_before_the_end_is_closed(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue, threads=1)
    assert work_on(sweep, "r", 0).worked
    repair(sweep)
    assert [result.run_id for result in queue.published] == ["r"]
    assert lab.store.runs.live() is None


def test_a_plan_that_stopped_is_dropped_and_made_again(lab: Lab) -> None:
    seed_due(lab, 3)
    queue = Queue()
    sweep = lab.sweep(dispatch=queue, batch_size=1)
    real, lab.store.runs.end_plan = lab.store.runs.end_plan, _unreachable  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailableError):
        open_run(sweep, "r", allow_over_limit=False)
    lab.store.runs.end_plan = real  # type: ignore[method-assign]
    assert lab.store.runs.count_batches("r") == 3
    lab.saver.delete_thread("t-0001")
    lab.store.ledger.start(["t-0001"])
    repair(sweep)
    assert queue.sent == []
    lab.clock.now += EXPIRED
    repair(sweep)
    assert queue.sent == [("r", 0), ("r", 1)]
    run = lab.store.runs.get("r")
    assert run is not None
    assert (run.state, run.planned) == (RunState.SWEEPING, 2)


def _unreachable(*_: object, **__: object) -> None:
    raise StoreUnavailableError("the connection broke")


def test_a_planner_that_was_thought_dead_cannot_go_on(lab: Lab) -> None:
    seed_due(lab, 1)
    queue = Queue()
    sweep = lab.sweep(dispatch=queue)
    slow = lab.store.runs
    assert slow.open(a_run(lab), "slow")
    lab.clock.now += EXPIRED
    repair(sweep)
    before = lab.dump()
    run = slow.get("r")
    assert run is not None
    assert plan_run(sweep, run, "slow") is None
    assert lab.dump() == before
    assert queue.sent == [("r", 0)]


def test_of_two_that_find_a_stopped_plan_one_makes_it_again(lab: Lab) -> None:
    seed_due(lab, 1)
    assert lab.store.runs.open(a_run(lab), "dead")
    lab.clock.now += EXPIRED
    first, second = Queue(), Queue()

    def overtaken() -> str:
        repair(lab.sweep(dispatch=first))
        return "second"

    repair(replace(lab.sweep(dispatch=second), new_token=overtaken))
    assert (first.sent, second.sent) == ([("r", 0)], [])


def test_a_plan_with_nothing_in_it_made_again_closes_its_run(lab: Lab) -> None:
    assert lab.store.runs.open(a_run(lab), "dead")
    lab.clock.now += EXPIRED
    queue = Queue()
    repair(lab.sweep(dispatch=queue))
    assert [result.outcome for result in queue.published] == [RunOutcome.COMPLETED]


def test_a_result_that_was_lost_is_handed_out_again_once(lab: Lab) -> None:
    queue = Queue(delivers=False)
    sweep = pooled(lab, queue, threads=1)
    assert work_on(sweep, "r", 0).worked
    lost = finish(sweep, "r")
    assert [run.run_id for run in lab.store.runs.unpublished(10)] == ["r"]
    queue.delivers = True
    lab.clock.advance(60)
    repair(sweep)
    repair(sweep)
    assert queue.published == [lost]
    assert lab.store.runs.unpublished(10) == []


def test_results_that_nobody_takes_wait_until_somebody_does(lab: Lab) -> None:
    queue = Queue(delivers=False)
    for run_id in ("first", "second"):
        assert open_run(lab.sweep(dispatch=queue), run_id, allow_over_limit=False) is not None
        lab.clock.advance(1)
    sweep = lab.sweep(dispatch=queue)
    repair(sweep)
    assert [run.run_id for run in lab.store.runs.unpublished(10)] == ["first", "second"]
    queue.delivers = True
    repair(sweep)
    assert [result.run_id for result in queue.published] == ["first", "second"]


def test_a_sweep_in_this_process_leaves_the_result_of_a_pool_to_the_pool(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue, threads=2)
    lab.clock.now += EXPIRED
    result = run_sweep(lab.sweep(), "mine")
    assert (result.outcome, result.planned) == (RunOutcome.COMPLETED, 0)
    assert [run.run_id for run in lab.store.runs.unpublished(10)] == ["r"]
    repair(sweep)
    assert [r.counts.values for r in queue.published] == [{"deleted:finished": 2}]


def test_a_cancelled_run_leaves_its_remaining_threads_alone(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    assert work_on(sweep, "r", 0).worked
    run = cancel(sweep, "asked to")
    assert run is not None
    assert (run.state, run.outcome, run.reason) == (
        RunState.CLOSED,
        RunOutcome.PARTIAL,
        "asked to",
    )
    assert run.counts.values == {"deleted:finished": 1, "cancelled:unexamined": 2}
    assert queue.published[0].to_json()["cancelled_count"] == 2
    assert not work_on(sweep, "r", 1).worked
    batch = lab.store.runs.batch("r", 0)
    assert batch is not None
    assert lab.threads() == {"t-0000", "t-0001", "t-0002"} - {batch.candidates[0].thread_id}


def test_a_cancelled_run_ends_after_the_batch_that_somebody_works_on(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    claim = claimed(lab, "working", 1)
    assert claim is not None
    run = cancel(sweep, "asked to")
    assert run is not None
    assert (run.state, queue.published) == (RunState.STOPPING, [])
    lab.store.runs.finish_batch(claim, lab.clock.now)
    assert finish(sweep, "r") is not None


def test_a_cancelled_run_ends_though_the_worker_of_its_last_batch_is_gone(lab: Lab) -> None:
    queue = Queue()
    sweep = pooled(lab, queue)
    assert claimed(lab, "dead", 1) is not None
    assert cancel(sweep, "asked to") is not None
    repair(sweep)
    assert queue.published == []
    lab.clock.now += EXPIRED
    repair(sweep)
    assert [r.outcome for r in queue.published] == [RunOutcome.PARTIAL]
    assert queue.published[0].counts.total(Outcome.CANCELLED) == 3


def test_a_run_is_cancelled_while_it_is_planned(lab: Lab) -> None:
    seed_due(lab, 2)
    queue = Queue()
    sweep = lab.sweep(dispatch=queue)
    run = a_run(lab)
    assert lab.store.runs.open(run, "planner")
    cancelled = cancel(sweep, "asked to")
    assert cancelled is not None
    assert cancelled.state is RunState.CLOSED
    assert plan_run(sweep, run, "planner") is None
    assert (queue.sent, len(lab.threads())) == ([], 2)


def test_there_is_nothing_to_cancel_without_a_live_run(lab: Lab) -> None:
    assert cancel(lab.sweep(), "asked to") is None
