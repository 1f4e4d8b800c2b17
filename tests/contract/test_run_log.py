"""The run log: one live run, fenced claims, exact counts, one closing, and what stays of it."""

from collections.abc import Iterable
from datetime import timedelta

import pytest

from retention import RetentionPolicy
from retention.errors import ClaimLostError
from retention.ports import BatchPlan
from retention.runs import (
    BatchKind,
    Candidate,
    Outcome,
    Run,
    RunOutcome,
    RunState,
    ThreadOutcome,
)
from retention.sweep import LocalDispatch, finish, open_run, result_of, work_on
from retention.threads import Horizon, Rule
from tests.contract.lab import NOW, POLICY, Lab, run_sweep
from tests.contract.pool import LEASE, Queue, a_run, claimed, opened, settle


def test_a_run_comes_back_as_it_was_opened(lab: Lab) -> None:
    run = Run("r", RetentionPolicy(77, 7), NOW, NOW + LEASE, allow_over_limit=True)
    assert lab.store.runs.live() is None
    assert lab.store.runs.get("r") is None
    assert lab.store.runs.open(run, "plan")
    assert lab.store.runs.live() == lab.store.runs.get("r") == run


def test_at_most_one_run_is_live(lab: Lab) -> None:
    assert lab.store.runs.open(a_run(lab, "r"), "plan")
    with lab.other() as store:
        assert not store.runs.open(a_run(lab, "s"), "other")
        assert not store.runs.open(a_run(lab, "r"), "other")
        assert store.runs.get("s") is None


def test_the_second_of_two_sweeps_is_skipped_and_names_the_first(lab: Lab) -> None:
    lab.seed("due", 30, marked=20)
    first = lab.sweep(dispatch=Queue())
    assert open_run(first, "first", allow_over_limit=False) is None
    before = {name: rows for name, rows in lab.dump().items() if name != "retention_totals"}
    second = lab.sweep(dispatch=Queue())
    skipped = open_run(second, "second", allow_over_limit=False)
    assert skipped is not None
    assert skipped.outcome is RunOutcome.SKIPPED_LOCKED
    assert "run first, its lease runs until 2026-06-01T12:05:00" in (skipped.reason or "")
    without_totals = {name: rows for name, rows in lab.dump().items() if name in before}
    assert without_totals == before
    assert work_on(first, "first", 0).worked
    assert finish(first, "first") is not None
    result = run_sweep(lab.sweep())
    assert (result.outcome, result.planned) == (RunOutcome.COMPLETED, 0)
    assert lab.store.runs.totals() == {
        "deleted:finished": 1,
        "runs:completed": 2,
        "runs:skipped_locked": 1,
    }


def test_a_message_that_opens_a_run_twice_opens_it_once(lab: Lab) -> None:
    lab.seed("due", 30, marked=20)
    queue = Queue()
    for _ in range(2):
        assert open_run(lab.sweep(dispatch=queue), "r", allow_over_limit=False) is None
    assert queue.sent == [("r", 0)]


def test_a_plan_cannot_be_claimed_before_it_is_whole(lab: Lab) -> None:
    assert lab.store.runs.open(a_run(lab), "plan")
    plans = [BatchPlan(BatchKind.SWEEP, [Candidate("t", Horizon.FINISHED)])]
    lab.store.runs.add_batches("r", "plan", 0, plans, NOW + LEASE)
    assert claimed(lab, "token") is None
    assert lab.store.runs.close("r", NOW) is None
    lab.store.runs.end_plan("r", "plan", NOW + LEASE)
    assert claimed(lab, "token") is not None


def test_a_plan_under_another_token_is_refused(lab: Lab) -> None:
    assert lab.store.runs.open(a_run(lab), "plan")
    plans = [BatchPlan(BatchKind.SWEEP, [Candidate("t", Horizon.FINISHED)])]
    before = lab.dump()
    with pytest.raises(ClaimLostError):
        lab.store.runs.add_batches("r", "other", 0, plans, NOW + LEASE)
    with pytest.raises(ClaimLostError):
        lab.store.runs.end_plan("r", "other", NOW + LEASE)
    assert lab.dump() == before


def test_a_batch_is_claimed_by_one(lab: Lab) -> None:
    opened(lab, ["t"])
    claim = claimed(lab, "mine")
    assert claim is not None
    assert (claim.batch.attempts, claim.until) == (1, NOW + LEASE)
    assert [c.thread_id for c in claim.batch.candidates] == ["t"]
    assert claimed(lab, "other") is None
    assert claimed(lab, "mine") is None
    assert claimed(lab, "other", number=7) is None
    assert claimed(lab, "other", run_id="unknown") is None


def test_a_claim_holds_until_its_end_and_not_longer(lab: Lab) -> None:
    opened(lab, ["t"])
    assert claimed(lab, "mine") is not None
    lab.clock.now = NOW + LEASE
    assert claimed(lab, "other") is None
    lab.clock.now += timedelta(microseconds=1)
    taken = claimed(lab, "other")
    assert taken is not None
    assert taken.batch.attempts == 2


