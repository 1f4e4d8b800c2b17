"""Metrics in a real Pushgateway: they equal what was really deleted, whoever pushed them last."""

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from socket import create_server

import psycopg
import pytest

from retention.runs import RunOutcome
from retention.sweep import LocalDispatch, cancel, run_sweep
from stores import Store, init_store, open_store
from stores.options import now
from tests.commands import Ran, retention_process
from tests.conftest import service
from tests.integration.places import Place
from tests.scraping import Series, answering, series_of, serving, status, value
from tests.seeding import seed_thread, seed_threads
from tests.servers import PostgresServer
from tests.servers.pushgateway import PushgatewayServer
from tests.unit.live_runs import begin_run
from worker.settings import load_store_settings, load_sweep_settings
from worker.wiring import opened_sweep

OLD = timedelta(days=30)


class Unavailable:
    """A live-thread filter that is not there."""

    owner = "away"

    def claims(self, thread_ids: object) -> list[str]:
        raise RuntimeError("away")


@dataclass
class Watched:
    """A store that the command sweeps and a gateway is told of."""

    folder: Path
    place: Place
    gateway: str

    @property
    def settings(self) -> dict[str, str]:
        """What every process of the deployment is given."""
        return {
            "LLM_PROVIDER_CHECKPOINT": self.place.provider,
            "LLM_PROVIDER_CHECKPOINT_CONN_STRING": self.place.address,
            "SWEEP_PUSHGATEWAY_URL": self.gateway,
            "SWEEP_STORE_NAME": self.name,
        }

    @property
    def name(self) -> str:
        """A name that no other test's store has."""
        return re.sub(r"\W", "-", f"s{self.folder.name}")

    def sweep(self, *options: str, **settings: str) -> Ran:
        """Sweep it in a process of its own."""
        given = self.settings | settings
        return retention_process("sweep", "run", *options, folder=self.folder, settings=given)

    def series(self, gateway: PushgatewayServer) -> Series:
        """What a gateway holds of this store."""
        return series_of(gateway.metrics(), self.name)

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """The store."""
        with open_store(self.place.address) as store:
            yield store

    def seed(self, prefix: str, count: int) -> None:
        """Threads past the waiting horizon."""
        with self.opened() as store:
            seed_threads(store.saver, prefix, count, now() - OLD)

    def holds(self) -> int:
        """How many threads there are."""
        with self.opened() as store:
            return store.threads.count_threads()

    def forget_all_runs(self) -> None:
        """What the end of the history does to every record of a run, at once."""
        statements = ("DELETE FROM retention_batches", "DELETE FROM retention_runs")
        if self.place.provider == "sqlite":
            with closing(sqlite3.connect(self.place.address, isolation_level=None)) as lite:
                for statement in statements:
                    lite.execute(statement)
        else:
            with psycopg.connect(self.place.address, autocommit=True) as postgres:
                for statement in statements:
                    postgres.execute(statement.encode())


@pytest.fixture
def watched(tmp_path: Path, place: Place, pushgateway: PushgatewayServer) -> Watched:
    """An empty store of each kind, whose sweeps a real gateway is told of."""
    made = Watched(tmp_path, place, pushgateway.url)
    with made.opened():
        pass
    return made


@pytest.fixture
def plain(tmp_path: Path, sqlite_place: Place) -> Watched:
    """A store with threads to sweep; the test brings its own gateway."""
    made = Watched(tmp_path, sqlite_place, "")
    made.seed("old", 3)
    return made


def test_series_equal_what_was_really_deleted_over_several_runs(
    watched: Watched, pushgateway: PushgatewayServer
) -> None:
    """Also once the records of all runs are gone."""
    with watched.opened() as store:
        seed_thread(store.saver, "parked", now() - OLD, interrupted=True)
        seed_thread(store.saver, "done", now() - OLD)
        store.ledger.mark_finished(["done"])
    deleted = 0
    for round_ in range(1, 4):
        watched.seed(f"r{round_}", 2 * round_)
        before = watched.holds()
        assert watched.sweep(SWEEP_BATCH_SIZE="2").status == 0
        deleted += before - watched.holds()
        series = watched.series(pushgateway)
        assert value(series, "swept_total", horizon="waiting") == deleted
        assert value(series, "spared_total", horizon="waiting", owner="flows-engine") == round_
        assert value(series, "runs_total", outcome="completed") == round_
        assert value(series, "due_threads", horizon="waiting") == 2 * round_ + (
            2 if round_ == 1 else 1
        )
        watched.forget_all_runs()
    assert deleted == 13


def test_pushing_twice_changes_nothing_and_any_process_pushes_the_same(
    watched: Watched, pushgateway: PushgatewayServer
) -> None:
    watched.seed("old", 3)
    assert watched.sweep().status == 0
    before = watched.series(pushgateway)
    store = load_store_settings(watched.settings, None)
    settings = load_sweep_settings(watched.settings, None)
    for _ in range(2):
        with opened_sweep(store, settings, LocalDispatch()) as sweep:
            sweep.metrics.push("again", sweep.store.runs)
        assert watched.series(pushgateway) == before
    with opened_sweep(store, settings, LocalDispatch()) as sweep:
        # A group that was lost is whole again after the next push.
        sweep.metrics.push("again", sweep.store.runs)
    assert watched.series(pushgateway) == before


