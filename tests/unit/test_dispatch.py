"""What is sent to the pool, how a result comes back, and what an outage costs."""

import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded

from retention.policy import RetentionPolicy
from retention.runs import RunOutcome
from retention.sweep import SweepResult
from worker.app import RetentionApp
from worker.dispatch import CeleryDispatch
from worker.settings import BrokerSettings, load_sweep_settings

NOWHERE = "redis://127.0.0.1:1/0"


def app(broker: str = "memory://", backend: str = "cache+memory://") -> RetentionApp:
    """An app whose messages and results stay in this process."""
    return RetentionApp(BrokerSettings(broker, backend), load_sweep_settings({}, None))


def result(run_id: str) -> SweepResult:
    """The result of a run in which there was nothing to do."""
    started = datetime(2026, 1, 1, tzinfo=UTC)
    return SweepResult(
        run_id,
        RunOutcome.COMPLETED,
        "sqlite",
        RetentionPolicy(),
        started,
        duration=timedelta(seconds=2),
    )


def sent(made: RetentionApp) -> list[tuple[str, list[Any]]]:
    """The messages that wait in the queue: each task with its arguments."""
    with made.connection_for_read() as connection, connection.SimpleQueue("retention") as queue:
        messages = [queue.get(block=False) for _ in range(queue.qsize())]
    return [(str(m.headers["task"]), m.payload[0]) for m in messages]


def test_messages_carry_a_run_and_a_number_and_nothing_else() -> None:
    made = app()
    with made.connection_for_read() as connection, connection.SimpleQueue("retention") as queue:
        queue.clear()
    dispatch = CeleryDispatch(made)
    dispatch.batches("run", iter(range(3)))
    dispatch.finish("run")
    assert sent(made) == [
        *(("retention.sweep_batch", ["run", number]) for number in range(3)),
        ("retention.finish_sweep", ["run"]),
    ]


def test_a_result_is_found_under_the_run_and_prints_as_json() -> None:
    made = app()
    dispatch = CeleryDispatch(made)
    assert dispatch.publish(result("run-1"))
    assert dispatch.publish(result("run-1")), "a second time is harmless"
    found = made.AsyncResult("run-1")
    assert found.state == "SUCCESS"
    assert json.loads(str(found.get())) == result("run-1").to_json()


def test_what_is_no_object_is_given_as_it_is() -> None:
    made = app()
    made.backend.store_result("task", None, "SUCCESS")
    assert made.AsyncResult("task").get() is None


def test_a_backend_that_is_away_is_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = app()

    def away(*_: object, **__: object) -> None:
        raise RuntimeError("away")

    monkeypatch.setattr(made.backend, "store_result", away)
    with caplog.at_level(logging.WARNING):
        assert not CeleryDispatch(made).publish(result("run"))
    assert [record.getMessage() for record in caplog.records] == [
        'result_not_stored run=run error="RuntimeError: away"'
    ]


def test_a_time_limit_is_no_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the task, and the claim runs out."""
    made = app()

    def too_long(*_: object, **__: object) -> None:
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(made.backend, "store_result", too_long)
    with pytest.raises(SoftTimeLimitExceeded):
        CeleryDispatch(made).publish(result("run"))


def test_a_broker_that_is_away_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    dispatch = CeleryDispatch(app(broker=NOWHERE))
    with caplog.at_level(logging.WARNING, "worker.dispatch"):
        dispatch.batches("run", range(1000))
        dispatch.finish("run")
    lines = [record.getMessage() for record in caplog.records if record.name == "worker.dispatch"]
    assert len(lines) == 2
    assert lines[0].startswith("batches_not_sent run=run error=")
    assert lines[1].startswith("finish_not_sent run=run error=")
