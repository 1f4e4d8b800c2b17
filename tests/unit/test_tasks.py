"""The tasks on a real SQLite store, run in this process."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from retention.errors import (
    CheckpointStoreFormatError,
    ConfigurationError,
    StoreUnavailableError,
)
from retention.policy import RetentionPolicy
from retention.runs import Run
from retention.sweep import SweepResult, pause
from retention.threads import Hold
from stores import open_store
from tests.seeding import seed_threads
from worker.app import RetentionApp
from worker.process import ProcessSweep
from worker.settings import BrokerSettings, load_sweep_settings
from worker.tasks import BatchTask, EraseTask, FinishTask, StoreTask, SweepTask


@dataclass
class Recorder:
    """A dispatch that only notes what it is asked for."""

    sent: list[tuple[str, int]] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    published: list[SweepResult] = field(default_factory=list)

    def batches(self, run_id: str, numbers: Iterable[int]) -> None:
        self.sent += [(run_id, number) for number in numbers]

    def finish(self, run_id: str) -> None:
        self.finished.append(run_id)

    def publish(self, result: SweepResult) -> bool:
        self.published.append(result)
        return True


@dataclass
class Bench:
    """The tasks of one process, with what they send."""

    app: RetentionApp
    process: ProcessSweep
    dispatch: Recorder
    again: list[dict[str, Any]]

    def run(self, task: type[StoreTask], *args: Any, task_id: str = "run", **kwargs: Any) -> Any:
        """Run a task to its end, as a worker would."""
        return self.app.tasks[task.name].apply(args, kwargs, task_id=task_id)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Tasks whose store holds five threads to sweep, two a batch."""
    path = tmp_path / "checkpoints.db"
    with open_store(str(path)) as store:
        seed_threads(store.saver, "due", 5, datetime.now(UTC) - timedelta(days=30))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_PROVIDER_CHECKPOINT", "sqlite")
    monkeypatch.setenv("LLM_PROVIDER_CHECKPOINT_CONN_STRING", str(path))
    sweep = load_sweep_settings({"SWEEP_BATCH_SIZE": "2"}, None)
    app = RetentionApp(BrokerSettings("memory://", "cache+memory://"), sweep)
    dispatch, again = Recorder(), []
    process = ProcessSweep(sweep, dispatch)

    def note(self: StoreTask, args: Any, kwargs: Any, **options: Any) -> None:
        again.append({"task": self.name, "args": args, "kwargs": kwargs, **options})

    monkeypatch.setattr(StoreTask, "apply_async", note)
    for task in (SweepTask, BatchTask, FinishTask):
        cast(StoreTask, app.tasks[task.name]).process = process
    yield Bench(app, process, dispatch, again)
    process.close()


def test_a_sweep_is_its_batches_and_one_result(bench: Bench) -> None:
    """The opening task ends without a result; whoever closes the run hands it out."""
    assert bench.run(SweepTask).state == "IGNORED"
    assert bench.dispatch.sent == [("run", 0), ("run", 1), ("run", 2)]
    for run_id, number in bench.dispatch.sent:
        assert bench.run(BatchTask, run_id, number, task_id=f"b{number}").state == "SUCCESS"
    assert bench.dispatch.finished == ["run"]
    bench.run(FinishTask, "run", task_id="f")
    (result,) = bench.dispatch.published
    assert (result.run_id, result.to_json()["swept_count"]) == ("run", 5)


def test_a_batch_delivered_twice_counts_once(bench: Bench) -> None:
    bench.run(SweepTask)
    for number in (0, 0, 1, 2, 2):
        bench.run(BatchTask, "run", number)
    bench.run(FinishTask, "run")
    bench.run(FinishTask, "run")
    (result,) = bench.dispatch.published
    assert result.to_json()["swept_count"] == 5


def test_a_dry_run_answers_at_once_and_leaves_no_record(bench: Bench) -> None:
    answer = bench.run(SweepTask, dry_run=True).get()
    assert (answer["dry_run"], answer["swept_count"]) == (True, 5)
    assert bench.process.get().store.runs.history(1) == []