def test_a_claim_renews_its_run(lab: Lab) -> None:
    opened(lab, ["t"])
    lab.clock.advance(4)
    assert claimed(lab, "mine") is not None
    live = lab.store.runs.live()
    assert live is not None
    assert live.lease_until == lab.clock.now + LEASE


def test_whoever_lost_a_claim_deletes_and_counts_nothing(lab: Lab) -> None:
    """I6: a worker that was slow, and another that took its batch over."""
    lab.seed("t", 30, marked=20)
    opened(lab, ["t"])
    slow = claimed(lab, "slow")
    lab.clock.now = NOW + LEASE + timedelta(seconds=1)
    quick = claimed(lab, "quick")
    assert slow is not None
    assert quick is not None
    before = lab.dump()
    with pytest.raises(ClaimLostError):
        settle(lab, slow)
    with pytest.raises(ClaimLostError):
        lab.store.runs.record(slow, {0: ThreadOutcome(Outcome.FAILED)})
    with pytest.raises(ClaimLostError):
        lab.store.runs.finish_batch(slow, lab.clock.now)
    assert lab.dump() == before
    assert slow.batch.outcomes == {}
    settle(lab, quick)
    lab.store.runs.finish_batch(quick, lab.clock.now)
    closed = lab.store.runs.close("r", lab.clock.now)
    assert closed is not None
    assert closed.counts.values == {"deleted:finished": 1}
    assert lab.rows_of("t") == {}


def test_a_batch_delivered_twice_counts_once(lab: Lab) -> None:
    """I6"""
    lab.seed("t", 30, marked=20)
    queue = Queue()
    sweep = lab.sweep(dispatch=queue)
    assert open_run(sweep, "r", allow_over_limit=False) is None
    assert work_on(sweep, "r", 0).worked
    again = work_on(sweep, "r", 0)
    assert (again.worked, again.retry_at) == (False, None)
    assert queue.to_finish == ["r"]
    result = finish(sweep, "r")
    assert result is not None
    assert result.counts.values == {"deleted:finished": 1}
    assert finish(sweep, "r") is None
    assert work_on(sweep, "r", 0).worked is False
    assert lab.store.runs.totals() == {"deleted:finished": 1, "runs:completed": 1}
    assert len(queue.published) == 1


def test_a_batch_that_somebody_works_on_says_when_to_try_again(lab: Lab) -> None:
    opened(lab, ["t"])
    assert claimed(lab, "other") is not None
    report = work_on(lab.sweep(dispatch=Queue()), "r", 0)
    assert (report.worked, report.retry_at) == (False, NOW + LEASE)
    assert work_on(lab.sweep(dispatch=Queue()), "r", 9).retry_at is None


def test_a_batch_killed_between_two_transactions_counts_each_thread_once(lab: Lab) -> None:
    """I6: what the dead worker committed stays; the other one does the rest."""
    for thread_id in ("a", "b", "c"):
        lab.seed(thread_id, 30, marked=20)
    queue = Queue()
    sweep = lab.sweep(dispatch=queue)
    assert open_run(sweep, "r", allow_over_limit=False) is None
    dead = claimed(lab, "dead")
    assert dead is not None
    first, gone, last = (candidate.thread_id for candidate in dead.batch.candidates)
    lab.store.deleter.settle(dead, [1], Rule(POLICY, NOW).judge, {})
    assert lab.threads() == {first, last}
    lab.clock.now = NOW + LEASE + timedelta(seconds=1)
    assert work_on(sweep, "r", 0).worked
    result = finish(sweep, "r")
    assert result is not None
    assert result.counts.values == {"deleted:finished": 3}
    assert result.to_json()["finished_swept"] == [gone, first, last]


def test_outcomes_of_a_claim_are_added_to_those_recorded_before(lab: Lab) -> None:
    opened(lab, ["a", "b"])
    first = claimed(lab, "first")
    assert first is not None
    lab.store.runs.record(first, {1: ThreadOutcome(Outcome.SPARED, "flows")})
    lab.clock.now = NOW + LEASE + timedelta(seconds=1)
    second = claimed(lab, "second")
    assert second is not None
    assert second.batch.open_indexes() == [0]
    lab.store.runs.record(second, {0: ThreadOutcome(Outcome.FAILED, "why", "head")})
    batch = lab.store.runs.batch("r", 0)
    assert batch is not None
    assert batch.outcomes == {
        1: ThreadOutcome(Outcome.SPARED, "flows"),
        0: ThreadOutcome(Outcome.FAILED, "why", "head"),
    }
    assert lab.store.runs.progress("r").values == {"spared:finished:flows": 1, "failed:finished": 1}


