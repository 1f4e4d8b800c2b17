"""Late writes: what a run writes to a thread after its delete goes, a new conversation stays."""

from typing import Any

from retention.runs import Outcome, RunOutcome
from retention.sweep import finish, open_run, work_on
from tests.contract.direct import Tables
from tests.contract.lab import Lab, shared_with_stock
from tests.contract.pool import Queue
from tests.seeding import config_of, seed_thread

A_DAY = 24 * 60


def delete_by_sweep(lab: Lab, *thread_ids: str) -> dict[str, str]:
    """Have threads deleted by a sweep; the head of each."""
    heads = {t: lab.seed(t, 30, 3, marked=20)[-1] for t in thread_ids}
    assert lab.run().counts.values == {"deleted:finished": len(thread_ids)}
    return heads


def write_on(lab: Lab, thread_id: str, checkpoint_id: str) -> None:
    """A task of the dead run hands in its write."""
    lab.saver.put_writes(config_of(thread_id, "", checkpoint_id), [("messages", "late")], "late")


def stock_put(lab: Lab, thread_id: str, **how: Any) -> list[str]:
    """A checkpoint by a saver that does not look at its parent."""
    with lab.stock() as saver:
        return seed_thread(saver, thread_id, lab.clock.now, 1, **how)


def cleaned(lab: Lab) -> int:
    """Sweep; how many dead threads were cleaned."""
    result = lab.run()
    assert result.outcome is RunOutcome.COMPLETED
    assert result.counts.total(Outcome.DELETED) == 0
    return result.counts.total(Outcome.CLEANED)


@shared_with_stock
def test_late_writes_and_checkpoints_go_in_the_next_sweep(lab: Lab) -> None:
    heads = delete_by_sweep(lab, "a", "b", "c")
    lab.clock.advance(1)
    write_on(lab, "a", heads["a"])
    (late,) = stock_put(lab, "b", parent=heads["b"])
    stock_put(lab, "b", parent=late)
    assert cleaned(lab) == 2
    assert lab.rows_of("a") == lab.rows_of("b") == lab.rows_of("c") == {}


def test_they_are_looked_for_once_more_after_a_day_and_not_again(lab: Lab) -> None:
    heads = delete_by_sweep(lab, "t")
    assert cleaned(lab) == 0
    write_on(lab, "t", heads["t"])
    lab.clock.advance(A_DAY - 1)
    assert cleaned(lab) == 0
    assert lab.rows_of("t") != {}
    lab.clock.advance(1)
    assert cleaned(lab) == 1
    assert lab.rows_of("t") == {}
    write_on(lab, "t", heads["t"])
    lab.clock.advance(A_DAY)
    assert cleaned(lab) == 0
    assert lab.rows_of("t") != {}


def test_a_write_without_its_checkpoint_has_a_grace(lab: Lab) -> None:
    delete_by_sweep(lab, "t")
    lab.clock.advance(5)
    lab.write_late("t")
    lab.clock.advance(59)
    assert cleaned(lab) == 0
    assert lab.rows_of("t") != {}
    lab.clock.advance(A_DAY)
    assert cleaned(lab) == 1
    assert lab.rows_of("t") == {}


@shared_with_stock
def test_a_new_conversation_under_the_same_id_is_left_alone(lab: Lab) -> None:
    heads = delete_by_sweep(lab, "t")
    lab.clock.advance(1)
    (first,) = stock_put(lab, "t")
    stock_put(lab, "t", parent=first, interrupted=True)
    stock_put(lab, "t", namespace="sub")
    new = lab.rows_of("t")
    assert cleaned(lab) == 0
    assert lab.rows_of("t") == new
    write_on(lab, "t", heads["t"])
    stock_put(lab, "t", parent=heads["t"])
    assert lab.rows_of("t") != new
    lab.clock.advance(1)
    lab.store.ledger.start(["t"])
    new = {**new, "retention_threads": lab.rows_of("t")["retention_threads"]}
    lab.clock.advance(A_DAY)
    result = lab.run(sweeps_nothing(lab))
    assert result.counts.total(Outcome.CLEANED) == 1
    assert without_blobs(lab.rows_of("t")) == without_blobs(new)
    assert lab.saver.get_tuple(config_of("t", "", first)) is not None
    if lab.store.provider == "postgres":
        assert lab.rows_of("t") == new