def test_each_way_to_end_is_counted_and_only_success_advances_the_last_one(
    watched: Watched, pushgateway: PushgatewayServer
) -> None:
    assert watched.sweep().status == 0
    success = value(watched.series(pushgateway), "last_success_timestamp_seconds")
    watched.seed("old", 3)
    assert watched.sweep(SWEEP_MAX_THREADS="2").status == 5
    refused = watched.series(pushgateway)
    assert value(refused, "due_threads", horizon="waiting") == 3
    assert fail(watched) is RunOutcome.FAILED
    with watched.opened() as store:
        begin_run(store)
    assert watched.sweep().status == 4
    series = watched.series(pushgateway)
    ended = {
        dict(labels)["outcome"]: n for (name, labels), n in series.items() if name == "runs_total"
    }
    assert ended == {
        "completed": 1,
        "refused": 1,
        "failed": 1,
        "skipped_locked": 1,
        "partial": 0,
        "budget_exhausted": 0,
    }
    assert value(series, "last_success_timestamp_seconds") == success
    assert value(series, "last_run_timestamp_seconds") > success
    assert watched.holds() == 3


def fail(watched: Watched) -> RunOutcome:
    """Sweep with a filter that fails."""
    local = LocalDispatch()
    store = load_store_settings(watched.settings, None)
    with opened_sweep(store, load_sweep_settings(watched.settings, None), local) as sweep:
        return run_sweep(replace(sweep, filters=[Unavailable()]), local, "failing").outcome


def test_a_run_that_an_operator_ends_is_pushed_as_well(
    watched: Watched, pushgateway: PushgatewayServer
) -> None:
    with watched.opened() as store:
        claim = begin_run(store)
        store.runs.release(claim.run.run_id, claim.batch.number, claim.token)
    store_settings = load_store_settings(watched.settings, None)
    sweep_settings = load_sweep_settings(watched.settings, None)
    with opened_sweep(store_settings, sweep_settings, LocalDispatch()) as sweep:
        assert cancel(sweep, "by hand") is not None
    assert value(watched.series(pushgateway), "runs_total", outcome="partial") == 1


def test_a_dry_run_pushes_nothing(watched: Watched, pushgateway: PushgatewayServer) -> None:
    watched.seed("old", 1)
    assert watched.sweep("--dry-run").status == 0
    assert watched.series(pushgateway) == {}


def test_the_name_that_is_set_is_not_lent_to_another_store(
    watched: Watched, pushgateway: PushgatewayServer, tmp_path: Path
) -> None:
    """`--storage` names a store that is not the deployment's."""
    other = tmp_path / "other.db"
    with open_store(str(other)) as store:
        seed_threads(store.saver, "old", 2, now() - OLD)
    assert watched.sweep("--storage", str(other)).status == 0
    assert watched.series(pushgateway) == {}
    assert 'store="sqlite:other.db-' in pushgateway.metrics()


def test_without_a_gateway_nothing_is_pushed_or_said(plain: Watched) -> None:
    ran = plain.sweep(SWEEP_PUSHGATEWAY_URL="null")
    assert (ran.status, ran.err) == (0, "")


def test_a_gateway_that_is_down_is_said_once_and_the_next_run_makes_up_for_it(
    plain: Watched, pushgateway: PushgatewayServer
) -> None:
    with closing(create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    ran = plain.sweep(SWEEP_PUSHGATEWAY_URL=f"http://op:geheim@127.0.0.1:{port}")
    assert ran.status == 0
    assert plain.holds() == 0
    (line,) = ran.err.splitlines()
    assert "WARNING" in line.upper()
    assert "metrics_not_pushed" in line
    assert "refused" in line
    assert f"http://op:***@127.0.0.1:{port}" in line
    assert "geheim" not in ran.err
    assert plain.sweep(SWEEP_PUSHGATEWAY_URL=pushgateway.url).status == 0
    series = plain.series(pushgateway)
    assert value(series, "swept_total", horizon="waiting") == 3
    assert value(series, "runs_total", outcome="completed") == 2


def test_a_gateway_that_answers_400_is_said_once(plain: Watched) -> None:
    with answering(status(400, b"text format parsing error in line 1")) as requests:
        ran = plain.sweep(SWEEP_PUSHGATEWAY_URL=requests.url)
    assert ran.status == 0
    assert plain.holds() == 0
    assert len(requests.seen) == 1
    (line,) = ran.err.splitlines()
    assert "HTTP 400 text format parsing error in line 1" in line


def test_a_slow_gateway_keeps_no_sweep(plain: Watched) -> None:
    answered = threading.Event()
    with answering(lambda handler: status(200)(handler) if answered.wait(60) else None) as requests:
        ran = plain.sweep(SWEEP_PUSHGATEWAY_URL=requests.url, SWEEP_PUSHGATEWAY_TIMEOUT_SECONDS="1")
        # The server has not answered yet: the sweep ended without it.
        assert not answered.is_set()
        answered.set()
    assert ran.status == 0
    assert plain.holds() == 0
    (line,) = ran.err.splitlines()
    assert "no answer within 1 seconds" in line


def test_a_database_that_comes_back_is_served_again(tmp_path: Path) -> None:
    with service():
        server = PostgresServer()
    with server:
        address = server.dsn(server.create_database())
        init_store(address)
        with serving("--storage", address, folder=tmp_path) as served:
            assert served.get("/metrics")[0] == 200
            server.stop()
            assert served.get("/metrics")[0] == served.get("/healthz")[0] == 503
            server.start()
            assert served.get("/healthz")[0] == served.get("/metrics")[0] == 200
