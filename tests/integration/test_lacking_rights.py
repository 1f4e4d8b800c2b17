"""A right that the worker's role lacks on PostgreSQL takes nothing from what is done already."""

import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import sql

from retention.hooks import Hooks
from retention.runs import Outcome, RunOutcome
from retention.sweep import LocalDispatch, Sweep, open_run, repair, run_sweep
from stores import Access, Store
from tests.contract.test_deliveries import Told, events
from tests.integration.places import Place
from tests.integration.sweeping import sweep_of
from tests.seeding import config_of, seed_thread
from tests.servers import Postgres, run_role_script
from worker.cli.sweep_start import _Follower
from worker.metrics.gateway import Gateway
from worker.metrics.pushing import PushedMetrics
from worker.metrics.serving import MetricsApp

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
_DENIED = "permission denied for table"


@dataclass(frozen=True)
class Deployment:
    """A store, its owner, and its worker, from whose role the owner can take a right."""

    owner: Place
    worker: Store
    role: str

    def revoke(self, right: str) -> None:
        """Take a right, as in ``SELECT ON retention_totals``."""
        self.owner.query(f'REVOKE {right} FROM "{self.role}"')

    def sweep(self, local: LocalDispatch | None = None) -> Sweep:
        """A sweep by the worker, now."""
        return sweep_of(self.worker, local or LocalDispatch(), NOW)

    def run(self) -> tuple[RunOutcome, str | None]:
        """Sweep; how that ended, and why."""
        local = LocalDispatch()
        result = run_sweep(self.sweep(local), local, uuid.uuid4().hex)
        return result.outcome, result.reason


@pytest.fixture
def deployment(postgres_server: Postgres, role: str, postgres_place: Place) -> Iterator[Deployment]:
    """A store with one thread that is due, and a worker with the rights of its role."""
    with postgres_place.store() as store:
        seed_thread(store.saver, "old", OLD)
    run_role_script("worker-role.sql", postgres_place.address, role=role)
    password = uuid.uuid4().hex
    set_password = sql.SQL("ALTER ROLE {} PASSWORD {}")
    postgres_server.execute(set_password.format(sql.Identifier(role), sql.Literal(password)))
    with psycopg.connect(postgres_place.address) as connection:
        address = postgres_server.dsn(connection.info.dbname, role, password)
    with Place("postgres", address).store(access=Access.WRITE) as worker:
        yield Deployment(postgres_place, worker, role)


@dataclass
class Interrupts:
    """A live-thread filter that takes a right from the worker and is ended, as by Ctrl-C."""

    deployment: Deployment
    right: str
    owner: str = "tests"

    def claims(self, thread_ids: Sequence[str]) -> list[str]:
        """Take the right and be ended."""
        self.deployment.revoke(self.right)
        raise KeyboardInterrupt


