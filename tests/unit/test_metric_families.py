"""What a reading of the run log is as metrics."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import generate_latest

from retention.runs import Latest, RunOutcome
from retention.threads import Horizon
from tests.scraping import PREFIX, Series, lint, series_of, value
from worker.metrics.families import Reading, registry_of

AT = datetime(2026, 6, 1, 12, 0, 0, 250_000, tzinfo=UTC)
TOTALS = {
    "deleted:finished": 3,
    "deleted:waiting": 4,
    "failed:waiting": 1,
    "spared:waiting:flows-engine": 2,
    'spared:finished:an:"own"\n\\er': 1,
    "held:waiting": 9,
    "cancelled:unexamined": 8,
    "runs:completed": 5,
    "runs:failed": 1,
}


def text(reading: Reading, prefix: str = PREFIX) -> str:
    """The text that is pushed."""
    return generate_latest(registry_of(prefix, reading)).decode()


def test_every_series_is_what_the_totals_say() -> None:
    due = {Horizon.FINISHED: 6, Horizon.WAITING: 7}
    latest = Latest(AT + timedelta(seconds=60), AT, timedelta(seconds=1.5), due)
    series = series_of(text(Reading(TOTALS, latest, 4)))
    runs = {**dict.fromkeys(map(str, RunOutcome), 0), "completed": 5, "failed": 1}
    expected: Series = {
        ("swept_total", (("horizon", "finished"),)): 3,
        ("swept_total", (("horizon", "waiting"),)): 4,
        ("failed_total", (("horizon", "finished"),)): 0,
        ("failed_total", (("horizon", "waiting"),)): 1,
        ("spared_total", (("horizon", "waiting"), ("owner", "flows-engine"))): 2,
        ("spared_total", (("horizon", "finished"), ("owner", 'an:"own"\n\\er'))): 1,
        **{("runs_total", (("outcome", outcome),)): n for outcome, n in runs.items()},
        ("last_success_timestamp_seconds", ()): 1780315200.25,
        ("last_run_timestamp_seconds", ()): 1780315260.25,
        ("duration_seconds", ()): 1.5,
        ("due_threads", (("horizon", "finished"),)): 6,
        ("due_threads", (("horizon", "waiting"),)): 7,
        ("undelivered_batches", ()): 4,
    }
    assert series == expected


def test_before_the_first_run_each_known_series_is_zero() -> None:
    """Only the owners of spared threads cannot be known beforehand."""
    series = series_of(text(Reading({}, Latest())))
    assert set(series.values()) == {0}
    assert len(series) == 2 + 2 + len(RunOutcome) + 3 + 2 + 1
    assert value(series, "last_success_timestamp_seconds") == 0


def test_promtool_has_nothing_against_them() -> None:
    """Runs where promtool is on PATH."""
    assert lint(text(Reading(TOTALS, Latest(AT, AT)))) == ""


@pytest.mark.parametrize("prefix", ["a_", "ns:sweep_", "x"])
def test_every_name_begins_with_the_prefix(prefix: str) -> None:
    lines = text(Reading(TOTALS, Latest()), prefix).splitlines()
    names = {line.split("{")[0].split(" ")[0] for line in lines if not line.startswith("#")}
    assert names
    assert all(name.startswith(prefix) for name in names)
    assert f"{prefix}spared_total" in names
