"""How fast a sweep deletes: transactions that shrink and grow back, and rests between them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from retention.errors import StoreTimeoutError
from retention.ports import Claim
from retention.runs import Outcome, RunOutcome
from retention.sweep import Sweep
from retention.sweep.pacing import GOOD_BEFORE_GROWTH, TransactionSize
from retention.threads import Judge
from tests.contract.lab import Lab, count_of, run_sweep
from tests.contract.test_limits import seed_due


@contextmanager
def settling(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, times_out: Callable[[Sequence[str]], bool]
) -> Iterator[list[int]]:
    """How many threads each transaction was to settle; one of such threads runs out of time."""
    sizes: list[int] = []
    kind = type(lab.worker.deleter)
    settle: Callable[..., None] = kind.settle

    def timed(
        self: Any, claim: Claim, indexes: Sequence[int], judge: Judge, spared: Mapping[str, str]
    ) -> None:
        sizes.append(len(indexes))
        if times_out([claim.batch.candidates[i].thread_id for i in indexes]):
            raise StoreTimeoutError("statement timeout")
        settle(self, claim, indexes, judge, spared)

    with monkeypatch.context() as patch:
        patch.setattr(kind, "settle", timed)
        yield sizes


def paced(lab: Lab, **options: Any) -> tuple[Sweep, list[float]]:
    """A sweep whose sleeps move the clock, and how long each was."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        # Would wait, or fail, if this process were within a transaction.
        lab.store.ledger.start(["somebody-else"])
        lab.clock.now += timedelta(seconds=seconds)

    return replace(lab.sweep(**options), sleep=sleep), slept


def test_after_a_timeout_transactions_shrink_and_grow_back(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_due(lab, 40)
    most = 2
    sweep = lab.sweep(batch_size=8)
    with settling(lab, monkeypatch, lambda ids: len(ids) > most) as sizes:
        result = run_sweep(sweep)
        # What is known to work, until it has worked often enough for a try at twice as much.
        again = [2] * GOOD_BEFORE_GROWTH
        assert sizes == [8, 4, *again, *[4, *again] * 4]
        assert (result.outcome, count_of(result, Outcome.DELETED)) == (RunOutcome.COMPLETED, 40)
        most = 8
        seed_due(lab, 80, "u")
        sizes.clear()
        assert count_of(run_sweep(sweep), Outcome.DELETED) == 80
    assert sizes[-1] == 8
    assert sweep.pace.size == TransactionSize()


def test_a_thread_that_times_out_alone_fails_and_the_others_go(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_due(lab, 5)
    with settling(lab, monkeypatch, lambda ids: "t-0001" in ids):
        result = lab.run()
    assert (result.outcome, count_of(result, Outcome.DELETED)) == (RunOutcome.PARTIAL, 4)
    assert result.to_json()["failed"][0]["thread_id"] == "t-0001"
    assert lab.run().to_json()["finished_swept"] == ["t-0001"]


def test_a_rate_is_kept_over_batches_and_sleeps_in_no_transaction(lab: Lab) -> None:
    seed_due(lab, 12)
    sweep, slept = paced(lab, threads_per_second=2, batch_size=5)
    began = lab.clock.now
    assert count_of(run_sweep(sweep), Outcome.DELETED) == 12
    # Batches of 5, 5 and 2, each in transactions of two at most: 2 2 1, 2 2 1, 2.
    assert slept == [1, 1, 0.5, 1, 1, 0.5]
    assert lab.clock.now - began == timedelta(seconds=5)


def test_a_process_rests_between_transactions_and_not_before_the_first(lab: Lab) -> None:
    seed_due(lab, 3)
    sweep, slept = paced(lab, rest=timedelta(seconds=0.2), batch_size=1)
    assert count_of(run_sweep(sweep), Outcome.DELETED) == 3
    assert slept == [0.2, 0.2]
