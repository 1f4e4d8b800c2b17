"""What a person reads who starts a worker with wrong settings."""

from pathlib import Path

import pytest

from stores import init_store
from tests.acceptance.deployment import Deployment, Done


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    """A deployment in which nothing is wrong yet."""
    path = tmp_path / "checkpoints.db"
    init_store(str(path))
    return Deployment(tmp_path, "sqlite", str(path), f"filesystem://{tmp_path / 'broker'}")


def assert_refused(done: Done, status: int, said: str) -> None:
    """One line on stderr, the status, and nothing else."""
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("retention: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


@pytest.mark.parametrize("command", ["worker", "beat", "call retention.sweep", "flower"])
def test_a_broker_that_cannot_work_stops_each_command(deployment: Deployment, command: str) -> None:
    done = deployment.run(*command.split(), CELERY_BROKER_URL="memory://")
    assert_refused(done, 2, "CELERY_BROKER_URL='memory://' is refused")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SWEEP_LEASE_SECONDS", "soon", "SWEEP_LEASE_SECONDS='soon' is refused"),
        ("SWEEP_FILTERS", "nobody", "no live-thread filter is named 'nobody'"),
        ("LLM_PROVIDER_CHECKPOINT_CONN_STRING", "/nowhere/x.db", "nothing was created"),
        ("LLM_PROVIDER_CHECKPOINT_CON_STRING", "x", "is not a setting"),
    ],
)
def test_a_wrong_setting_stops_a_worker(
    deployment: Deployment, name: str, value: str, said: str
) -> None:
    assert_refused(deployment.run("worker", **{name: value}), 2, said)


def test_a_worker_pool_refuses_a_store_in_memory(deployment: Deployment) -> None:
    deployment.provider, deployment.address = "memory", "memory://"
    assert_refused(deployment.run("worker"), 2, "a store in memory is seen by its own process")


def test_a_store_that_cannot_be_opened_stops_a_worker(deployment: Deployment) -> None:
    Path(deployment.address).write_text("no database, but long enough to be read as one" * 100)
    assert_refused(deployment.run("worker"), 2, "file is not a database")


def test_asking_for_a_sweep_needs_no_store(deployment: Deployment) -> None:
    """Whoever starts sweeps need not know where the checkpoints are."""
    done = deployment.run("call", "retention.sweep", LLM_PROVIDER_CHECKPOINT="nonsense")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_broker_that_is_away_is_one_line(deployment: Deployment) -> None:
    done = deployment.run(
        "call", "retention.sweep", CELERY_BROKER_URL="redis://:geheim@127.0.0.1:1/0"
    )
    assert_refused(done, 1, "no answer from the broker")
    assert "geheim" not in done.stderr