def test_a_second_sweep_names_the_one_that_is_live(bench: Bench) -> None:
    bench.run(SweepTask, task_id="one")
    answer = bench.run(SweepTask, task_id="two").get()
    assert answer["outcome"] == "skipped_locked"
    assert "run one" in answer["reason"]


def test_a_sweep_delivered_again_after_its_end_gives_the_result_again(bench: Bench) -> None:
    """Some backends have overwritten it with STARTED by then."""
    bench.run(SweepTask)
    for number in range(3):
        bench.run(BatchTask, "run", number)
    bench.run(FinishTask, "run")
    assert bench.run(SweepTask).get()["swept_count"] == 5


def test_a_sweep_delivered_again_while_its_plan_is_claimed_comes_back_later(bench: Bench) -> None:
    """Who planned it may be dead: the same call returns under the same id after the lease."""
    now = datetime.now(UTC)
    lease = now + timedelta(seconds=60)
    bench.process.get().store.runs.open(Run("run", RetentionPolicy(), now, lease), "token")
    assert bench.run(SweepTask, allow_over_limit=True).state == "IGNORED"
    (again,) = bench.again
    assert (again["task"], again["task_id"]) == ("retention.sweep", "run")
    assert again["kwargs"] == {"allow_over_limit": True}
    assert again["countdown"] == pytest.approx(61, abs=5)


def test_a_batch_that_somebody_claims_comes_back_after_the_claim(bench: Bench) -> None:
    """Its worker may be dead, and no other message is on its way."""
    bench.run(SweepTask)
    now = datetime.now(UTC)
    bench.process.get().store.runs.claim("run", 1, "token", now, now + timedelta(seconds=60))
    bench.run(BatchTask, "run", 1, task_id="b")
    (again,) = bench.again
    assert (again["task"], again["args"]) == ("retention.sweep_batch", ("run", 1))
    assert again["countdown"] == pytest.approx(61, abs=5)
    assert again["task_id"] is None


def test_a_call_that_cannot_come_back_is_left_to_the_next_tick(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.run(SweepTask)
    now = datetime.now(UTC)
    bench.process.get().store.runs.claim("run", 1, "token", now, now + timedelta(seconds=60))

    def away(*_: object, **__: object) -> None:
        raise ConnectionRefusedError("away")

    monkeypatch.setattr(StoreTask, "apply_async", away)
    assert bench.run(BatchTask, "run", 1).state == "SUCCESS"


def test_a_batch_of_an_unknown_run_is_nothing_to_do(bench: Bench) -> None:
    assert bench.run(BatchTask, "never", 0).state == "SUCCESS"
    assert bench.run(FinishTask, "never").state == "SUCCESS"
    assert bench.again == []


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ({"dryrun": True}, "takes no argument 'dryrun'"),
        ({"store": "postgresql://elsewhere/db"}, "cannot send it to another store"),
    ],
)
def test_wrong_arguments_fail_the_task_and_are_not_tried_again(
    bench: Bench, kwargs: dict[str, Any], said: str
) -> None:
    done = bench.run(SweepTask, **kwargs)
    assert done.state == "FAILURE"
    assert isinstance(done.result, ConfigurationError)
    assert said in str(done.result)


def test_the_own_store_may_be_named(bench: Bench) -> None:
    assert bench.run(SweepTask, dry_run=True, store="sqlite").get()["swept_count"] == 5


