"""`retention sweep start` against a real worker."""

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from stores import open_store
from stores.options import now
from tests.commands import PROGRAM, environment, retention_process
from tests.seeding import seed_thread, seed_threads
from worker.demo.pool import DemoPool


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The settings of a deployment whose worker runs."""
    folder = tmp_path_factory.mktemp("pool")
    store = folder / "store.db"
    with open_store(str(store)) as opened:
        seed_threads(opened.saver, "old", 20, now() - timedelta(days=30))
        seed_thread(opened.saver, "parked", now() - timedelta(days=30), interrupted=True)
    with DemoPool(folder, store, lambda _: None).running():
        yield {
            "CELERY_BROKER_URL": f"filesystem://{folder / 'broker'}",
            "LLM_PROVIDER_CHECKPOINT": "sqlite",
            "LLM_PROVIDER_CHECKPOINT_CONN_STRING": str(store),
        }


def test_start_waits_for_the_pool_and_answers_as_run_does(
    settings: dict[str, str], tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, "sweep", "start", "--wait", "--json"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=tmp_path,
        env=environment(**settings, TERM="xterm"),
        text=True,
    ) as start:
        os.close(theirs)
        out, _ = start.communicate(timeout=60)
    os.close(ours)
    result = json.loads(out)
    assert (start.returncode, result["outcome"], result["swept_count"]) == (0, "completed", 20)
    listed = retention_process("sweep", "status", "--json", folder=tmp_path, settings=settings)
    assert listed.answer["last"]["run_id"] == result["run_id"]


def test_another_store_is_refused_by_the_worker(settings: dict[str, str], tmp_path: Path) -> None:
    arguments = ("sweep", "start", "--wait", "--storage", "another.db")
    ran = retention_process(*arguments, folder=tmp_path, settings=settings)
    assert ran.status == 2
    assert "another.db" in ran.err
    assert ran.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
