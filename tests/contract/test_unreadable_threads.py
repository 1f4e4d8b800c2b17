"""One thread whose entry in the ledger cannot be read: it stays, the others go, and it is named."""

import re
from typing import Any

import pytest

from retention import ThreadRetention
from retention.errors import StoreError
from retention.explaining import explain
from retention.filters import FlowsEngineFilter
from retention.operator import OperatorPolicy
from retention.runs import RunOutcome
from retention.sweep import SweepResult
from retention.threads import Ended, Hold, Verdict
from tests.contract.lab import Lab, in_sql, lists_waiting, on_postgres, on_sqlite
from tests.seeding import seed_threads

#: How the line goes on for each store, behind the name of where it lies.
LINE = r"what \S+ says of thread 'broken' cannot be read \(.+\): mend that (row|key), or delete it"


def broken(lab: Lab, **how: Any) -> None:
    """A due thread that no store can read, with its neighbours."""
    for thread_id in ("a", "broken", "z"):
        lab.seed(thread_id, **how)
    lab.direct.declare("broken", -5)


def failed(result: SweepResult) -> dict[str, str]:
    """The error of each thread that failed."""
    return {entry["thread_id"]: entry["error"] for entry in result.to_json()["failed"]}


@pytest.mark.parametrize("batch_size", [1, 2, 500])
def test_a_thread_that_cannot_be_read_stays_and_the_others_go(lab: Lab, batch_size: int) -> None:
    """I5"""
    broken(lab, marked=20)
    before = lab.rows_of("broken")
    result = lab.run(batch_size=batch_size)
    assert result.outcome is RunOutcome.PARTIAL
    assert result.counts.values == {"deleted:finished": 2, "failed:finished": 1}
    assert re.search(LINE, failed(result)["broken"])
    assert lab.rows_of("broken") == before
    assert lab.threads() == {"broken"}
    assert lab.store.runs.live() is None


def test_each_sweep_names_it_until_it_is_mended_and_then_it_goes(lab: Lab) -> None:
    """I5"""
    broken(lab, marked=20)
    lab.run()
    assert set(failed(lab.run())) == {"broken"}
    lab.direct.declare("broken", None)
    result = lab.run()
    assert result.outcome is RunOutcome.COMPLETED
    assert result.counts.values == {"deleted:finished": 1}
    assert lab.threads() == set()


def test_a_dry_run_says_the_same_and_changes_nothing(lab: Lab) -> None:
    """I7"""
    broken(lab, marked=20)
    before = lab.dump()
    said = lab.preview()
    assert lab.dump() == before
    done = lab.run()
    assert (said.outcome, said.counts, said.planned) == (done.outcome, done.counts, done.planned)
    assert failed(said) == failed(done)


def test_filters_and_policies_are_asked_beside_it(lab: Lab) -> None:
    broken(lab, marked=20)
    lab.seed("parked", marked=20, interrupted=True)
    result = lab.run(
        FlowsEngineFilter(lab.worker), policies=(OperatorPolicy("short", "b", finished_minutes=5),)
    )
    assert set(failed(result)) == {"broken"}
    assert result.counts.values == {
        "deleted:finished": 2,
        "failed:finished": 1,
        "spared:finished:flows-engine": 1,
    }


@in_sql
def test_a_waiting_thread_that_cannot_be_read_is_named_once(lab: Lab) -> None:
    """Three listings have it: by its due time, by its declaration and by its head."""
    broken(lab, minutes=90)
    lab.at(-80, lambda: lab.store.ledger.start(["broken"], ThreadRetention(30, 5)))
    lab.at(-70, lambda: lab.store.ledger.mark_finished(["broken"]))
    lab.direct.declare("broken", -5)
    result = lab.run()
    assert result.counts.values == {"deleted:waiting": 2, "failed:finished": 1}
    assert set(failed(result)) == {"broken"}


