"""What PostgreSQL tells of its replicas and lock waits, on a server with a replica."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql

from retention.brakes import SupportsStrain
from retention.sweep import LocalDispatch, check_strain, run_sweep
from stores import Access, Store
from tests.integration.places import Place
from tests.integration.sweeping import sweep_of
from tests.seeding import seed_threads
from tests.servers import PostgresServer, run_role_script
from tests.servers.postgres_replica import PostgresReplica
from tests.waiting import eventually

OLD = datetime.now(UTC) - timedelta(days=8)
SHORT = timedelta(milliseconds=100)


@pytest.fixture(scope="module")
def primary() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="module")
def replica(primary: PostgresServer) -> Iterator[PostgresReplica]:
    with PostgresReplica(primary) as server:
        yield server


@pytest.fixture
def place(primary: PostgresServer) -> Place:
    """A store with old threads on a server that may have a replica."""
    return Place("postgres", primary.dsn(primary.create_database()))


def server_of(store: Store) -> SupportsStrain:
    assert isinstance(store.deleter, SupportsStrain)
    return store.deleter


@contextmanager
def administrator(server: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        yield connection


def test_a_sweep_waits_until_the_replica_has_caught_up(
    replica: PostgresReplica, place: Place
) -> None:
    with administrator(replica) as replaying, place.store() as store:
        server = server_of(store)
        assert eventually(lambda: server.replica_lag() < SHORT, "a replica that is up to date")
        replaying.execute("SELECT pg_wal_replay_pause()")
        seed_threads(store.saver, "old", 20, OLD)
        eventually(lambda: server.replica_lag() > SHORT, "a replica that is behind")
        slept: list[float] = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            assert len(place.threads()) == 20
            replaying.execute("SELECT pg_wal_replay_resume()")
            eventually(lambda: server.replica_lag() <= SHORT, "a replica that caught up")

        local = LocalDispatch()
        work = sweep_of(store, local, datetime.now(UTC))
        options = replace(work.options, max_replica_lag=SHORT)
        result = run_sweep(replace(work, options=options, sleep=sleep), local, "r")
    assert len(slept) == 1
    assert result.to_json()["swept_count"] == 20


def test_a_role_that_was_granted_the_right_sees_replicas(
    primary: PostgresServer, replica: PostgresReplica, place: Place
) -> None:
    with place.store():
        pass
    run_role_script("worker-role.sql", place.address, role="watching")
    role = sql.Identifier("watching")
    primary.execute(sql.SQL("GRANT pg_read_all_stats TO {}").format(role))
    watching = Place("postgres", place.address.replace("postgres@", "watching@"))
    with watching.store(access=Access.WRITE) as store:
        work = sweep_of(store, LocalDispatch(), datetime.now(UTC))
        options = replace(work.options, max_replica_lag=timedelta(hours=1))
        check_strain(replace(work, options=options))
        assert server_of(store).replica_lag() < timedelta(hours=1)


def test_a_server_without_replicas_is_never_behind(place: Place) -> None:
    with place.store() as store:
        assert server_of(store).replica_lag() >= timedelta()


def test_sessions_that_wait_for_a_lock_are_counted(place: Place) -> None:
    with (
        place.store() as store,
        psycopg.connect(place.address) as holder,
        psycopg.connect(place.address) as waiter,
    ):
        server = server_of(store)
        assert server.lock_waits() == 0
        lock = "LOCK TABLE checkpoints IN EXCLUSIVE MODE"
        holder.execute(lock)
        waiting = threading.Thread(target=waiter.execute, args=(lock,))
        waiting.start()
        eventually(lambda: server.lock_waits() == 1, "a session that waits")
        holder.rollback()
        waiting.join()
        assert server.lock_waits() == 0
