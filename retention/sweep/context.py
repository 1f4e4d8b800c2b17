"""What a sweep works with."""

import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from retention.filters import LiveThreadFilter
from retention.hooks import Hooks
from retention.operator import without_waiting
from retention.policy import RetentionPolicy
from retention.ports import CheckpointStore, Clock, RunLog
from retention.sweep.options import SweepOptions
from retention.sweep.pacing import Pace
from retention.sweep.result import SweepResult
from retention.threads import Rule


class Dispatch(Protocol):
    """Brings work to whoever does it. Losing it costs time, never correctness."""

    def batches(self, run_id: str, numbers: Iterable[int]) -> None:
        """Have these batches worked on."""

    def finish(self, run_id: str) -> None:
        """Have the run closed."""

    def publish(self, result: SweepResult) -> bool:
        """Hand out the result of a closed run; False where it must be tried again."""


class Metrics(Protocol):
    """Tells monitors what the run log adds up to. Losing it costs nothing: the next tells all."""

    def push(self, run_id: str, runs: RunLog) -> None:
        """Tell it, now that this run has ended; never raises for want of a listener."""


class NoMetrics:
    """Tells nobody."""

    def push(self, run_id: str, runs: RunLog) -> None:
        """Do nothing."""


def _new_token() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Sweep:
    """One store's sweep: what the steps of every run share."""

    store: CheckpointStore
    policy: RetentionPolicy
    filters: Sequence[LiveThreadFilter]
    dispatch: Dispatch
    clock: Clock
    options: SweepOptions = field(default_factory=SweepOptions)
    new_token: Callable[[], str] = _new_token
    metrics: Metrics = field(default_factory=NoMetrics)
    #: Waits for so many seconds.
    sleep: Callable[[float], None] = time.sleep
    pace: Pace = field(default_factory=Pace)
    hooks: Hooks = field(default_factory=Hooks)

    def rule(self, policy: RetentionPolicy, now: datetime) -> Rule:
        """The rule of a run: its policy, measured from its instant, and the operator's policies."""
        sweeps_waiting = self.store.waiting_skipped is None
        policies = self.options.policies
        return Rule(
            policy, now, sweeps_waiting, policies if sweeps_waiting else without_waiting(policies)
        )

    def lease_until(self) -> datetime:
        """When a claim or a run's lease taken now ends."""
        return self.clock() + self.options.lease
