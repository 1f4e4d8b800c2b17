"""A worker pool as far as a store sees it: messages, claims and settled batches."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from retention.errors import StoreUnavailableError
from retention.ports import BatchPlan, Claim
from retention.runs import BatchKind, Candidate, Run
from retention.sweep import SweepResult
from retention.threads import Horizon, Rule
from stores import Store
from tests.contract.lab import POLICY, Lab

#: How long a claim lasts by default.
LEASE = timedelta(seconds=300)


class Queue:
    """A pool's dispatch as far as a store sees it: messages wait, or are lost."""

    def __init__(self, *, delivers: bool = True) -> None:
        self.sent: list[tuple[str, int]] = []
        self.to_finish: list[str] = []
        self.published: list[SweepResult] = []
        self.delivers = delivers

    def batches(self, run_id: str, numbers: Iterable[int]) -> None:
        self.sent.extend((run_id, number) for number in numbers)

    def finish(self, run_id: str) -> None:
        self.to_finish.append(run_id)

    def publish(self, result: SweepResult) -> bool:
        if self.delivers:
            self.published.append(result)
        return self.delivers


def no_answer(*_: object) -> None:
    """What a port does whose store is away."""
    raise StoreUnavailableError("no answer")


def a_run(lab: Lab, run_id: str = "r") -> Run:
    """A run that begins now."""
    return Run(run_id, POLICY, lab.clock.now, lab.clock.now + LEASE)


def opened(lab: Lab, *batches: Sequence[str | Candidate], run_id: str = "r") -> None:
    """Open a run with these threads in its batches, ready to be claimed."""
    runs, until = lab.store.runs, lab.clock.now + LEASE
    assert runs.open(a_run(lab, run_id), "plan")
    plans = [
        BatchPlan(BatchKind.SWEEP, [_candidate(thread) for thread in threads])
        for threads in batches
    ]
    runs.add_batches(run_id, "plan", 0, plans, until)
    runs.end_plan(run_id, "plan", until)


def _candidate(thread: str | Candidate) -> Candidate:
    return Candidate(thread, Horizon.FINISHED) if isinstance(thread, str) else thread


def claimed(lab: Lab, token: str, number: int = 0, run_id: str = "r") -> Claim | None:
    """Claim a batch now."""
    now = lab.clock.now
    return lab.store.runs.claim(run_id, number, token, now, now + LEASE)


def settle(lab: Lab, claim: Claim, store: Store | None = None) -> None:
    """Settle all threads of a claim."""
    rule = Rule(POLICY, claim.run.started_at)
    indexes = range(len(claim.batch.candidates))
    (store or lab.store).deleter.settle(claim, indexes, rule.judge, {})
