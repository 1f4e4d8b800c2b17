"""I7: a dry run answers with what a run at that instant does, and changes nothing."""

from typing import Any

import pytest

from retention import ThreadRetention
from retention.filters import FlowsEngineFilter
from retention.runs import RunOutcome
from retention.sweep import open_run
from stores import Access
from tests.contract.lab import Claims, Lab, in_sql, on_disk
from tests.contract.pool import Queue
from tests.contract.test_failing_filters import FailsAt


def seed_every_case(lab: Lab) -> None:
    """Threads with every outcome that facts and filters alone decide."""
    lab.seed("due", 90, marked=20)
    lab.seed("not-due", 30, marked=5)
    lab.seed("old", 90)
    lab.seed("young", 30)
    lab.seed("restarted", 90)
    lab.store.ledger.start(["restarted"])
    lab.seed("declared", 40)
    lab.at(-31, lambda: lab.store.ledger.start(["declared"], ThreadRetention(30)))
    lab.seed("parked", 90, interrupted=True)
    lab.seed("claimed", 90, marked=20)
    lab.seed("gone", 30, marked=20)
    lab.saver.delete_thread("gone")
    lab.put_foreign("undatable", "zzz", "soon")
    lab.seed("held", 90, marked=20)
    lab.hold("held")
    lab.seed("held-once", 90, marked=20)
    lab.hold("held-once", lapsed=5)


@pytest.mark.parametrize("batch_size", [1, 2, 500])
@pytest.mark.parametrize("result_threads", [1, 1000])
def test_a_dry_run_answers_as_a_run_does_and_changes_nothing(
    lab: Lab, batch_size: int, result_threads: int
) -> None:
    seed_every_case(lab)
    filters = (FlowsEngineFilter(lab.store), Claims("claimed"))
    how: dict[str, Any] = {"batch_size": batch_size, "result_threads": result_threads}
    before = lab.dump()
    preview = lab.preview(*filters, **how).to_json()
    assert lab.dump() == before
    run = lab.run(*filters, **how).to_json()
    assert preview.pop("dry_run") is True
    assert run.pop("dry_run") is False
    assert preview.pop("run_id") != run.pop("run_id")
    assert preview == run
    assert run["swept_count"] == (4 if lab.store.waiting_skipped is None else 2)


@on_disk
def test_a_dry_run_needs_no_right_to_write(lab: Lab) -> None:
    seed_every_case(lab)
    expected = lab.preview().to_json()
    with lab.other(access=Access.READ) as store:
        assert lab.preview(store=store).to_json() == expected


@in_sql
def test_a_dry_run_does_not_need_the_ledger_to_be_made(lab: Lab) -> None:
    lab.seed("old", 90)
    lab.seed("young", 30)
    with lab.sql.without_own_tables(), lab.other(access=Access.READ) as store:
        assert lab.preview(store=store).to_json()["waiting_swept"] == ["old"]
        assert store.runs.live() is None
        assert store.runs.history(10) == []


def test_a_dry_run_beside_a_live_run_is_not_locked_out(lab: Lab) -> None:
    lab.seed("due", 30, marked=20)
    assert open_run(lab.sweep(dispatch=Queue()), "live", allow_over_limit=False) is None
    before = lab.dump()
    assert lab.preview().to_json()["finished_swept"] == ["due"]
    assert lab.dump() == before


def test_a_filter_that_fails_fails_a_dry_run_too(lab: Lab) -> None:
    class Breaks(Claims):
        def claims(self, thread_ids: object) -> list[str]:
            raise RuntimeError("no answer")

    lab.seed("due", 30, marked=20)
    result = lab.preview(Breaks())
    assert result.outcome is RunOutcome.FAILED
    assert result.reason == "live-thread filter 'tests' failed: RuntimeError: no answer"
    assert result.to_json()["swept_count"] == 0


def test_a_filter_that_fails_at_a_later_batch_leaves_a_dry_run_where_it_leaves_a_run(
    lab: Lab,
) -> None:
    for thread_id in ("a", "b", "c", "d"):
        lab.seed(thread_id, 30, marked=20)
    how: dict[str, Any] = {"batch_size": 1}
    preview = lab.preview(FailsAt(2, OSError("down")), **how).to_json()
    run = lab.run(FailsAt(2, OSError("down")), **how).to_json()
    assert {**preview, "dry_run": False, "run_id": run["run_id"]} == run
    assert (run["outcome"], run["swept_count"], run["cancelled_count"]) == ("failed", 1, 3)
