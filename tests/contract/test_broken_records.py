"""A row of the run log that somebody broke stops no other sweep, and is said."""

import psycopg
import pytest

from retention.errors import StoreError
from retention.runs import Outcome, RunOutcome
from retention.sweep import LocalDispatch, open_run, run_sweep
from tests.contract.lab import Lab, on_disk
from tests.seeding import seed_threads

pytestmark = on_disk

GARBAGE = ("no JSON", "{}", "[1]", '[["t","bogus",null]]', '[["x","deleted",null,null]]', '"text"')


def planned(lab: Lab) -> str:
    """A run whose two batches nobody has worked on yet."""
    thread_ids = seed_threads(lab.saver, "t", 4, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(thread_ids))
    assert open_run(lab.sweep(batch_size=2), "broken", allow_over_limit=False) is None
    return "broken"


@pytest.mark.parametrize("text", GARBAGE)
@pytest.mark.parametrize("column", ["candidates", "outcomes", "counts"])
def test_a_batch_that_cannot_be_read_holds_up_no_sweep(lab: Lab, column: str, text: str) -> None:
    run_id = planned(lab)
    lab.broken.break_batches(column, text)
    lab.clock.advance(60)
    local = LocalDispatch()
    result = run_sweep(lab.sweep(dispatch=local, batch_size=2), local, "next")
    assert result.outcome is RunOutcome.COMPLETED
    closed = lab.store.runs.get(run_id)
    assert closed is not None
    assert closed.closed_at is not None
    assert lab.threads() == set()


def test_an_outcome_of_no_candidate_counts_nothing(lab: Lab) -> None:
    planned(lab)
    lab.broken.break_batches("outcomes", '[[99, "deleted", null, null]]')
    lab.clock.advance(60)
    local = LocalDispatch()
    run_sweep(lab.sweep(dispatch=local, batch_size=2), local, "next")
    closed = lab.store.runs.get("broken")
    assert closed is not None
    assert closed.counts.total(Outcome.DELETED) == 4


@pytest.mark.parametrize(("column", "text"), [("state", "zombie"), ("waiting_minutes", "-1")])
def test_a_run_that_cannot_be_read_is_named(lab: Lab, column: str, text: str) -> None:
    planned(lab)
    lab.broken.break_runs(column, text)
    with pytest.raises(StoreError, match=r"record of run 'broken' in \S+ cannot be read"):
        lab.store.runs.live()


def test_an_id_that_goes_on_after_a_nul_is_no_other_thread(lab: Lab) -> None:
    """PostgreSQL keeps no such id; SQLite's own JSON ends a text there."""
    lab.seed("abc", minutes=1)
    if lab.store.provider == "postgres":
        with pytest.raises(psycopg.DataError, match="NUL"):
            lab.seed("abc\0def")
        return
    lab.seed("abc\0def", marked=20)
    result = lab.run()
    assert result.counts.values == {"deleted:finished": 1}
    assert lab.threads() == {"abc"}
    late = lab.write_late("abc\0def", minutes=90)
    assert late
    assert lab.run().counts.values == {"cleaned:finished": 1}
    assert lab.rows_of("abc\0def") == {}
