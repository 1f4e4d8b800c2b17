"""I9: what a sweep may do at most, and how it ends where that is reached."""

from datetime import timedelta
from typing import Any

import pytest

from retention.runs import Outcome, RunOutcome
from retention.sweep import SweepResult
from tests.contract.lab import Claims, Lab, on_disk
from tests.seeding import seed_threads


def seed_due(lab: Lab, count: int, prefix: str = "t") -> None:
    """Threads that are due."""
    thread_ids = seed_threads(lab.saver, prefix, count, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(thread_ids))


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"max_threads": 3}, "4 of 10 threads, above the limit of 3 (SWEEP_MAX_THREADS)"),
        ({"max_share": 0.39}, "4 of 10 threads, above the share of 0.39 (SWEEP_MAX_SHARE)"),
        ({"max_threads": 4, "max_share": 0.3}, "4 of 10 threads, above the share of 0.3"),
    ],
)
def test_a_plan_above_a_safety_limit_is_refused_unless_it_is_let_pass(
    lab: Lab, limits: dict[str, Any], named: str
) -> None:
    seed_due(lab, 4)
    seed_threads(lab.saver, "live", 6, lab.ago(5))
    preview = lab.preview(**limits)
    result = lab.run(**limits)
    assert (preview.outcome, preview.reason) == (result.outcome, result.reason)
    assert preview.counts == result.counts
    assert preview.threads.lists == {}
    assert lab.preview(allow_over_limit=True, **limits).counts.total(Outcome.DELETED) == 4
    assert result.outcome is RunOutcome.REFUSED
    assert named in (result.reason or "")
    assert "--allow-over-limit" in (result.reason or "")
    assert result.counts.values == {"cancelled:unexamined": 4}
    assert len(lab.threads()) == 10
    assert lab.store.runs.totals()["runs:refused"] == 1
    assert lab.run(allow_over_limit=True, **limits).counts.total(Outcome.DELETED) == 4


@pytest.mark.parametrize("limits", [{"max_threads": 4}, {"max_share": 0.4}])
def test_a_plan_at_a_safety_limit_passes(lab: Lab, limits: dict[str, Any]) -> None:
    seed_due(lab, 4)
    seed_threads(lab.saver, "live", 6, lab.ago(5))
    assert lab.run(**limits).outcome is RunOutcome.COMPLETED


def test_an_empty_plan_is_above_no_limit(lab: Lab) -> None:
    assert lab.run(max_threads=0, max_share=0.01).outcome is RunOutcome.COMPLETED


def test_a_run_that_outlasts_its_budget_starts_no_further_batch(lab: Lab) -> None:
    seed_due(lab, 5)

    class Slow(Claims):
        def claims(self, thread_ids: Any) -> list[str]:
            lab.clock.now += timedelta(seconds=20)
            return super().claims(thread_ids)

    slow = Slow()
    result = lab.run(slow, batch_size=1, time_budget=timedelta(seconds=40))
    assert result.outcome is RunOutcome.BUDGET_EXHAUSTED
    assert result.reason == "the run lasted longer than its budget of 40 seconds"
    assert result.counts.total(Outcome.DELETED) == len(slow.asked) == 2
    assert result.counts.total(Outcome.CANCELLED) == 3
    assert lab.run().counts.total(Outcome.DELETED) == 3


def test_no_batch_holds_more_threads_than_its_size(lab: Lab) -> None:
    seed_due(lab, 7)
    asked = Claims()
    lab.run(asked, batch_size=3)
    assert [len(some) for some in asked.asked] == [3, 3, 1]


def test_a_plan_of_more_batches_than_one_transaction_records_is_whole(lab: Lab) -> None:
    seed_due(lab, 23)
    result = lab.run(batch_size=1)
    assert (result.planned, result.counts.total(Outcome.DELETED)) == (23, 23)


def run_at(lab: Lab, days: float, **how: Any) -> SweepResult:
    """Sweep at another day."""
    results: list[SweepResult] = []
    lab.at(days * 24 * 60, lambda: results.append(lab.run(**how)))
    return results[0]


def test_old_runs_are_forgotten_and_their_totals_stay(lab: Lab) -> None:
    seed_due(lab, 2)
    first = lab.run()
    for day in (1, 2):
        run_at(lab, day)
    assert first.run_id in {run.run_id for run in lab.store.runs.history(10)}
    run_at(lab, 29.9)
    assert first.run_id in {run.run_id for run in lab.store.runs.history(10)}
    run_at(lab, 30.5)
    history = {run.run_id for run in lab.store.runs.history(10)}
    assert first.run_id not in history
    assert len(history) == 4
    assert list(lab.store.runs.batches(first.run_id)) == []
    assert lab.store.runs.totals() == {"deleted:finished": 2, "runs:completed": 5}


def test_a_run_is_not_forgotten_before_its_threads_were_looked_at_again(lab: Lab) -> None:
    seed_due(lab, 1)
    first = lab.run()
    run_at(lab, 40)
    assert first.run_id in {run.run_id for run in lab.store.runs.history(10)}
    run_at(lab, 41)
    assert first.run_id not in {run.run_id for run in lab.store.runs.history(10)}


def test_a_sweep_forgets_no_more_runs_than_its_limit(lab: Lab) -> None:
    for _ in range(5):
        lab.run()
    run_at(lab, 40, forget_runs=2)
    assert len(lab.store.runs.history(10)) == 4


@on_disk
def test_a_plan_that_the_store_refuses_fails_its_run_with_the_reason(lab: Lab) -> None:
    seed_due(lab, 1)
    with lab.broken.unlisted() as missing:
        result = lab.run()
    assert result.outcome is RunOutcome.FAILED
    assert missing in (result.reason or "")
    assert lab.run().counts.total(Outcome.DELETED) == 1
