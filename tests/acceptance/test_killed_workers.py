"""A worker that is killed within a delete: nothing is half there, and nothing counts twice."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from tests.acceptance.deployment import Deployment
from tests.acceptance.nodes import LocalWorker
from tests.acceptance.places import HeldPlace
from tests.seeding import seed_threads
from tests.waiting import eventually

CHECKPOINTS = 3


@pytest.fixture
def deployment(deployment: Deployment) -> Deployment:
    """Claims run out within seconds, and messages come again soon after."""
    deployment.settings |= {
        "SWEEP_SOFT_TIME_LIMIT_SECONDS": "3",
        "SWEEP_LEASE_SECONDS": "4",
        "SWEEP_VISIBILITY_TIMEOUT_SECONDS": "5",
        "SWEEP_LOCK_TIMEOUT_SECONDS": "20",
    }
    return deployment


@pytest.fixture
def due(deployment: Deployment, long_ago: datetime) -> list[str]:
    """Threads to sweep, three batches of them."""
    with deployment.opened() as store:
        return seed_threads(store.saver, "due", 6, long_ago, CHECKPOINTS)


@contextmanager
def caught_deleting(
    deployment: Deployment, place: HeldPlace, due: list[str]
) -> Iterator[tuple[str, LocalWorker]]:
    """A run, and its worker in the middle of the delete transaction of one batch."""
    worker = deployment.start_worker("first")
    with place.holding_delete(due[2]):
        run_id = deployment.call()
        eventually(place.delete_is_held, f"a delete under way\n{worker.logs()}")
        yield run_id, worker


def assert_swept_exactly(
    deployment: Deployment, place: HeldPlace, due: list[str], run_id: str
) -> None:
    """Every thread is gone, and each was counted once: in the result, and in the totals."""
    result = deployment.result(run_id)
    assert (result["outcome"], result["swept_count"]) == ("completed", len(due))
    assert sorted(result["waiting_swept"]) == due
    assert place.remains(due) == {}
    with deployment.opened() as store:
        assert store.runs.totals()["deleted:waiting"] == len(due)


def assert_whole(place: HeldPlace, due: list[str]) -> None:
    """What is left of the threads is all that they held."""
    for rows in place.remains(due).values():
        assert rows["checkpoints"] == CHECKPOINTS
        assert rows[place.tables[-1]] == CHECKPOINTS


@pytest.mark.parametrize(
    ("place", "broker"),
    [
        *(("sqlite", "redis"), ("postgres", "redis"), ("sqlite", "quorum")),
        pytest.param("postgres", "rabbitmq", marks=pytest.mark.soak),
        pytest.param("postgres", "quorum", marks=pytest.mark.soak),
    ],
    indirect=True,
)
def test_the_message_of_a_killed_worker_is_delivered_again(
    deployment: Deployment, place: HeldPlace, due: list[str]
) -> None:
    """The next worker gets it, once its claim ran out; nobody has to ask again."""
    with caught_deleting(deployment, place, due) as (run_id, worker):
        worker.kill()
    assert_whole(place, due)
    assert due[2] in place.remains(due)
    deployment.start_worker("second")
    assert_swept_exactly(deployment, place, due, run_id)


@pytest.mark.parametrize("broker", ["filesystem"], indirect=True)
def test_the_next_tick_repairs_what_a_killed_worker_left(
    deployment: Deployment, place: HeldPlace, due: list[str]
) -> None:
    """On the filesystem broker the message is gone with its worker; the next sweep sends it."""
    with caught_deleting(deployment, place, due) as (run_id, worker):
        worker.kill()
    assert_whole(place, due)
    assert due[2] in place.remains(due)
    deployment.start_worker("second")
    with deployment.opened() as store:

        def has_run_out() -> bool:
            return bool(store.runs.open_batches(run_id, datetime.now(UTC), unclaimed=False))

        eventually(has_run_out, "the claim of the killed worker runs out")
    assert deployment.result(deployment.call())["outcome"] == "skipped_locked"
    assert_swept_exactly(deployment, place, due, run_id)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("broker", ["filesystem"], indirect=True)
def test_a_killed_child_costs_its_lease_and_no_more(
    deployment: Deployment, place: HeldPlace, due: list[str]
) -> None:
    """Its worker gives the message back at once, to be worked on when the claim has ended."""
    with caught_deleting(deployment, place, due) as (run_id, worker):
        (child,) = worker.container.children()
        os.kill(child, signal.SIGKILL)
        eventually(lambda: not is_alive(child), "the child is gone")
    assert_swept_exactly(deployment, place, due, run_id)


def is_alive(pid: int) -> bool:
    """Whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
