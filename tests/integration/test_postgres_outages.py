"""PostgreSQL that is slow, locked or gone: what a sweep says, and that the next one works."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from retention.errors import StoreError, StoreUnavailableError
from retention.ports import CheckpointStore
from retention.sweep import SweepOptions
from tests.conftest import service
from tests.integration.places import Place
from tests.integration.sweeping import sweep
from tests.seeding import seed_thread, seed_threads
from tests.servers import PostgresServer

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
SOON = timedelta(milliseconds=150)
#: A row that a delete waits for: as long as a slow disk takes, for each row.
SLOW = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN PERFORM pg_sleep(0.004); RETURN OLD; END$$;
CREATE TRIGGER slow BEFORE DELETE ON checkpoints FOR EACH ROW EXECUTE FUNCTION slow()
"""
STUCK = """
CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN RAISE 'this row stays'; END$$;
CREATE TRIGGER stuck BEFORE DELETE ON checkpoints FOR EACH ROW
WHEN (OLD.thread_id = 'old-0003') EXECUTE FUNCTION stuck()
"""


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A PostgreSQL that the test may stop."""
    with service():
        server = PostgresServer()
    with server:
        yield server


def failures(result: dict[str, Any]) -> dict[str, str]:
    """The error of each failed thread."""
    return {entry["thread_id"]: entry["error"] for entry in result["failed"]}


def test_a_row_that_somebody_locks_fails_its_thread_alone_within_the_lock_timeout(
    postgres_place: Place,
) -> None:
    with postgres_place.store(lock_timeout=SOON) as store:
        seed_threads(store.saver, "old", 8, OLD)
        with psycopg.connect(postgres_place.address) as holder:
            holder.execute("SELECT 1 FROM checkpoints WHERE thread_id = 'old-0003' FOR UPDATE")
            result = sweep(store, NOW).to_json()
            holder.rollback()
        assert result["outcome"] == "partial"
        assert failures(result) == {
            "old-0003": "PostgreSQL: canceling statement due to lock timeout"
        }
        assert result["swept_count"] == 7
        assert postgres_place.threads() == {"old-0003"}
        assert sweep(store, NOW).to_json()["waiting_swept"] == ["old-0003"]


def test_a_statement_is_ended_by_the_statement_timeout(postgres_place: Place) -> None:
    with postgres_place.store(statement_timeout=SOON) as store:
        seed_threads(store.saver, "old", 2, OLD)
        with psycopg.connect(postgres_place.address) as holder:
            holder.execute("LOCK TABLE checkpoints IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(StoreError, match="canceling statement due to statement timeout"):
                store.threads.facts(["old-0000"])
            result = sweep(store, NOW).to_json()
            assert result["outcome"] == "failed"
            assert "statement timeout" in result["reason"]
            holder.rollback()
        assert sweep(store, NOW).to_json()["swept_count"] == 2


def test_a_start_that_waits_too_long_for_a_delete_says_so(postgres_place: Place) -> None:
    with postgres_place.store(lock_timeout=SOON) as store:
        seed_thread(store.saver, "old", OLD)
        with postgres_place.store() as other, other.deleter._db.transaction() as tx:  # type: ignore[attr-defined]
            assert other.deleter._rows.lock(tx, ["old"]) == ["old"]  # type: ignore[attr-defined]
            with pytest.raises(StoreUnavailableError, match="lock timeout"):
                store.ledger.start(["old"])
            assert sweep(store, NOW).to_json()["busy_count"] == 1
        assert postgres_place.rows("old")["checkpoints"] == 1


def test_a_batch_too_large_for_the_statement_timeout_is_halved_until_it_fits(
    postgres_place: Place,
) -> None:
    seed_many(postgres_place, 200)
    postgres_place.query(SLOW)
    with postgres_place.store(statement_timeout=timedelta(milliseconds=500)) as store:
        result = sweep(store, NOW).to_json()
    assert (result["outcome"], result["swept_count"]) == ("completed", 200)
    assert postgres_place.threads() == set()


def seed_many(place: Place, count: int) -> None:
    """Old threads of one checkpoint each, by SQL."""
    with place.store():
        pass
    place.query(
        "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint)"
        " SELECT 'old-' || lpad(n::text, 4, '0'), '1ef00000-0000-6000-8000-000000000000', '{}'"
        f" FROM generate_series(0, {count - 1}) AS n"
    )


def test_a_thread_that_cannot_be_deleted_and_one_that_has_no_date_stop_nobody(
    postgres_place: Place,
) -> None:
    with postgres_place.store() as store:
        seed_threads(store.saver, "old", 6, OLD)
        foreign(postgres_place, "malformed", "last Tuesday")
        postgres_place.query(STUCK)
        result = sweep(store, NOW).to_json()
    assert result["outcome"] == "partial"
    assert failures(result) == {"old-0003": "PostgreSQL: this row stays"}
    assert result["undatable"] == ["malformed"]
    assert (result["swept_count"], result["undatable_count"]) == (5, 1)
    assert postgres_place.threads() == {"old-0003", "malformed"}


def foreign(place: Place, thread_id: str, ts: str, checkpoint_id: str = "zz-foreign") -> None:
    """A thread whose checkpoint id is no UUIDv6."""
    place.query(
        "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint)"
        f" VALUES ('{thread_id}', '{checkpoint_id}', jsonb_build_object('ts', '{ts}'))"
    )


def test_a_foreign_id_is_dated_by_the_checkpoints_own_ts(postgres_place: Place) -> None:
    with postgres_place.store() as store:
        for low in ("", "low-"):
            place_id = "zz-foreign" if not low else "0000-foreign"
            foreign(postgres_place, f"{low}old", OLD.isoformat(), place_id)
            foreign(postgres_place, f"{low}old-zulu", f"{OLD:%Y-%m-%dT%H:%M:%SZ}", place_id)
            foreign(postgres_place, f"{low}young", NOW.isoformat(), place_id)
            foreign(postgres_place, f"{low}naive", f"{OLD:%Y-%m-%dT%H:%M:%S}", place_id)
            foreign(postgres_place, f"{low}malformed", "", place_id)
        result = sweep(store, NOW).to_json()
    assert sorted(result["waiting_swept"]) == ["low-old", "low-old-zulu", "old", "old-zulu"]
    assert sorted(result["undatable"]) == ["low-malformed", "low-naive", "malformed", "naive"]
    assert result["outcome"] == "completed"
    assert postgres_place.threads() == {
        f"{low}{name}" for low in ("", "low-") for name in ("young", "naive", "malformed")
    }


def test_a_server_that_stops_in_a_sweep_costs_time_and_nothing_else(
    own_server: PostgresServer,
) -> None:
    place = Place("postgres", own_server.dsn())
    options = SweepOptions(batch_size=2)
    with place.store() as store:
        seed_threads(store.saver, "old", 8, OLD)
        left: list[int] = []

        def stop(run_id: str, batches_left: int) -> None:
            left.append(batches_left)
            if batches_left == 2:
                own_server.stop_hard()

        with pytest.raises(StoreUnavailableError):
            sweep(store, NOW, options=options, progress=stop)
        assert left == [3, 2]
        with pytest.raises(StoreUnavailableError):
            store.runs.live()
        own_server.start()
        assert len(place.threads()) == 4
        resume(store, place, options)


def resume(store: CheckpointStore, place: Place, options: SweepOptions) -> None:
    """The next sweep on the same store works on a new connection and finds what is left."""
    live = store.runs.live()
    assert live is not None
    skipped = sweep(store, NOW, options=options).to_json()
    assert skipped["outcome"] == "skipped_locked"
    assert live.run_id in skipped["reason"]
    assert len(place.threads()) == 4
    stale = NOW + timedelta(minutes=10)
    assert sweep(store, stale, options=options).to_json()["outcome"] == "completed"
    repaired = store.runs.get(live.run_id)
    assert repaired is not None
    assert repaired.counts.values == {"deleted:waiting": 8}
    assert place.threads() == set()