def test_a_store_that_is_away_is_tried_again_with_growing_pauses(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise StoreUnavailableError("away")

    pauses: list[float] = []

    def retry(self: StoreTask, *, exc: Exception, countdown: float) -> Exception:
        pauses.append(countdown)
        return exc

    monkeypatch.setattr(bench.process, "get", away)
    monkeypatch.setattr(StoreTask, "retry", retry)
    assert bench.run(FinishTask, "run").state == "FAILURE"
    assert len(pauses) == 1
    assert FinishTask.max_retries == 8


def test_a_store_that_nobody_adopted_fails_the_sweep_and_is_not_tried_again(bench: Bench) -> None:
    path = os.environ["LLM_PROVIDER_CHECKPOINT_CONN_STRING"]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM retention_format")
    ended = bench.run(SweepTask)
    assert ended.state == "FAILURE"
    assert isinstance(ended.result, CheckpointStoreFormatError)
    assert "`retention store adopt`" in str(ended.result)
    assert bench.again == []
    assert bench.dispatch == Recorder()


def test_a_thread_is_erased_and_the_result_is_its_receipt(bench: Bench) -> None:
    receipt = bench.run(EraseTask, thread_id="due-0000", by="privacy").get()
    assert (receipt["outcome"], receipt["by"], receipt["left"]) == ("erased", "privacy", 0)
    assert receipt["tables"]["checkpoints"] == {"held": 1, "left": 0}
    assert json.loads(json.dumps(receipt)) == receipt
    again = bench.run(EraseTask, "due-0000", "privacy").get()
    assert (again["outcome"], again["left"]) == ("unknown", 0)


def test_an_erase_of_a_held_thread_says_whose_hold_it_is(bench: Bench) -> None:
    with open_store(os.environ["LLM_PROVIDER_CHECKPOINT_CONN_STRING"]) as store:
        store.ledger.hold(["due-0000"], Hold("case 7", by="legal"))
    receipt = bench.run(EraseTask, thread_id="due-0000", by="privacy").get()
    assert (receipt["outcome"], receipt["hold"]["by"]) == ("held", "legal")


def test_an_erase_meant_for_another_store_is_refused(bench: Bench) -> None:
    asked = {"thread_id": "due-0000", "by": "privacy", "store": "postgres"}
    ended = bench.run(EraseTask, **asked)
    assert ended.state == "FAILURE"
    assert "cannot send it to another store" in str(ended.result)


def scheduled(bench: Bench, **settings: str) -> Any:
    """Run a sweep that beat asks for, with these settings."""
    bench.process._settings = load_sweep_settings({"SWEEP_BATCH_SIZE": "2", **settings}, None)
    sweep = bench.app.tasks[SweepTask.name]
    return sweep.apply((), {}, task_id="run", headers={"celery_beat_task": True})  # type: ignore[dict-item] # as beat sends it


def test_a_scheduled_sweep_does_not_begin_outside_of_its_window(bench: Bench) -> None:
    month = datetime.now(UTC).month % 12 + 1
    answer = scheduled(bench, SWEEP_WINDOW=f"* * * {month} *").get()
    assert answer["outcome"] == "refused"
    assert answer["reason"] == f"the window '* * * {month} *' (UTC, SWEEP_WINDOW) is closed"
    assert bench.dispatch.sent == []
    runs = bench.process.get().store.runs
    assert (runs.history(1), runs.totals()) == ([], {})
    # Whoever asks for one gets it.
    assert bench.run(SweepTask).state == "IGNORED"
    assert len(bench.dispatch.sent) == 3


def test_a_scheduled_sweep_outside_of_its_window_repairs_the_live_run(bench: Bench) -> None:
    bench.run(SweepTask, task_id="live")
    bench.dispatch.sent.clear()
    runs = bench.process.get().store.runs
    runs.renew("live", datetime.now(UTC) - timedelta(seconds=1))
    month = datetime.now(UTC).month % 12 + 1
    assert scheduled(bench, SWEEP_WINDOW=f"* * * {month} *").get()["outcome"] == "refused"
    assert bench.dispatch.sent == [("live", 0), ("live", 1), ("live", 2)]


def test_a_scheduled_sweep_begins_within_its_window(bench: Bench) -> None:
    assert scheduled(bench, SWEEP_WINDOW="* * * * *").state == "IGNORED"
    assert len(bench.dispatch.sent) == 3


def test_a_paused_batch_is_left_to_the_tick_after_the_pause(bench: Bench) -> None:
    bench.run(SweepTask)
    pause(bench.process.get())
    answer = bench.run(BatchTask, "run", 0).get()
    assert answer == {"worked": False}
    assert bench.again == []
    assert bench.run(SweepTask, task_id="two").get()["outcome"] == "refused"
