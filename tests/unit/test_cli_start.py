"""`retention sweep start`: the task it sends, and how it waits for the run's result."""

import base64
import itertools
import json
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from retention.errors import ConfigurationError, StoreUnavailableError
from retention.policy import RetentionPolicy
from retention.runs import Run, RunOutcome
from retention.sweep import SweepResult
from stores import init_store, open_store
from stores.options import now
from stores.relational.runs import RelationalRunLog
from tests.commands import command_on, retention_command
from worker.app import make_app

Answer = Callable[[Any, str], None]


@pytest.fixture
def broker(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of messages of a broker that no worker reads."""
    monkeypatch.setenv("CELERY_BROKER_URL", f"filesystem://{folder / 'broker'}")
    monkeypatch.setenv("LLM_PROVIDER_CHECKPOINT", "sqlite")
    monkeypatch.setenv("LLM_PROVIDER_CHECKPOINT_CONN_STRING", str(path))
    return folder / "broker" / "messages"


def message(broker: Path) -> tuple[str, str, dict[str, Any]]:
    """The task that was sent: its name, its id and its arguments."""
    (sent,) = broker.glob("*.msg")
    envelope = json.loads(sent.read_text())
    body = json.loads(base64.b64decode(envelope["body"]))
    return envelope["headers"]["task"], envelope["headers"]["id"], body[1]


@pytest.fixture
def worker(broker: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Answer]]:
    """A worker played by the test: each pause of the waiting command, it does its next step."""
    steps: list[Answer] = []
    clock = itertools.count(step=20.0)

    def pause(_: float) -> None:
        steps.pop(0)(make_app().backend, message(broker)[1])

    fake = SimpleNamespace(sleep=pause, monotonic=lambda: next(clock))
    monkeypatch.setattr("worker.cli.sweep_start.time", fake)
    yield steps
    assert steps == []


def result_of(outcome: str) -> Answer:
    """Store a result with this outcome."""

    def answer(backend: Any, run_id: str) -> None:
        result = SweepResult(run_id, RunOutcome(outcome), "sqlite", RetentionPolicy(), now())
        backend.store_result(run_id, result.to_json(), "SUCCESS")

    return answer


def failure_of(error: Exception) -> Answer:
    """Store a failed task."""
    return lambda backend, run_id: backend.mark_as_failure(run_id, error)


def nothing(*_: object) -> None:
    """Do nothing yet."""


def test_start_sends_the_sweep_and_prints_its_id(broker: Path) -> None:
    ran = retention_command("sweep", "start", "--dry-run", "--allow-over-limit")
    name, run_id, arguments = message(broker)
    assert (ran.status, ran.out, ran.err) == (0, f"{run_id}\n", "")
    assert name == "retention.sweep"
    assert arguments == {"dry_run": True, "allow_over_limit": True, "store": None}


def test_a_named_store_is_sent_as_the_worker_reads_it(broker: Path, path: Path) -> None:
    ran = command_on(Path(path.name), "sweep", "start", "--json")
    _, run_id, arguments = message(broker)
    assert ran.answer == {"run_id": run_id}
    assert arguments["store"] == str(path)


def test_no_password_goes_through_the_broker(broker: Path) -> None:
    address = "postgresql://user:geheim@host/db"
    assert retention_command("sweep", "start", "--storage", address).status == 0
    assert message(broker)[2]["store"] == "postgresql://user:***@host/db"
    assert all(b"geheim" not in sent.read_bytes() for sent in broker.glob("*.msg"))


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("completed", 0), ("partial", 3), ("budget_exhausted", 3), ("refused", 5), ("failed", 1)],
)
def test_wait_leaves_as_the_run_ended(worker: list[Answer], outcome: str, status: int) -> None:
    worker += [nothing, result_of(outcome)]
    ran = retention_command("sweep", "start", "--wait", "--json")
    assert (ran.status, ran.answer["outcome"]) == (status, outcome)


def test_wait_shows_the_result_and_says_once_that_no_worker_came(worker: list[Answer]) -> None:
    worker += [nothing, nothing, nothing, result_of("completed")]
    ran = retention_command("sweep", "start", "--wait")
    assert ran.status == 0
    assert "completed" in ran.out
    assert ran.err == "retention: no worker has taken the sweep up yet; still waiting\n"


def test_what_the_worker_refused_is_refused_here(worker: list[Answer]) -> None:
    worker.append(failure_of(ConfigurationError("another store")))
    ran = retention_command("sweep", "start", "--wait")
    assert (ran.status, ran.err.splitlines()[-1]) == (2, "retention: another store")


def test_a_task_that_failed_is_an_error(worker: list[Answer]) -> None:
    worker.append(failure_of(ZeroDivisionError("by zero")))
    ran = retention_command("sweep", "start", "--wait")
    assert ran.status == 1
    assert "the task ended as FAILURE: by zero" in ran.err


def test_a_wait_ends_where_the_store_lost_the_run(worker: list[Answer], path: Path) -> None:
    def begin(_: object, run_id: str) -> None:
        with open_store(str(path)) as store:
            store.runs.open(Run(run_id, RetentionPolicy(), now(), now()), "plan")

    def lose(*_: object) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM retention_runs")

    init_store(str(path))
    worker += [begin, nothing, lose]
    ran = retention_command("sweep", "start", "--wait")
    assert ran.status == 1
    assert "is gone: the store was emptied, or lost data, under it" in ran.err


def test_a_wait_outlasts_a_store_that_is_away_for_a_while(
    worker: list[Answer], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin(_: object, run_id: str) -> None:
        with open_store(str(path)) as store:
            store.runs.open(Run(run_id, RetentionPolicy(), now(), now()), "plan")

    def away(_: object, __: str) -> None:
        raise StoreUnavailableError("away")

    init_store(str(path))
    worker += [
        begin,
        lambda *_: monkeypatch.setattr(RelationalRunLog, "get", away),
        result_of("partial"),
    ]
    assert retention_command("sweep", "start", "--wait").status == 3


def test_an_interrupted_wait_says_that_the_run_goes_on(worker: list[Answer]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    worker.append(interrupted)
    ran = retention_command("sweep", "start", "--wait")
    assert ran.status == 130
    assert "goes on" in ran.err


@pytest.mark.parametrize(
    ("broker_url", "backend", "says"),
    [
        ("redis://:geheim@127.0.0.1:{port}/0", None, "result backend redis://"),
        ("amqp://user:geheim@127.0.0.1:{port}//", "file:///tmp", "broker amqp://"),
        ("rpc://", None, "CELERY_BROKER_URL"),
        (None, None, "CELERY_BROKER_URL is not set"),
    ],
)
def test_a_broker_that_is_away_or_wrong_is_one_line(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    broker_url: str | None,
    backend: str | None,
    says: str,
) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        if broker_url is not None:
            url = broker_url.format(port=bound.getsockname()[1])
            monkeypatch.setenv("CELERY_BROKER_URL", url)
        if backend is not None:
            monkeypatch.setenv("CELERY_RESULT_BACKEND", backend)
        ran = retention_command("sweep", "start")
    assert ran.status == (1 if backend or "redis" in str(broker_url) else 2)
    assert says in ran.err
    assert ran.err.count("\n") == 1
    assert "geheim" not in ran.err
