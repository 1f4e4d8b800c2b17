"""A sweep asked for on a real worker, by the commands that an operator types."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_celery import CeleryTestSetup

from stores import StoreOptions, open_store
from tests.acceptance.deployment import Deployment
from tests.acceptance.places import StorePlace
from tests.seeding import seed_thread, seed_threads
from tests.waiting import eventually

on_files = pytest.mark.parametrize("broker", ["filesystem"], indirect=True)
on_redis = pytest.mark.parametrize("broker", ["redis"], indirect=True)
on_sqlite = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


@pytest.mark.parametrize(
    ("place", "broker"),
    [
        *(("sqlite", "filesystem"), ("postgres", "filesystem")),
        *(("sqlite", "redis"), ("postgres", "redis")),
        ("postgres", "rabbitmq"),
        pytest.param("sqlite", "rabbitmq", marks=pytest.mark.soak),
        pytest.param("sqlite", "quorum", marks=pytest.mark.soak),
    ],
    indirect=True,
)
def test_a_called_sweep_answers_under_its_celery_id(
    celery_setup: CeleryTestSetup, deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    """What is due goes, whole; what is new or parked stays; a dry run says so beforehand."""
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 5, long_ago, checkpoints=3)
        new = seed_threads(store.saver, "new", 2, datetime.now(UTC))
        seed_thread(store.saver, "parked", long_ago, interrupted=True)
    kept = place.remains([*new, "parked"])

    asked = celery_setup.app.send_task("retention.sweep", kwargs={"dry_run": True})
    expected = asked.get(timeout=30)
    assert place.remains(due).keys() == set(due)
    run_id = deployment.call()
    result = deployment.result(run_id)

    assert result["run_id"] == run_id
    assert (result["outcome"], result["dry_run"]) == ("completed", False)
    assert (result["swept_count"], sorted(result["waiting_swept"])) == (5, due)
    assert result["spared"] == [
        {"thread_id": "parked", "horizon": "waiting", "owner": "flows-engine"}
    ]
    told_by_run = {"run_id", "dry_run", "started_at", "duration_seconds"}
    assert {k: v for k, v in result.items() if k not in told_by_run} == {
        k: v for k, v in expected.items() if k not in told_by_run
    }
    assert place.remains(due) == {}
    assert place.remains([*new, "parked"]) == kept
    assert celery_setup.app.control.ping() == [{"retention@local": {"ok": "pong"}}]


@pytest.mark.parametrize(
    ("place", "broker"),
    [("redis", "filesystem"), ("redis-of-the-broker", "redis")],
    indirect=True,
)
def test_finished_threads_of_a_redis_store_go(
    celery_setup: CeleryTestSetup, deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    """Waiting ones go by themselves, and it is said; the store may lie on the broker's server."""
    options = StoreOptions(clock=lambda: long_ago + timedelta(days=1))
    with open_store(place.address, settings=options) as store:
        due = seed_threads(store.saver, "due", 5, long_ago, checkpoints=3)
        old = seed_threads(store.saver, "old", 2, long_ago)
        seed_thread(store.saver, "parked", long_ago, interrupted=True)
        store.ledger.mark_finished([*due, "parked"])
    kept = place.remains([*old, "parked"])

    expected = celery_setup.app.send_task("retention.sweep", kwargs={"dry_run": True})
    assert expected.get(timeout=30)["swept_count"] == 5
    result = deployment.result(deployment.call())

    assert (result["outcome"], result["provider"]) == ("completed", "redis")
    assert (result["swept_count"], sorted(result["finished_swept"])) == (5, due)
    assert result["spared"] == [
        {"thread_id": "parked", "horizon": "finished", "owner": "flows-engine"}
    ]
    assert "time to live" in result["skipped"]
    assert place.remains(due) == {}
    assert place.remains([*old, "parked"]) == kept
    assert kept.keys() == {*old, "parked"}
    assert celery_setup.app.control.ping() == [{"retention@local": {"ok": "pong"}}]