def test_a_run_whose_old_records_may_not_be_dropped_is_closed_all_the_same(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    assert deployment.run()[0] is RunOutcome.COMPLETED
    deployment.revoke("SELECT ON retention_asks")
    with caplog.at_level(logging.ERROR):
        assert deployment.run() == (RunOutcome.COMPLETED, None)
    (stay,) = events(caplog, "old_records_stay")
    assert f"{_DENIED} retention_asks" in str(stay)


def test_a_run_that_may_not_delete_says_so_and_is_closed_as_failed(deployment: Deployment) -> None:
    deployment.revoke("SELECT ON retention_asks")
    outcome, reason = deployment.run()
    assert outcome is RunOutcome.FAILED
    assert f"{_DENIED} retention_asks" in str(reason)
    assert deployment.worker.runs.live() is None
    assert deployment.owner.threads() == {"old"}


def test_a_look_for_late_writes_that_may_not_delete_fails_its_run_and_leaves_none_live(
    deployment: Deployment,
) -> None:
    with deployment.owner.store() as store:
        (head,) = seed_thread(store.saver, "late", OLD, checkpoints=1)
        assert deployment.run()[0] is RunOutcome.COMPLETED
        config = config_of("late", "", head)
        store.saver.put_writes(config, [("messages", "late")], "task")
    deployment.revoke("DELETE ON checkpoint_writes")
    outcome, reason = deployment.run()
    assert outcome is RunOutcome.FAILED
    assert f"{_DENIED} checkpoint_writes" in str(reason)
    assert deployment.worker.runs.live() is None


def test_a_sweep_beside_a_live_one_is_skipped_though_it_may_not_be_counted(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    assert open_run(deployment.sweep(), "live", allow_over_limit=False) is None
    deployment.revoke("INSERT, UPDATE ON retention_totals")
    with caplog.at_level(logging.ERROR):
        assert deployment.run()[0] is RunOutcome.SKIPPED_LOCKED
    (uncounted,) = events(caplog, "skipped_run_not_counted")
    assert f"{_DENIED} retention_totals" in str(uncounted)


def test_a_batch_is_done_though_what_hooks_were_told_may_not_be_kept(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    local, told = LocalDispatch(), Told()
    hooks = Hooks({"files": told}, "store")
    deployment.revoke("UPDATE ON retention_batches")
    columns = "outcomes, counts, deleted, token, claimed_until, attempts, done_at, deliver_at"
    deployment.owner.query(f'GRANT UPDATE ({columns}) ON retention_batches TO "{deployment.role}"')
    with caplog.at_level(logging.WARNING):
        result = run_sweep(replace(deployment.sweep(local), hooks=hooks), local, "r")
    assert result.outcome is RunOutcome.COMPLETED
    assert result.counts.total(Outcome.DELETED) == 1
    assert told.ids == ["old"]
    assert len(events(caplog, "delivery_put_off")) == 1
    later = replace(deployment.sweep(), hooks=hooks, clock=lambda: NOW + timedelta(hours=1))
    with caplog.at_level(logging.WARNING):
        repair(later)
    assert told.ids == ["old", "old"]
    assert len(events(caplog, "delivery_put_off")) == 2


def test_an_interrupted_batch_says_that_it_was_interrupted_though_it_may_not_be_given_back(
    deployment: Deployment,
) -> None:
    local = LocalDispatch()
    interrupts = Interrupts(deployment, "UPDATE ON retention_batches, retention_runs")
    with pytest.raises(KeyboardInterrupt):
        run_sweep(replace(deployment.sweep(local), filters=[interrupts]), local, "r")


def test_an_interrupted_plan_says_that_it_was_interrupted_though_it_may_not_be_given_back(
    deployment: Deployment,
) -> None:
    planning = "SELECT 1 FROM retention_runs WHERE state = 'planning'"
    interrupts = Interrupts(deployment, "UPDATE ON retention_runs")

    def clock() -> datetime:
        if deployment.owner.query(planning):
            deployment.owner.query("UPDATE retention_runs SET state = 'stopping'")
            interrupts.claims([])
        return NOW

    with pytest.raises(KeyboardInterrupt):
        open_run(replace(deployment.sweep(), clock=clock), "r", allow_over_limit=False)


def test_metrics_that_may_not_be_read_are_said_in_the_log_and_end_no_sweep(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    deployment.revoke("SELECT ON retention_totals")
    with caplog.at_level(logging.WARNING):
        metrics = PushedMetrics(Gateway("http://127.0.0.1:9", 1), "x_", "store")
        metrics.push("r", deployment.worker.runs)
    assert f"{_DENIED} retention_totals" in caplog.text


def test_metrics_that_may_not_be_read_are_a_503_for_whoever_scrapes(
    deployment: Deployment,
) -> None:
    deployment.revoke("SELECT ON retention_totals")
    answers: list[str] = []
    app = MetricsApp(deployment.worker.runs, "x_")
    asked = {"PATH_INFO": "/metrics", "REQUEST_METHOD": "GET"}
    body = app(asked, lambda status, headers, *_: answers.append(status))  # type: ignore[arg-type]
    assert (answers, list(body)) == (["503 Service Unavailable"], [b"the store cannot be read\n"])


def test_a_run_of_the_pool_is_waited_for_though_its_record_may_not_be_read(
    deployment: Deployment,
) -> None:
    deployment.revoke("SELECT ON retention_runs")
    follower = _Follower(deployment.sweep(), "r", None)
    follower.look()
    assert not follower.is_known
