"""What a real worker writes: lines that a program can read, and nothing that it must not see."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.deployment import Deployment
from tests.acceptance.nodes import WorkerProcess
from tests.acceptance.places import StorePlace
from tests.logs import read_log
from tests.seeding import seed_thread, seed_threads
from tests.waiting import eventually

FORGED = 'x\ntime=2026-01-01T00:00:00.000Z level=ERROR event=forged {"event": "forged"}'

#: What seeded threads hold.
STATE = ("message of step", "write of step", "go on?")


@pytest.mark.parametrize("broker", ["filesystem"], indirect=True)
@pytest.mark.parametrize(
    ("place", "form"),
    [("sqlite", "kv"), ("sqlite", "json"), ("postgres", "kv")],
    indirect=["place"],
)
def test_every_line_of_a_worker_is_an_event_and_holds_no_state(
    deployment: Deployment, place: StorePlace, form: str, long_ago: datetime, tmp_path: Path
) -> None:
    """From its first warning to its last word, at its most talkative."""
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 5, long_ago)
        seed_thread(store.saver, FORGED, long_ago, interrupted=True)
        seed_threads(store.saver, "new", 2, datetime.now(UTC))
    deployment.settings |= {"SWEEP_LOG_FORMAT": form, "SWEEP_SCHEDULE": "1d"}
    beat = ("-B", "--schedule", str(tmp_path / "beat"), "--concurrency", "1")
    worker = deployment.start_worker("retention", *beat, "--loglevel", "DEBUG")
    run_id = deployment.call()
    assert deployment.result(run_id)["swept_count"] == len(due)
    worker.container.ask_to_end()
    eventually(lambda: worker.container.status == "exited", "the worker's end")

    said = read_log(worker.logs())
    assert [state for state in STATE if state in worker.logs()] == []
    assert_spared_once(said, run_id)
    (closed,) = [fields for fields in said if fields["event"] == "run_closed"]
    assert (closed["run"], closed["level"], str(closed["swept"])) == (run_id, "INFO", "5")
    batches = [fields for fields in said if fields["event"] == "batch_done"]
    assert len(batches) == 3
    assert all(b["run"] == run_id and b["task"] == "retention.sweep_batch" for b in batches)
    assert len({b["task_id"] for b in batches}) == 3
    told = {fields["event"] for fields in said}
    assert {"worker_starting", "task_received", "task_succeeded", "result_stored"} <= told
    assert "forged" not in told


def assert_spared_once(said: list[dict[str, Any]], run_id: str) -> None:
    """The parked thread is named by one warning, whatever its id looks like."""
    (spared,) = [fields for fields in said if fields["event"] == "thread_spared"]
    assert (spared["level"], spared["run"], spared["thread"]) == ("WARNING", run_id, FORGED)
    assert (spared["horizon"], spared["owner"]) == ("waiting", "flows-engine")
    assert spared["task"] == "retention.sweep_batch"


@pytest.mark.parametrize("broker", ["filesystem"], indirect=True)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_worker_without_its_broker_tells_no_password(
    deployment: Deployment, tmp_path: Path
) -> None:
    deployment.broker = "redis://:geheim@127.0.0.1:1/0"
    worker = WorkerProcess("retention", tmp_path, deployment.env)
    worker.start()
    eventually(lambda: "Cannot connect" in worker.logs(), "a word on the broker")
    worker.kill()
    assert "geheim" not in worker.logs()
    assert read_log(worker.logs())[-1]["level"] in ("ERROR", "WARNING")
