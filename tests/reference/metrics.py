"""docs/reference/metrics.md."""

from datetime import UTC, datetime, timedelta

from prometheus_client import generate_latest
from prometheus_client.core import Metric

from retention.runs import Latest
from retention.threads import Horizon
from tests.reference import markdown
from tests.reference.markdown import code, table
from worker.metrics.families import Reading, ReadingCollector, registry_of
from worker.settings import SweepSettings

_INTRODUCTION = """\
The series are made from totals that the store keeps, so every worker gives the same ones, they
survive restarts, and old runs may be forgotten. They are pushed to the Pushgateway at
`SWEEP_PUSHGATEWAY_URL` when a run ends, and served by `retention serve` as `GET /metrics`. Names
begin with `SWEEP_METRICS_PREFIX`.
"""

_INSTANT = datetime(2026, 1, 31, 3, 0, tzinfo=UTC)


def page() -> str:
    """Every series, from the families that the worker makes."""
    prefix = str(SweepSettings.model_fields["metrics_prefix"].default)
    reading = _sample()
    text = generate_latest(registry_of(prefix, reading)).decode()
    return markdown.page(
        "Metrics",
        _INTRODUCTION,
        table(
            ("series", "type", "labels", "meaning"),
            [_row(family) for family in ReadingCollector(prefix, reading).collect()],
        ),
        "## Example",
        f"```text\n{text.strip()}\n```",
    )


def _sample() -> Reading:
    totals = {
        "deleted:finished": 120,
        "deleted:waiting": 40,
        "spared:waiting:flows-engine": 3,
        "runs:completed": 24,
    }
    latest = Latest(_INSTANT, _INSTANT, timedelta(seconds=1.25), dict.fromkeys(Horizon, 5))
    return Reading(totals, latest)


def _row(family: Metric) -> tuple[str, ...]:
    labels = {name: None for sample in family.samples for name in sample.labels}
    suffix = "_total" if family.type == "counter" else ""
    names = ", ".join(map(code, labels)) or "none"
    return code(family.name + suffix), family.type, names, family.documentation
