"""Brakes on a running pool: an operator's pause, and a window in which beat's sweeps may start."""

import json
from datetime import UTC, datetime

import pytest

from tests.acceptance.deployment import Deployment
from tests.acceptance.places import StorePlace
from tests.commands import retention_forked
from tests.seeding import seed_threads
from tests.waiting import eventually

pytestmark = [
    pytest.mark.parametrize("place", ["sqlite"], indirect=True),
    pytest.mark.parametrize("broker", ["filesystem"], indirect=True),
]

THREADS = 40


def command(deployment: Deployment, *arguments: str) -> str:
    """What a command of an operator printed."""
    done = retention_forked(*arguments, folder=deployment.folder, settings=deployment.variables)
    assert done.status == 0, done.err
    return done.out


def test_a_running_pool_stops_within_a_batch_and_goes_on_after_the_pause(
    deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    deployment.settings["SWEEP_PAUSE_SECONDS"] = "0.4"
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", THREADS, long_ago)
        deployment.start_worker("retention")
        run_id = deployment.call()
        eventually(lambda: len(place.remains(due)) < THREADS, "a batch that is done")
        paused = command(deployment, "sweep", "pause", "--by", "ops", "--reason", "a migration")
        assert f"run {run_id} begins no further batch" in paused

        def held_up() -> int:
            return deployment.logs().count("event=batch_held_up")

        # Every message that was on its way came to nothing.
        eventually(lambda: held_up() == store.runs.count_open(run_id), "all batches held up")
        left = len(place.remains(due))
        assert left == 2 * held_up() > 0
        status = json.loads(command(deployment, "sweep", "status", "--json"))
        assert (status["pause"]["by"], status["live"]["run_id"]) == ("ops", run_id)
        refused = deployment.result(deployment.call())
        assert (refused["outcome"], len(place.remains(due))) == ("refused", left)
        command(deployment, "sweep", "resume")
        assert deployment.result(deployment.call())["outcome"] == "skipped_locked"
        result = deployment.result(run_id)
    assert (result["outcome"], result["swept_count"]) == ("completed", THREADS)
    assert place.remains(due) == {}


def test_beat_starts_no_sweep_outside_of_the_window_and_a_person_does(
    deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    month = datetime.now(UTC).month % 12 + 1
    deployment.settings |= {
        "SWEEP_WINDOW": f"* * * {month} *",
        "SWEEP_SCHEDULE": "1",
        "SWEEP_JITTER_SECONDS": "0",
    }
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 3, long_ago)
    schedule = str(deployment.folder / "beat")
    deployment.start_worker("retention", "--concurrency", "1", "--beat", "--schedule", schedule)
    eventually(lambda: "event=sweep_not_begun" in deployment.logs(), "a tick that begins nothing")
    assert len(place.remains(due)) == 3
    assert deployment.result(deployment.call())["swept_count"] == 3
