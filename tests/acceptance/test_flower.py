"""Flower, real, with a real worker: it asks for a password, starts sweeps and shows them."""

import base64
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from tests.acceptance.deployment import Deployment
from tests.acceptance.places import StorePlace
from tests.seeding import seed_thread, seed_threads
from tests.waiting import eventually

pytestmark = [
    pytest.mark.parametrize("broker", ["redis"], indirect=True),
    pytest.mark.parametrize("place", ["sqlite"], indirect=True),
]

SIGN_IN = "operator:gehe/im"
_VISIT = re.compile(r"Visit me at http://([\d.]+):(\d+)")


class Flower:
    """A `celery -A worker flower` on a port of its own choice."""

    def __init__(self, deployment: Deployment, *options: str, **settings: str) -> None:
        self._log = deployment.folder / "flower.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "worker", "flower", "--port=0", *options],
                cwd=deployment.folder,
                env={**deployment.env, **settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def log(self) -> str:
        """What it wrote so far."""
        return self._log.read_text(errors="replace")

    def ready(self) -> "Flower":
        """Wait until it answers."""

        def answers() -> bool:
            assert self.process.poll() is None, self.log
            return bool(_VISIT.search(self.log)) and self.ask("/healthcheck")[0] == 200

        eventually(answers, "flower")
        return self

    def hears_the_worker(self) -> None:
        """Wait for a heartbeat: what is sent before Flower listens it never shows."""

        def hears() -> bool:
            workers = self.ask("/workers?json=1")[1]["data"]
            return any(worker["status"] for worker in workers)

        eventually(hears, "a heartbeat")

    def ask(
        self, path: str, body: Any = None, *, method: str = "", sign_in: str = SIGN_IN
    ) -> tuple[int, Any]:
        """Status and JSON (or text) of an answer."""
        visit = _VISIT.search(self.log)
        assert visit is not None
        request = urllib.request.Request(
            f"http://{visit[1]}:{visit[2]}{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method or ("GET" if body is None else "POST"),
        )
        if sign_in:
            request.add_header(
                "Authorization", f"Basic {base64.b64encode(sign_in.encode()).decode()}"
            )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
                text = answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()
        except URLError:
            return 0, ""
        return 200, json.loads(text) if text.startswith("{") else text

    def end(self) -> None:
        """End it in order."""
        self.process.terminate()
        self.process.wait(timeout=20)


@pytest.fixture
def flower(deployment: Deployment) -> Iterator[Flower]:
    """Flower as in the Procfile, beside a worker."""
    deployment.start_worker("retention")
    made = Flower(deployment, "--address=127.0.0.1", FLOWER_BASIC_AUTH=SIGN_IN)
    try:
        yield made.ready()
    finally:
        made.end()


def tasks_of(flower: Flower, name: str, state: str = "SUCCESS") -> dict[str, Any]:
    """The tasks of a name that Flower has seen come to a state, by id."""
    status, tasks = flower.ask(f"/api/tasks?taskname={name}&state={state}")
    assert status == 200
    found: dict[str, Any] = tasks
    return found


def test_nobody_enters_without_the_password(flower: Flower) -> None:
    for path in ("/", "/workers", "/tasks", "/api/workers", "/api/tasks", "/api/task/types"):
        assert flower.ask(path, sign_in="")[0] == 401, path
        assert flower.ask(path, sign_in="operator:wrong")[0] == 401, path
        assert flower.ask(path)[0] == 200, path
    start = "/api/task/send-task/retention.sweep"
    assert flower.ask(start, {}, sign_in="")[0] == 401
    assert "gehe" not in flower.log


def test_a_sweep_is_started_and_seen_with_its_batches(
    flower: Flower, deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    """Arguments are ids and numbers, results counts: nothing of a thread's state is shown."""
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 5, long_ago)
        seed_thread(store.saver, "parked", long_ago, interrupted=True)
    flower.hears_the_worker()

    status, answer = flower.ask("/api/task/send-task/retention.sweep", {"kwargs": {}})
    assert status == 200
    run_id = answer["task-id"]
    eventually(lambda: run_id in tasks_of(flower, "retention.sweep"), "the sweep's success")
    eventually(lambda: tasks_of(flower, "retention.finish_sweep"), "the end")
    eventually(lambda: len(tasks_of(flower, "retention.sweep_batch")) == 3, "all batches")

    sweep = tasks_of(flower, "retention.sweep")[run_id]
    assert (sweep["args"], sweep["kwargs"]) == ("()", "{}")
    assert "'outcome': 'completed'" in sweep["result"]
    assert "'swept_count': 5" in sweep["result"]
    batches = tasks_of(flower, "retention.sweep_batch").values()
    assert {batch["args"] for batch in batches} == {f"('{run_id}', {n})" for n in range(3)}
    assert all(batch["kwargs"] == "{}" for batch in batches)
    assert sorted(batch["result"] for batch in batches) == [
        "{'worked': True, 'deleted': 1, 'spared': 1}",
        "{'worked': True, 'deleted': 2}",
        "{'worked': True, 'deleted': 2}",
    ]
    (finish,) = tasks_of(flower, "retention.finish_sweep").values()
    assert (finish["args"], finish["result"]) == (
        f"('{run_id}',)",
        "{'closed': True, 'outcome': 'completed'}",
    )
    shown = json.dumps(flower.ask("/api/tasks")[1])
    assert "message of step" not in shown
    assert place.remains(due) == {}
    status, result = flower.ask(f"/api/task/result/{run_id}")
    assert (status, result["state"]) == (200, "SUCCESS")


def test_a_dry_run_is_asked_for_by_its_argument(
    flower: Flower, deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 2, long_ago)
    flower.hears_the_worker()
    asked = flower.ask("/api/task/send-task/retention.sweep", {"kwargs": {"dry_run": True}})[1]
    eventually(
        lambda: asked["task-id"] in tasks_of(flower, "retention.sweep"), "the dry run's success"
    )
    sweep = tasks_of(flower, "retention.sweep")[asked["task-id"]]
    assert sweep["kwargs"] == "{'dry_run': True}"
    assert "'dry_run': True" in sweep["result"]
    assert place.remains(due).keys() == set(due)


def test_it_refuses_to_listen_for_others_without_a_password(deployment: Deployment) -> None:
    """Before it listens: the command ends with one line."""
    for options, settings in (
        (["--address=0.0.0.0"], {}),
        ([], {"FLOWER_ADDRESS": "0.0.0.0"}),  # noqa: S104 - what is refused
        ([], {"FLOWER_BASIC_AUTH": "nopassword"}),
    ):
        flower = Flower(deployment, *options, **settings)
        assert flower.process.wait(timeout=30) == 2
        assert "FLOWER_BASIC_AUTH" in flower.log
        assert "Visit me" not in flower.log
        assert "Traceback" not in flower.log


def test_without_an_address_it_listens_on_this_machine_alone(deployment: Deployment) -> None:
    """By itself Flower would listen on every interface."""
    flower = Flower(deployment, FLOWER_BASIC_AUTH=SIGN_IN).ready()
    try:
        assert "Visit me at http://127.0.0.1:" in flower.log
        (local,) = listening(flower.process.pid)
        assert local == "127.0.0.1"
    finally:
        flower.end()


def listening(pid: int) -> set[str]:
    """The addresses that a process listens on."""
    import psutil

    connections = psutil.Process(pid).net_connections("tcp")
    return {found.laddr.ip for found in connections if found.status == psutil.CONN_LISTEN}
