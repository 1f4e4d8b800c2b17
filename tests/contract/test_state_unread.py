"""I8: a sweep never decodes state, so that it needs neither its classes nor its key."""

import os
import subprocess
import sys

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from retention.filters import FlowsEngineFilter
from retention.runs import Outcome
from stores import Access
from tests.contract.lab import Lab, on_disk


def seed(lab: Lab) -> None:
    """One thread of each kind a sweep looks at."""
    lab.seed("due", 90, marked=20)
    lab.seed("parked", 90, marked=20, interrupted=True)
    lab.seed("late", 90, marked=20)


def test_state_that_cannot_be_decoded_does_not_matter(lab: Lab) -> None:
    seed(lab)
    lab.direct.garble()
    before = lab.preview(FlowsEngineFilter(lab.store)).to_json()
    result = lab.run(FlowsEngineFilter(lab.store))
    assert before["swept_count"] == result.counts.total(Outcome.DELETED) == 2
    assert result.to_json()["spared"][0]["thread_id"] == "parked"
    lab.write_late("due", 100)
    lab.direct.garble()
    assert lab.run().counts.total(Outcome.CLEANED) == 1


def test_a_sweep_calls_no_decoder(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    seed(lab)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a sweep decoded state")

    monkeypatch.setattr(JsonPlusSerializer, "loads_typed", refuse)
    monkeypatch.setattr(JsonPlusSerializer, "dumps_typed", refuse)
    lab.preview(FlowsEngineFilter(lab.store))
    assert lab.run(FlowsEngineFilter(lab.store)).counts.total(Outcome.DELETED) == 2
    assert lab.run().counts.total(Outcome.DELETED) == 1


@on_disk
def test_a_sweep_makes_no_saver(lab: Lab) -> None:
    seed(lab)
    with lab.other(access=Access.WRITE) as store:
        assert lab.run(FlowsEngineFilter(store), store=store).counts.total(Outcome.DELETED) == 2
        assert "saver" not in vars(store)


def test_the_domain_imports_neither_a_serializer_nor_a_driver() -> None:
    code = (
        "import sys, retention.sweep, stores; "
        "print([m for m in ('psycopg', 'sqlite3', 'aiosqlite', 'redis', 'celery') "
        "if m in sys.modules])"
    )
    # Coverage, where it measures this run, would import some of them itself.
    environ = {name: v for name, v in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
