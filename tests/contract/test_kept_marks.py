"""A marked thread that a delete could not take whole keeps its mark: the next sweep finds it."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from retention.errors import ConfigurationError, StoreUnavailableError
from retention.runs import Outcome
from retention.threads import Horizon, LedgerEntry
from tests.contract.lab import NOW, Lab, in_sql, on_postgres
from tests.contract.test_ledger import entry
from tests.contract.test_undeletable import failed

MARKED = LedgerEntry("t", marked_at=NOW, due_at=NOW)


def seed_stuck(lab: Lab) -> None:
    """A thread past its mark and far from the waiting horizon, whose checkpoints stay."""
    lab.seed("t", 30, 3, marked=20)
    lab.seed("u", 30, marked=20)
    lab.sql.refuse_deletes("checkpoints", "t", silently=True)


@in_sql
def test_a_marked_thread_that_fails_in_the_delete_rounds_is_found_by_its_mark_again(
    lab: Lab,
) -> None:
    seed_stuck(lab)
    result = lab.run()
    assert result.counts.values == {"deleted:finished": 1, "failed:finished": 1}
    assert entry(lab) == MARKED
    lab.sql.allow_deletes("checkpoints")
    lab.clock.advance(1)
    result = lab.run()
    assert result.counts.total(Outcome.DELETED, Horizon.FINISHED) == 1
    assert lab.rows_of("t") == {}


@in_sql
def test_it_is_tried_and_named_by_every_sweep_until_it_can_go(lab: Lab) -> None:
    seed_stuck(lab)
    for _ in range(3):
        assert set(failed(lab.run())) == {"t"}
        lab.clock.advance(1)


@in_sql
def test_a_thread_of_the_waiting_horizon_is_not_marked_for_failing(lab: Lab) -> None:
    lab.seed("t", 90, 3)
    lab.sql.refuse_deletes("checkpoints", "t", silently=True)
    assert lab.run().counts.values == {"failed:waiting": 1}
    assert entry(lab) is None


@in_sql
def test_a_start_within_the_delete_rounds_is_not_taken_back(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_stuck(lab)
    look = lab.worker.deleter.remnants

    def started_meanwhile(*args: Any, **how: Any) -> set[str]:
        lab.store.ledger.start(["t"])
        return look(*args, **how)

    with monkeypatch.context() as patched:
        patched.setattr(lab.worker.deleter, "remnants", started_meanwhile)
        assert lab.run().counts.total(Outcome.FAILED) == 1
    assert entry(lab) == LedgerEntry("t", started_at=NOW)


@on_postgres
def test_a_role_that_may_not_put_the_mark_back_fails_no_sweep(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    seed_stuck(lab)
    with psycopg.connect(lab.address, autocommit=True) as connection:
        owners = "SELECT grantee FROM information_schema.column_privileges WHERE grantee LIKE"
        row = connection.execute(f"{owners} 'worker%' LIMIT 1".encode()).fetchone()
        assert row is not None
        columns = f"INSERT (thread_id, marked_at, due_at) ON retention_threads {{}} {row[0]}"
        connection.execute(f"REVOKE {columns.format('FROM')}".encode())
        try:
            result = lab.run()
        finally:
            connection.execute(f"GRANT {columns.format('TO')}".encode())
    assert result.counts.values == {"deleted:finished": 1, "failed:finished": 1}
    (line,) = (r for r in caplog.messages if r.startswith("marks_not_kept"))
    assert "lacks a right" in line


@in_sql
def test_a_store_that_is_away_is_told_when_the_batch_is_tried_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_stuck(lab)

    def away(*_: object) -> set[str]:
        raise StoreUnavailableError("away")

    with monkeypatch.context() as patched:
        patched.setattr(lab.worker.ledger, "keep_marks", away)
        with pytest.raises(StoreUnavailableError):
            lab.run()
    lab.clock.advance(6)
    lab.run()
    assert entry(lab) is not None


def test_a_mark_is_put_back_as_due(lab: Lab) -> None:
    lab.seed("t", 30)
    assert lab.store.ledger.keep_marks(["t"], NOW) == {"t"}
    assert entry(lab) == MARKED
    assert [f.thread_id for f in lab.store.threads.due_page(NOW, None, 10).facts] == ["t"]
    assert lab.store.ledger.keep_marks([], NOW) == set()


@pytest.mark.parametrize("said", ["start", "mark_finished"])
def test_what_was_said_since_the_delete_stays(lab: Lab, said: str) -> None:
    lab.seed("t", 30)
    getattr(lab.store.ledger, said)(["t"])
    before = entry(lab)
    assert before is not None
    assert lab.store.ledger.keep_marks(["t"], NOW - timedelta(minutes=5)) == set()
    assert entry(lab) == before


@on_postgres
def test_a_worker_may_put_a_mark_back_and_say_nothing_else(lab: Lab) -> None:
    lab.seed("t", 30)
    assert lab.worker.ledger.keep_marks(["t"], NOW) == {"t"}
    with pytest.raises(ConfigurationError, match="lacks a right"):
        lab.worker.ledger.start(["t"])