@on_files
@on_sqlite
def test_each_argument_and_each_mistake_is_answered(
    celery_setup: CeleryTestSetup, deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    """A limit holds until it is lifted for once; a wrong argument is one line, and status 1."""
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 4, long_ago)

    assert deployment.result(deployment.call(store="sqlite", dry_run=True))["swept_count"] == 4
    assert place.remains(due).keys() == set(due)
    wrong = deployment.run("call", "retention.sweep", "--kwargs", '{"dryrun": true}')
    answer = deployment.run("result", wrong.stdout.strip())
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert "takes no argument 'dryrun' (did you mean dry_run?)" in answer.stderr
    for kwargs, said in (
        ({"dry_run": "yes"}, "needs dry_run as true or false, not as a text"),
        ({"store": "postgresql://u:geheim@elsewhere/db"}, "is refused"),
    ):
        asked = celery_setup.app.send_task("retention.sweep", kwargs=kwargs)
        assert said in str(asked.get(timeout=30, propagate=False))
    assert "geheim" not in deployment.logs()


@on_files
@on_sqlite
def test_a_plan_above_the_limit_is_refused_unless_asked_for(
    deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    """`allow_over_limit` is the documented way past a safety limit, once."""
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 4, long_ago)
    deployment.settings["SWEEP_MAX_THREADS"] = "3"
    deployment.start_worker("retention", "--pool", "solo")

    refused = deployment.result(deployment.call())
    assert (refused["outcome"], refused["swept_count"]) == ("refused", 0)
    assert "SWEEP_MAX_THREADS" in refused["reason"]
    assert place.remains(due).keys() == set(due)
    assert deployment.result(deployment.call(allow_over_limit=True))["swept_count"] == 4


@on_redis
@on_sqlite
def test_monitors_see_the_run_succeed(
    celery_setup: CeleryTestSetup, deployment: Deployment, long_ago: datetime
) -> None:
    """The task ends before its run; the event of its success comes with the result."""
    with deployment.opened() as store:
        seed_threads(store.saver, "due", 3, long_ago)
    state = celery_setup.app.events.State()
    with celery_setup.app.connection_for_read() as connection:
        receiver = celery_setup.app.events.Receiver(connection, handlers={"*": state.event})
        with receiver.consumer_context() as (listening, _channel, _consumers):

            def hears(what: Callable[[], bool]) -> bool:
                with suppress(TimeoutError):
                    listening.drain_events(timeout=0.1)
                return what()

            eventually(lambda: hears(lambda: bool(state.workers)), "a heartbeat")
            run_id = celery_setup.app.send_task("retention.sweep").id
            eventually(lambda: hears(lambda: state_of(state, run_id) == "SUCCESS"), "its success")
    assert "'swept_count': 3" in state.tasks[run_id].result
    assert set(state.workers) == {"retention@local"}


def state_of(monitor: Any, task_id: str) -> str | None:
    """The state a monitor has seen a task in, if any."""
    task = monitor.tasks.get(task_id)
    return None if task is None else str(task.state)


@on_files
@on_sqlite
def test_two_beats_at_once_do_no_harm(
    deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    """Every thread is swept by one run, however many beats start sweeps at the same time."""
    deployment.settings |= {"SWEEP_SCHEDULE": "1", "SWEEP_JITTER_SECONDS": "0"}
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 20, long_ago)
        for name in ("one", "two"):
            deployment.start_worker(name, "-B", "--schedule", f"beat-{name}", "-c", "2")
        eventually(lambda: not place.remains(due), "all threads swept")

        def closed() -> bool:
            return sum(run.closed_at is not None for run in store.runs.history(50)) >= 4

        eventually(closed, "more runs of both beats")
        totals = store.runs.totals()
    assert totals["deleted:waiting"] == 20
    ended = {run for run in totals if run.startswith("runs:")}
    assert "runs:completed" in ended
    # A tick that meets a run still under way says so, and begins none.
    assert ended <= {"runs:completed", "runs:skipped_locked"}


@on_files
@on_sqlite
def test_a_pool_of_threads_shares_one_store(
    deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    """The sweep of a process serves all threads of its pool."""
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 12, long_ago)
    deployment.start_worker("retention", "--pool", "threads", "--concurrency", "4")
    assert deployment.result(deployment.call())["swept_count"] == 12
    assert place.remains(due) == {}
