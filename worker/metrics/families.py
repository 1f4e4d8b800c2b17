"""The metric families, from what the run log adds up to.

Nothing is counted in a process: whoever reads the same store gives the same series.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from retention.ports import RunLog
from retention.runs import Counts, Latest, Outcome, RunOutcome
from retention.threads import Horizon


@dataclass(frozen=True, slots=True)
class Reading:
    """What the run log said at one moment."""

    totals: Mapping[str, int]
    latest: Latest
    undelivered: int = 0

    @classmethod
    def of(cls, runs: RunLog) -> "Reading":
        """Read the run log of a store."""
        return cls(runs.totals(), runs.latest(), runs.deliveries.count())


class ReadingCollector(Collector):
    """Gives the families of one reading to a Prometheus client."""

    def __init__(self, prefix: str, reading: Reading) -> None:
        """Begin the name of each family with a prefix."""
        self._prefix = prefix
        self._reading = reading

    def collect(self) -> Iterator[Metric]:
        """All families; a series that can be known beforehand is there from the first."""
        counts = Counts(self._reading.totals)
        yield self._by_horizon("swept", "Threads deleted.", counts, Outcome.DELETED)
        yield self._by_horizon("failed", "Threads not deleted.", counts, Outcome.FAILED)
        yield self._spared()
        yield self._runs()
        yield from self._latest(self._reading.latest)
        yield self._gauge(
            "undelivered_batches",
            "Batches of deleted threads that a hook was not told of yet, or failed on.",
            self._reading.undelivered,
        )

    def _by_horizon(self, name: str, says: str, counts: Counts, outcome: Outcome) -> Metric:
        family = CounterMetricFamily(self._prefix + name, says, labels=["horizon"])
        for horizon in Horizon:
            family.add_metric([horizon], counts.total(outcome, horizon))
        return family

    def _spared(self) -> Metric:
        says = "Threads past a horizon that a live-thread filter claimed, at each sweep again."
        family = CounterMetricFamily(self._prefix + "spared", says, labels=["horizon", "owner"])
        for series, count in sorted(self._reading.totals.items()):
            outcome, _, rest = series.partition(":")
            if outcome == Outcome.SPARED:
                horizon, _, owner = rest.partition(":")
                family.add_metric([horizon, owner], count)
        return family

    def _runs(self) -> Metric:
        says = "Sweeps that ended, by how they did."
        family = CounterMetricFamily(self._prefix + "runs", says, labels=["outcome"])
        for outcome in RunOutcome:
            family.add_metric([outcome], self._reading.totals.get(f"runs:{outcome}", 0))
        return family

    def _latest(self, latest: Latest) -> Iterator[Metric]:
        yield self._gauge(
            "last_success_timestamp_seconds",
            "When a sweep last ended as completed; 0 is never.",
            _seconds(latest.success_at),
        )
        yield self._gauge(
            "last_run_timestamp_seconds",
            "When the last sweep that was opened ended; 0 is never.",
            _seconds(latest.run_at),
        )
        duration = latest.duration.total_seconds() if latest.duration else 0
        yield self._gauge("duration_seconds", "How long the last sweep took.", duration)
        due = GaugeMetricFamily(
            f"{self._prefix}due_threads",
            "Threads that the last plan found past a horizon, those held or undatable among them.",
            labels=["horizon"],
        )
        for horizon in Horizon:
            due.add_metric([horizon], latest.due.get(horizon, 0))
        yield due

    def _gauge(self, name: str, says: str, value: float) -> Metric:
        return GaugeMetricFamily(self._prefix + name, says, value=value)


def registry_of(prefix: str, reading: Reading) -> CollectorRegistry:
    """A registry with the families of one reading and nothing else."""
    registry = CollectorRegistry()
    registry.register(ReadingCollector(prefix, reading))
    return registry


def _seconds(instant: datetime | None) -> float:
    return 0 if instant is None else instant.timestamp()
