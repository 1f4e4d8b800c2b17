"""One thread that cannot be deleted: it stays whole, the others go, and the run says so."""

from datetime import timedelta

import pytest

from retention.runs import Outcome, RunOutcome, ThreadOutcome
from retention.sweep import SweepResult, finish, open_run, work_on
from tests.contract.lab import Lab, in_sql
from tests.contract.pool import LEASE, Queue, claimed
from tests.seeding import config_of, seed_threads


def failed(result: SweepResult) -> dict[str, str]:
    """The error of each thread that failed."""
    return {entry["thread_id"]: entry["error"] for entry in result.to_json()["failed"]}


@in_sql
@pytest.mark.parametrize("place", [0, 1, 2, -1])
def test_a_thread_that_the_database_refuses_to_delete_stays_whole_and_the_others_go(
    lab: Lab, place: int
) -> None:
    """I3 and I5"""
    for thread_id in seed_threads(lab.saver, "t", 9, lab.ago(30), 2):
        lab.at(-20, lambda t=thread_id: lab.store.ledger.mark_finished([t]))  # type: ignore[misc]
    lab.sql.refuse_deletes(lab.sql.tables[place], "t-0004")
    before = lab.rows_of("t-0004")
    assert set(before) == set(lab.sql.tables)
    result = lab.run()
    assert result.outcome is RunOutcome.PARTIAL
    assert result.counts.values == {"deleted:finished": 8, "failed:finished": 1}
    assert "will not go" in failed(result)["t-0004"]
    assert lab.rows_of("t-0004") == before
    assert lab.threads() == {"t-0004"}


@in_sql
def test_a_thread_that_stays_without_an_error_is_named_with_what_it_still_holds(lab: Lab) -> None:
    """I5"""
    for thread_id in ("a", "stuck", "z"):
        lab.seed(thread_id, 90, 3)
    lab.sql.refuse_deletes("checkpoints", "stuck", silently=True)
    result = lab.run()
    assert result.outcome is RunOutcome.PARTIAL
    assert failed(result) == {
        "stuck": "thread 'stuck' still holds 3 checkpoints and 0 writes after 2 delete rounds"
    }
    assert result.counts.values == {"deleted:waiting": 2, "failed:waiting": 1}
    assert lab.threads() == {"stuck"}


@in_sql
def test_rows_that_come_back_are_deleted_again_within_the_same_sweep(lab: Lab) -> None:
    """A run that writes while its thread goes, played by the database."""
    head = lab.seed("t", 90, 1)[-1]
    lab.seed("u", 90, 1)
    lab.sql.write_after_delete("t", head)
    lab.at(-80, lambda: lab.store.ledger.start(["t"]))
    assert lab.run().counts.values == {"deleted:waiting": 2}
    assert lab.rows_of("t") == {}


@in_sql
def test_late_writes_that_cannot_be_deleted_do_not_stop_those_that_can(lab: Lab) -> None:
    """I5, in the look at threads deleted by an earlier sweep."""
    heads = {thread_id: lab.seed(thread_id, 90)[-1] for thread_id in ("a", "stuck", "z")}
    assert lab.run().counts.values == {"deleted:waiting": 3}
    for thread_id, head in heads.items():
        lab.saver.put_writes(config_of(thread_id, "", head), [("messages", "late")], "task")
    lab.sql.refuse_deletes(lab.sql.writes, "stuck")
    result = lab.run()
    assert result.outcome is RunOutcome.PARTIAL
    assert "will not go" in failed(result)["stuck"]
    assert result.counts.values == {"cleaned:waiting": 2, "failed:waiting": 1}
    assert lab.rows_of("a") == lab.rows_of("z") == {}


@in_sql
def test_a_thread_that_failed_is_tried_again_by_the_next_sweep(lab: Lab) -> None:
    lab.seed("t", 90)
    lab.sql.refuse_deletes("checkpoints", "t")
    assert lab.run().counts.values == {"failed:waiting": 1}
    assert lab.run().counts.values == {"failed:waiting": 1}
    lab.sql.allow_deletes("checkpoints")
    assert lab.run().counts.values == {"deleted:waiting": 1}


@in_sql
def test_several_threads_that_fail_are_told_apart(lab: Lab) -> None:
    for thread_id in seed_threads(lab.saver, "t", 16, lab.ago(90)):
        stuck = thread_id in ("t-0000", "t-0007", "t-0008", "t-0015")
        lab.seed(thread_id, 90, 1, namespace="stuck" if stuck else "free")
    lab.sql.refuse_deletes("checkpoints", "stuck", column="checkpoint_ns")
    result = lab.run()
    assert sorted(failed(result)) == ["t-0000", "t-0007", "t-0008", "t-0015"]
    assert result.counts.values == {"deleted:waiting": 12, "failed:waiting": 4}


def test_a_batch_that_was_tried_too_often_is_given_up_and_its_threads_failed(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    sweep = lab.sweep(dispatch=Queue(), batch_attempts=2)
    assert open_run(sweep, "r", allow_over_limit=False) is None
    for token in ("first", "second"):
        assert claimed(lab, token, run_id="r") is not None
        lab.clock.now += LEASE + timedelta(seconds=1)
    assert work_on(sweep, "r", 0).worked
    result = finish(sweep, "r")
    assert result is not None
    assert result.outcome is RunOutcome.PARTIAL
    assert failed(result) == {"t": "given up after 2 attempts"}
    batch = lab.store.runs.batch("r", 0)
    assert batch is not None
    assert batch.outcomes == {0: ThreadOutcome(Outcome.FAILED, "given up after 2 attempts")}
    assert lab.threads() == {"t"}