@lists_waiting
def test_a_started_thread_that_cannot_be_read_is_named(lab: Lab) -> None:
    lab.seed("broken", 90)
    lab.at(-80, lambda: lab.store.ledger.start(["broken"], ThreadRetention(30)))
    lab.direct.declare("broken", -5)
    named = set() if lab.store.waiting_skipped else {"broken"}
    assert set(failed(lab.run())) == named
    assert lab.threads() == {"broken"}


def test_one_that_breaks_after_the_plan_fails_alone(lab: Lab) -> None:
    thread_ids = seed_threads(lab.saver, "t", 4, lab.ago(30))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(thread_ids))

    class Breaking:
        owner = "breaking"

        def claims(self, thread_ids: object) -> list[str]:
            lab.direct.declare("t-0002", -5)
            return []

    result = lab.run(Breaking())
    assert result.counts.values == {"deleted:finished": 3, "failed:finished": 1}
    assert lab.threads() == {"t-0002"}


def test_whoever_asks_for_it_by_name_is_told_the_line(lab: Lab) -> None:
    """Whether it is held cannot be read: so nothing erases it either."""
    broken(lab, marked=20)
    before = lab.dump()
    ledger, deleter = lab.store.ledger, lab.store.deleter
    for asked in (
        lambda: ledger.entries(["a", "broken"]),
        lambda: ledger.hold(["broken"], Hold("audit")),
        lambda: ledger.release(["broken"]),
        lambda: ledger.end("broken", Ended(lab.clock(), "me", "over"), lambda state: None),  # type: ignore[attr-defined]
        lambda: deleter.erase("broken", lambda facts: True),  # type: ignore[attr-defined]
    ):
        with pytest.raises(StoreError, match=LINE):
            asked()
    assert lab.dump() == before


def test_the_explanation_is_the_line(lab: Lab) -> None:
    broken(lab, marked=20)
    found = explain(lab.sweep(), "broken")
    assert found is not None
    assert re.fullmatch(f"no sweep deletes it: .*{LINE}.*", found.sentence)
    assert not found.is_going
    assert found.to_json()["verdict"] == Verdict.UNREADABLE


@in_sql
def test_late_writes_under_an_id_that_cannot_be_read_are_left_and_named(lab: Lab) -> None:
    lab.seed("t", marked=20)
    lab.run()
    lab.write_late("t", minutes=90)
    lab.sql.execute("INSERT INTO retention_threads (thread_id) VALUES ('t')")
    lab.direct.declare("t", -5)
    lab.clock.advance(1)
    result = lab.run()
    assert result.outcome is RunOutcome.PARTIAL
    assert "thread 't' cannot be read" in failed(result)["t"]


@on_sqlite
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("due_at", "1junk"),
        ("due_at", "2026-01-01T00:00:00"),
        ("hold_until", "junk"),
        ("declared_finished_minutes", "many"),
    ],
)
def test_a_text_that_says_nothing_stops_no_other_thread(lab: Lab, column: str, value: str) -> None:
    """One that sorts before now is listed as due; pages go on behind it."""
    for thread_id in ("a", "broken", "z"):
        lab.seed(thread_id, marked=20)
    lab.sql.execute(
        f"UPDATE retention_threads SET hold_reason = 'audit', {column} = '{value}' "
        "WHERE thread_id = 'broken'"
    )
    result = lab.run(batch_size=1)
    assert set(failed(result)) == {"broken"}
    assert lab.threads() == {"broken"}


@on_postgres
@pytest.mark.parametrize("column", ["started_at", "hold_until"])
def test_an_instant_beyond_all_dates_stops_no_other_thread(lab: Lab, column: str) -> None:
    for thread_id in ("a", "broken", "z"):
        lab.seed(thread_id, marked=20)
    word = f"UPDATE retention_threads SET {column} = {{}} WHERE thread_id = 'broken'"
    lab.sql.execute(word.format("'infinity'"))
    assert set(failed(lab.run())) == {"broken"}
    lab.sql.execute(word.format("NULL"))
    assert lab.threads() == {"broken"}
    assert lab.run().outcome is RunOutcome.COMPLETED
