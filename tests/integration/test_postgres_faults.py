"""PostgreSQL that breaks a batch off: nothing is half deleted, and nothing counts twice."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from retention.errors import StoreUnavailableError
from retention.sweep import SweepOptions
from stores import Store
from stores.postgres.locks import THREAD_SEED
from tests.integration.places import Place
from tests.integration.sweeping import sweep
from tests.seeding import seed_threads
from tests.stepping import Side, gate_postgres, lock_watch
from tests.waiting import eventually

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
#: Tombstones of earlier tries are looked at one at a time: no sweep takes longer than the first.
PAIRS = SweepOptions(batch_size=2, late_batches=1)
REFUSES = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN RAISE 'could not serialize access' USING ERRCODE = '40001'; END$$;
CREATE TRIGGER refuse BEFORE DELETE ON checkpoints FOR EACH ROW EXECUTE FUNCTION refuse()
"""


def connection_of(store: Store) -> psycopg.Connection[Any]:
    """The connection a sweep works on."""
    parts: Any = store.deleter
    with parts._db.connected() as connection:
        found: psycopg.Connection[Any] = connection
        return found


def checkpoints(place: Place, threads: list[str]) -> set[int]:
    """How many checkpoints these threads have; 0 for one without any row."""
    return {place.rows(thread_id).get("checkpoints", 0) for thread_id in threads}


@pytest.mark.parametrize("apart", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_a_connection_that_goes_away_after_any_statement_costs_time_and_nothing_else(
    postgres_place: Place, apart: int
) -> None:
    """As in a failover: the next statement finds a server that knows nothing of the session.

    After every seventh one in each test run, after every one in ``./run soak``.
    """
    with postgres_place.store() as store, psycopg.connect(postgres_place.address) as operator:
        operator.autocommit = True
        deleted = 0
        for statement in itertools.count(1, apart):
            due = seed_threads(store.saver, f"old{statement}", 4, OLD, checkpoints=2)
            left = itertools.count(statement, -1)
            connection = connection_of(store)

            def cut(connection: Any = connection, left: Any = left) -> None:
                if next(left) == 1:
                    pid = connection.info.backend_pid
                    operator.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])

            gate_postgres(connection, cut, everywhere=True)
            at = NOW + timedelta(minutes=20 * statement)
            try:
                sweep(store, at, options=PAIRS)
            except StoreUnavailableError:
                assert checkpoints(postgres_place, due) <= {0, 2}
                sweep(store, at + timedelta(minutes=10), options=PAIRS)
            else:
                break
            deleted += len(due)
            assert postgres_place.threads() == set()
            assert store.runs.live() is None
            assert store.runs.totals()["deleted:waiting"] == deleted
    assert statement > 15


def test_a_deadlock_is_broken_off_and_the_next_sweep_deletes(postgres_place: Place) -> None:
    with (
        postgres_place.store() as store,
        psycopg.connect(postgres_place.address) as holder,
        lock_watch(postgres_place.address) as watch,
    ):
        (due,) = seed_threads(store.saver, "old", 1, OLD)
        # The sweep has waited for longer when the server looks: it is the one that gives way.
        holder.execute("SET deadlock_timeout = '30s'")
        holder.execute("SELECT 1 FROM checkpoints WHERE thread_id = %s FOR UPDATE", [due])
        is_blocked = watch(connection_of(store))
        side = Side("sweep", lambda: sweep(store, NOW))
        side._thread.start()
        eventually(is_blocked, "the sweep waits for the row")
        seeded = f"hashtextextended(%s, {THREAD_SEED})"
        holder.execute(f"SELECT pg_advisory_xact_lock({seeded})".encode(), [due])
        eventually(lambda: side.done, "the deadlock is broken off")
        assert isinstance(side.error, StoreUnavailableError)
        assert "deadlock" in str(side.error)
        holder.rollback()
        assert postgres_place.rows(due)["checkpoints"] == 1
        sweep(store, NOW + timedelta(minutes=10))
        assert postgres_place.threads() == set()
        assert store.runs.totals()["deleted:waiting"] == 1


def test_a_serialization_failure_is_tried_again(postgres_place: Place) -> None:
    with postgres_place.store() as store:
        seed_threads(store.saver, "old", 3, OLD)
        postgres_place.query(REFUSES)
        with pytest.raises(StoreUnavailableError, match="could not serialize access"):
            sweep(store, NOW)
        assert len(postgres_place.threads()) == 3
        postgres_place.query("DROP TRIGGER refuse ON checkpoints")
        sweep(store, NOW + timedelta(minutes=10))
        assert postgres_place.threads() == set()
        assert store.runs.totals()["deleted:waiting"] == 3


def test_a_database_that_isolates_more_strictly_by_default_is_swept_as_any(
    postgres_place: Place,
) -> None:
    with psycopg.connect(postgres_place.address, autocommit=True) as operator:
        name = operator.info.dbname
        statement = f'ALTER DATABASE "{name}" SET default_transaction_isolation = serializable'
        operator.execute(statement.encode())
    with postgres_place.store() as store:
        seed_threads(store.saver, "old", 3, OLD)
        assert sweep(store, NOW).to_json()["swept_count"] == 3


def test_a_network_that_was_cut_is_noticed_within_a_minute(postgres_place: Place) -> None:
    """The system asks the other end; an address may say how often."""
    with postgres_place.store() as store:
        told = connection_of(store).info.get_parameters()
        idle, interval = int(told["keepalives_idle"]), int(told["keepalives_interval"])
        assert idle + interval * int(told["keepalives_count"]) < 60
        assert int(told["tcp_user_timeout"]) < 60_000
    separator = "&" if "?" in postgres_place.address else "?"
    own = Place("postgres", f"{postgres_place.address}{separator}keepalives_idle=77")
    with own.store() as store:
        assert connection_of(store).info.get_parameters()["keepalives_idle"] == "77"
