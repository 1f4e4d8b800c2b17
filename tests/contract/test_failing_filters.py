"""I4: a filter that fails fails the sweep, and nothing is deleted on a guess."""

from typing import Any

import pytest

from retention.runs import Outcome, RunOutcome
from retention.sweep import finish, open_run, work_on
from tests.contract.lab import Claims, Lab
from tests.contract.pool import Queue
from tests.seeding import seed_threads


class FailsAt(Claims):
    """Answers until it is asked for the so-manieth time."""

    def __init__(self, call: int, how: Any) -> None:
        super().__init__()
        self._call = call
        self._how = how

    def claims(self, thread_ids: Any) -> Any:
        super().claims(thread_ids)
        if len(self.asked) < self._call:
            return []
        if isinstance(self._how, Exception):
            raise self._how
        return self._how


def seed_due(lab: Lab, count: int) -> None:
    """Threads that are due, by name."""
    thread_ids = seed_threads(lab.saver, "t", count, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(thread_ids))


@pytest.mark.parametrize("how", [RuntimeError("down"), "t-0002", [None], None])
def test_the_batches_before_stay_deleted_and_none_starts_afterwards(lab: Lab, how: Any) -> None:
    seed_due(lab, 6)
    broken, calm = FailsAt(2, how), Claims(owner="calm")
    result = lab.run(calm, broken, batch_size=1)
    assert result.outcome is RunOutcome.FAILED
    assert (result.reason or "").startswith("live-thread filter 'tests' failed: ")
    assert result.counts.total(Outcome.DELETED) == 1
    assert result.counts.total(Outcome.CANCELLED) == 5
    assert broken.asked == calm.asked
    (gone,), (_,) = broken.asked
    assert lab.threads() == {f"t-{number:04}" for number in range(6)} - {gone}
    assert lab.store.runs.totals()["runs:failed"] == 1


def test_a_thread_that_a_filter_before_it_claimed_is_not_deleted_either(lab: Lab) -> None:
    seed_due(lab, 3)
    result = lab.run(Claims("t-0001"), FailsAt(1, ValueError("x")))
    assert result.counts.values == {"cancelled:finished": 3}
    assert len(lab.threads()) == 3


def test_a_batch_in_the_queue_of_another_worker_does_not_start(lab: Lab) -> None:
    seed_due(lab, 2)
    queue = Queue()
    broken = lab.sweep(FailsAt(1, OSError("down")), dispatch=queue, batch_size=1)
    sound = lab.sweep(dispatch=queue, batch_size=1)
    assert open_run(broken, "r", allow_over_limit=False) is None
    assert work_on(broken, "r", 1).worked
    assert not work_on(sound, "r", 0).worked
    assert len(lab.threads()) == 2
    result = finish(sound, "r")
    assert result is not None
    assert (result.outcome, result.counts.total(Outcome.CANCELLED)) == (RunOutcome.FAILED, 2)


def test_the_next_sweep_finds_what_the_failed_one_left(lab: Lab) -> None:
    seed_due(lab, 3)
    lab.run(FailsAt(1, OSError("down")))
    assert lab.run().counts.values == {"deleted:finished": 3}