def test_a_run_is_closed_once_and_only_without_an_open_batch(lab: Lab) -> None:
    opened(lab, ["t"], ["u"])
    for number in (0, 1):
        assert lab.store.runs.close("r", NOW) is None
        assert lab.store.runs.count_open("r") == 2 - number
        claim = claimed(lab, "token", number)
        assert claim is not None
        lab.store.runs.record(claim, {0: ThreadOutcome(Outcome.RESTARTED)})
        lab.store.runs.finish_batch(claim, NOW)
    with lab.other() as store:
        closers = [runs.close("r", NOW) for runs in (store.runs, lab.store.runs)]
    winner = closers[0]
    assert winner is not None
    assert closers[1] is None
    assert (winner.state, winner.closed_at) == (RunState.CLOSED, NOW)
    assert winner.counts.values == {"restarted:finished": 2}
    assert lab.store.runs.live() is None
    assert lab.store.runs.totals() == {"restarted:finished": 2, "runs:completed": 1}


def test_a_stopped_run_starts_no_further_batch_and_keeps_its_first_reason(lab: Lab) -> None:
    opened(lab, ["t"], ["u"], ["v"])
    working = claimed(lab, "working")
    assert working is not None
    assert lab.store.runs.stop("r", RunOutcome.FAILED, "first", NOW)
    assert lab.store.runs.stop("r", RunOutcome.PARTIAL, "second", NOW)
    assert claimed(lab, "late", 1) is None
    assert lab.store.runs.count_open("r") == 1
    assert lab.store.runs.close("r", NOW) is None
    lab.store.runs.record(working, {0: ThreadOutcome(Outcome.RESTARTED)})
    lab.store.runs.finish_batch(working, NOW)
    closed = lab.store.runs.close("r", NOW)
    assert closed is not None
    assert (closed.outcome, closed.reason) == (RunOutcome.FAILED, "first")
    assert closed.counts.total(Outcome.CANCELLED) == 2
    assert not lab.store.runs.stop("r", RunOutcome.FAILED, "too late", NOW)


def test_a_stop_ends_a_batch_whose_worker_is_gone(lab: Lab) -> None:
    opened(lab, ["t"])
    dead = claimed(lab, "dead")
    assert dead is not None
    lab.clock.now = NOW + LEASE + timedelta(seconds=1)
    assert lab.store.runs.stop("r", RunOutcome.PARTIAL, "stop", lab.clock.now)
    assert lab.store.runs.count_open("r") == 0
    with pytest.raises(ClaimLostError):
        lab.store.runs.finish_batch(dead, lab.clock.now)


def test_all_batches_of_a_run_are_read_page_by_page(lab: Lab) -> None:
    opened(lab, *[[f"t{number}"] for number in range(41)])
    numbers = [batch.number for batch in lab.store.runs.batches("r")]
    assert numbers == list(range(41))
    assert lab.store.runs.count_batches("r") == 41
    assert list(lab.store.runs.batches("unknown")) == []
    assert lab.store.runs.batch("r", 99) is None


def test_the_history_is_read_newest_first_and_page_by_page(lab: Lab) -> None:
    names = ["a", "b", "c", "d"]
    for minute, name in zip((0, 0, 1, 2), names, strict=True):
        lab.at(minute, lambda n=name: run_sweep(lab.sweep(), n))  # type: ignore[misc]
    expected = ["d", "c", "a", "b"]
    assert [run.run_id for run in lab.store.runs.history(10)] == expected
    found, after = [], None
    while page := lab.store.runs.history(1, after):
        found += [run.run_id for run in page]
        after = page[-1]
    assert found == expected


def test_the_result_of_a_run_that_goes_on_can_be_asked_for(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    sweep = lab.sweep(dispatch=Queue())
    assert open_run(sweep, "r", allow_over_limit=False) is None
    run = lab.store.runs.get("r")
    assert run is not None
    lab.clock.advance(2)
    result = result_of(sweep, run)
    assert (result.planned, result.duration) == (1, timedelta(minutes=2))


def steal(lab: Lab, *, and_close: bool) -> LocalDispatch:
    """The dispatch of a process whose first batch goes to somebody else before it comes to it."""

    class Steals(LocalDispatch):
        def batches(self, run_id: str, numbers: Iterable[int]) -> None:
            numbers = list(numbers)
            if and_close:
                other = lab.sweep(dispatch=Queue(), batch_size=1)
                assert all(work_on(other, run_id, number).worked for number in numbers)
                assert finish(other, run_id) is not None
            else:
                assert claimed(lab, "other", numbers[0], run_id) is not None
            LocalDispatch.batches(self, run_id, numbers)

    return Steals()


@pytest.mark.parametrize("and_close", [False, True])
def test_a_sweep_overtaken_by_another_process_says_what_it_knows(lab: Lab, and_close: bool) -> None:
    for thread_id in ("a", "b"):
        lab.seed(thread_id, 30, marked=20)
    result = run_sweep(lab.sweep(dispatch=steal(lab, and_close=and_close), batch_size=1))
    if and_close:
        assert (result.outcome, result.reason) == (RunOutcome.COMPLETED, None)
        assert result.counts.values == {"deleted:finished": 2}
        return
    assert result.outcome is RunOutcome.PARTIAL
    assert result.reason == "another process still works on this run"
    assert result.to_json()["finished_swept"] == ["b"]
    assert result.counts.values == {"deleted:finished": 1}