def sweeps_nothing(lab: Lab) -> Any:
    """A filter that claims all threads."""
    from tests.contract.lab import Claims

    return Claims(*lab.threads())


def without_blobs(rows: Tables) -> Tables:
    """Rows without memory's blobs, which go with the last checkpoint only."""
    return {name: some for name, some in rows.items() if name != "blobs"}


@shared_with_stock
def test_a_late_checkpoint_leaves_the_blobs_that_a_new_conversation_shares(lab: Lab) -> None:
    heads = delete_by_sweep(lab, "t")
    lab.clock.advance(1)
    stock_put(lab, "t", parent=heads["t"])
    (new,) = stock_put(lab, "t")
    assert cleaned(lab) == 1
    found = lab.saver.get_tuple(config_of("t"))
    assert found is not None
    assert found.checkpoint["id"] == new
    assert found.checkpoint["channel_values"] == {"messages": ["message of step 0"], "count": 0}


def test_a_thread_that_was_cleaned_does_not_count_as_swept(lab: Lab) -> None:
    heads = delete_by_sweep(lab, "t")
    write_on(lab, "t", heads["t"])
    result = lab.run().to_json()
    assert (result["swept_count"], result["planned_count"]) == (0, 0)
    assert lab.store.runs.totals()["deleted:finished"] == 1
    assert lab.store.runs.totals()["cleaned:finished"] == 1


def test_a_held_thread_keeps_its_late_writes(lab: Lab) -> None:
    heads = delete_by_sweep(lab, "t")
    write_on(lab, "t", heads["t"])
    lab.hold("t")
    before = lab.rows_of("t")
    assert cleaned(lab) == 0
    assert lab.rows_of("t") == before


def test_no_more_tombstones_are_looked_at_in_a_sweep_than_the_limit(lab: Lab) -> None:
    for thread_id in ("a", "b", "c"):
        lab.seed(thread_id, 30, marked=20)
    lab.run(batch_size=1)
    for expected in (2, 1, 0):
        queue = Queue()
        sweep = lab.sweep(dispatch=queue, late_batches=2)
        result = open_run(sweep, f"late-{expected}", allow_over_limit=False)
        assert len(queue.sent) == expected
        assert (result is None) == (expected > 0)
        for run_id, number in queue.sent:
            work_on(sweep, run_id, number)
        finish(sweep, f"late-{expected}")


def test_a_look_that_was_cancelled_is_made_by_the_next_sweep(lab: Lab) -> None:
    heads = delete_by_sweep(lab, "t")
    write_on(lab, "t", heads["t"])
    sweep = lab.sweep(dispatch=Queue())
    assert open_run(sweep, "r", allow_over_limit=False) is None
    assert lab.store.runs.stop("r", RunOutcome.PARTIAL, "stopped", lab.clock.now)
    assert finish(sweep, "r") is not None
    assert cleaned(lab) == 1


def test_a_foreign_head_leaves_a_later_thread_alone(lab: Lab) -> None:
    """Its ids do not sort by time: nothing can be told apart, so nothing goes."""
    lab.put_foreign("t", "zzz", "soon")
    lab.at(-20, lambda: lab.store.ledger.mark_finished(["t"]))
    assert lab.run().counts.values == {"deleted:finished": 1}
    stock_put(lab, "t")
    write_on(lab, "t", "zzz")
    before = lab.rows_of("t")
    assert cleaned(lab) == 0
    assert lab.rows_of("t") == before
