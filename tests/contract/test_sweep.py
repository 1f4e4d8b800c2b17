"""A sweep from end to end: what goes, what stays, and what the result says of each."""

from itertools import chain

import psycopg
import pytest

from retention import RetentionPolicy, ThreadRetention
from retention.filters import FlowsEngineFilter
from retention.runs import Outcome, RunOutcome
from stores.postgres.locks import THREAD_SEED
from tests.contract.direct_redis import DirectRedis
from tests.contract.lab import (
    NOW,
    Claims,
    Lab,
    drops_waiting,
    in_sql,
    keeps_entries_apart,
    on_postgres,
    on_redis,
)
from tests.seeding import seed_thread, seed_threads

_SKIPPED = {
    "memory": "a thread in memory lives as long as its process",
    "redis": (
        "Redis drops a waiting thread by itself: its waiting retention is its keys' time to live"
    ),
}


def test_threads_past_the_finished_horizon_go_on_every_store(lab: Lab) -> None:
    lab.seed("due", 30, marked=20)
    lab.seed("not-due", 30, marked=9)
    lab.seed("unmarked", 30)
    result = lab.run()
    assert result.outcome is RunOutcome.COMPLETED
    assert result.to_json()["finished_swept"] == ["due"]
    assert lab.threads() == {"not-due", "unmarked"}


@in_sql
def test_threads_past_the_waiting_horizon_go(lab: Lab) -> None:
    lab.seed("old", 61)
    lab.seed("young", 59)
    lab.seed("started", 90)
    lab.at(-59, lambda: lab.store.ledger.start(["started"]))
    lab.seed("started-long-ago", 90)
    lab.at(-61, lambda: lab.store.ledger.start(["started-long-ago"]))
    result = lab.run().to_json()
    assert sorted(result["waiting_swept"]) == ["old", "started-long-ago"]
    assert (result["finished_count"], result["waiting_count"], result["skipped"]) == (0, 2, None)
    assert lab.threads() == {"young", "started"}


@drops_waiting
def test_where_waiting_threads_go_by_themselves_only_finished_ones_are_swept(
    lab: Lab,
) -> None:
    lab.seed("old", 90)
    lab.seed("due", 90, marked=20)
    result = lab.run().to_json()
    assert (result["swept_count"], result["finished_swept"]) == (1, ["due"])
    assert result["skipped"] == _SKIPPED[lab.store.provider]
    assert lab.preview().to_json()["skipped"] == result["skipped"]
    assert lab.threads() == {"old"}


def test_a_deleted_thread_leaves_no_row_and_its_neighbours_lose_none(lab: Lab) -> None:
    """I2"""
    neighbours = ["", "a", "aa", "a:", "A", "*", "%", "b"]
    for thread_id in neighbours:
        lab.seed(thread_id, 30, 3)
        lab.seed(thread_id, 30, namespace="sub:1", interrupted=True)
    lab.store.ledger.start(neighbours, ThreadRetention(50, 5))
    before = {thread_id: lab.rows_of(thread_id) for thread_id in neighbours}
    assert all(len(rows) >= 3 for rows in before.values())
    for gone in ("a ", "a%", "ab", "_"):
        lab.seed(gone, 30, 3, marked=20)
        lab.seed(gone, 30, namespace="sub:1", interrupted=True)
    lab.clock.advance(5)
    assert lab.run().counts.total(Outcome.DELETED) == 4
    for gone in ("a ", "a%", "ab", "_"):
        assert lab.rows_of(gone) == {}
    assert {thread_id: lab.rows_of(thread_id) for thread_id in neighbours} == before


@in_sql
def test_every_reason_to_leave_a_thread_alone_is_counted(lab: Lab) -> None:
    lab.seed("old", 90)
    lab.seed("parked", 90, interrupted=True)
    lab.seed("parked-and-due", 90, marked=20, interrupted=True)
    lab.seed("claimed", 90)
    lab.seed("held", 90)
    lab.hold("held")
    lab.seed("held-due", 90, marked=20)
    lab.hold("held-due")
    lab.seed("held-once", 90)
    lab.hold("held-once", lapsed=60)
    lab.put_foreign("undatable", "zzz", "soon")
    result = lab.run(FlowsEngineFilter(lab.store), Claims("claimed", "parked")).to_json()
    assert result["outcome"] == "completed"
    assert sorted(result["waiting_swept"]) == ["held-once", "old"]
    assert sorted(result["spared"], key=lambda entry: str(entry["thread_id"])) == [
        {"thread_id": "claimed", "horizon": "waiting", "owner": "tests"},
        {"thread_id": "parked", "horizon": "waiting", "owner": "flows-engine"},
        {"thread_id": "parked-and-due", "horizon": "finished", "owner": "flows-engine"},
    ]
    assert result["undatable"] == ["undatable"]
    counts = ("swept", "spared", "held", "undatable", "failed", "busy", "restarted", "planned")
    assert [result[f"{name}_count"] for name in counts] == [2, 3, 2, 1, 0, 0, 0, 8]


def test_a_spared_thread_keeps_its_mark_and_is_asked_about_again(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    before = lab.rows_of("t")
    assert lab.run(Claims("t")).counts.total(Outcome.SPARED) == 1
    assert lab.rows_of("t") == before
    assert lab.run().counts.total(Outcome.DELETED) == 1


def test_each_filter_is_asked_once_a_batch_about_all_its_threads(lab: Lab) -> None:
    for number in range(5):
        lab.seed(f"t{number}", 30, marked=20)
    one, other = Claims(owner="one"), Claims(owner="other")
    lab.run(one, other, batch_size=2)
    assert one.asked == other.asked
    assert [len(asked) for asked in one.asked] == [2, 2, 1]
    assert sorted(chain(*one.asked)) == ["t0", "t1", "t2", "t3", "t4"]


def test_an_undatable_thread_goes_by_its_mark_all_the_same(lab: Lab) -> None:
    lab.put_foreign("t", "zzz", "soon")
    lab.at(-20, lambda: lab.store.ledger.mark_finished(["t"]))
    assert lab.run().counts.total(Outcome.DELETED) == 1
    assert lab.rows_of("t") == {}


@in_sql
def test_a_declared_waiting_retention_ends_a_thread_earlier(lab: Lab) -> None:
    for thread_id, started in (("over", 31), ("not-over", 29), ("written", 31)):
        lab.seed(thread_id, 40)
        lab.at(
            -started,
            lambda t=thread_id: lab.store.ledger.start([t], ThreadRetention(30)),  # type: ignore[misc]
        )
    lab.seed("written", 10)
    assert lab.run().to_json()["waiting_swept"] == ["over"]
    assert lab.threads() == {"not-over", "written"}


@in_sql
@pytest.mark.parametrize("ts_age", [35, 90])
def test_a_thread_found_by_its_declaration_and_by_its_head_is_planned_once(
    lab: Lab, ts_age: int
) -> None:
    lab.put_foreign("foreign", "zzz", lab.ago(ts_age).isoformat())
    lab.seed("old", 90)
    lab.at(-31, lambda: lab.store.ledger.start(["foreign", "old"], ThreadRetention(30)))
    result = lab.run().to_json()
    assert result["planned_count"] == 2
    assert sorted([*result["waiting_swept"], *result["undatable"]]) == ["foreign", "old"]


@in_sql
def test_the_platform_value_in_force_at_the_sweep_caps_an_older_declaration(lab: Lab) -> None:
    lab.seed("t", 31)
    lab.at(-31, lambda: lab.store.ledger.start(["t"], ThreadRetention(50)))
    assert lab.run().counts.total(Outcome.DELETED) == 0
    assert lab.run(policy=RetentionPolicy(30, 10)).to_json()["waiting_swept"] == ["t"]


def test_a_thread_restarted_after_the_plan_keeps_everything(lab: Lab) -> None:
    """I1: the filter stands between the plan and the delete."""
    lab.seed("restarted", 90, marked=20)
    lab.seed("gone", 90, marked=20)

    class Restarts(Claims):
        def claims(self, thread_ids: object) -> list[str]:
            with lab.other() as store:
                store.ledger.start(["restarted"])
            return []

    before = lab.rows_of("restarted")["checkpoints"]
    result = lab.run(Restarts())
    assert result.counts.values == {"deleted:finished": 1, "restarted:finished": 1}
    assert lab.rows_of("restarted")["checkpoints"] == before
    assert lab.store.ledger.entries(["restarted"])["restarted"].started_at == NOW


@in_sql
def test_a_thread_written_to_after_the_plan_keeps_everything(lab: Lab) -> None:
    lab.seed("written", 90)

    class Writes(Claims):
        def claims(self, thread_ids: object) -> list[str]:
            lab.seed("written", 1)
            return []

    assert lab.run(Writes()).counts.values == {"restarted:waiting": 1}
    assert len(lab.rows_of("written")["checkpoints"]) == 4


def test_a_write_after_a_mark_puts_off_its_due_time(lab: Lab) -> None:
    ids = lab.seed("t", 30, marked=20)
    lab.seed("t", 9, 1, parent=ids[-1])
    assert lab.run().planned == 0
    lab.clock.advance(1)
    assert lab.run().counts.values == {"deleted:finished": 1}


@in_sql
def test_a_declaration_of_a_thread_that_never_came_to_be_is_cleared(lab: Lab) -> None:
    lab.at(-31, lambda: lab.store.ledger.start(["t"], ThreadRetention(30)))
    assert lab.run().counts.values == {"gone:waiting": 1}
    assert lab.rows_of("t") == {}


def test_a_mark_made_again_after_the_plan_counts(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)

    class Marks(Claims):
        def claims(self, thread_ids: object) -> list[str]:
            lab.store.ledger.mark_finished(["t"])
            return []

    assert lab.run(Marks()).counts.values == {"restarted:finished": 1}
    assert lab.store.ledger.entries(["t"])["t"].marked_at == NOW


@in_sql
def test_a_mark_taken_back_after_the_plan_leaves_the_thread_for_the_next_sweep(lab: Lab) -> None:
    lab.seed("t", 90, marked=20)

    class Clears(Claims):
        def claims(self, thread_ids: object) -> list[str]:
            lab.at(-61, lambda: lab.store.ledger.start(["t"]))
            return []

    assert lab.run(Clears()).counts.values == {"restarted:finished": 1}
    assert lab.run().counts.values == {"deleted:waiting": 1}


@keeps_entries_apart
def test_a_mark_whose_thread_went_another_way_is_cleared(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    lab.saver.delete_thread("t")
    result = lab.run()
    assert result.outcome is RunOutcome.COMPLETED
    assert (result.counts.values, result.to_json()["swept_count"]) == ({"gone:finished": 1}, 0)
    assert lab.rows_of("t") == {}


@on_redis
def test_a_marked_thread_that_expired_is_planned_no_more_and_leaves_the_indexes(lab: Lab) -> None:
    assert isinstance(lab.direct, DirectRedis)
    lab.seed("t", 30, marked=20)
    lab.seed("u", 30)
    lab.direct.expire("t")
    assert set(lab.rows_of("t")) == {"live", "expiry", "marks"}
    result = lab.run()
    assert (result.outcome, result.planned) == (RunOutcome.COMPLETED, 0)
    assert lab.rows_of("t") == {}
    assert lab.threads() == {"u"}


@on_postgres
def test_a_thread_that_another_transaction_has_locked_is_busy(lab: Lab) -> None:
    lab.seed("busy", 90)
    lab.seed("gone", 90)
    with psycopg.connect(lab.address) as connection:
        connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('busy', %s))", [THREAD_SEED]
        )
        assert lab.run().counts.values == {"busy:waiting": 1, "deleted:waiting": 1}
    assert lab.threads() == {"busy"}
    assert lab.run().counts.values["deleted:waiting"] == 1


def test_lists_are_cut_and_counts_are_not(lab: Lab) -> None:
    for thread_id in seed_threads(lab.saver, "t", 7, lab.ago(30)):
        lab.at(-20, lambda t=thread_id: lab.store.ledger.mark_finished([t]))  # type: ignore[misc]
    claimed = {"t-0001", "t-0005", "t-0006"}
    result = lab.run(Claims(*claimed), result_threads=2, batch_size=3).to_json()
    assert len(set(result["finished_swept"]) - claimed) == len(result["finished_swept"]) == 2
    spared = [entry["thread_id"] for entry in result["spared"]]
    assert len(claimed & set(spared)) == len(spared) == 2
    assert (result["truncated"], result["finished_count"], result["spared_count"]) == (True, 4, 3)


def test_a_sweep_with_nothing_due_completes(lab: Lab) -> None:
    lab.seed("t", 5)
    result = lab.run().to_json()
    assert (result["outcome"], result["planned_count"]) == ("completed", 0)


@in_sql
def test_threads_that_a_stock_saver_wrote_are_swept(lab: Lab) -> None:
    with lab.stock() as saver:
        seed_thread(saver, "old", lab.ago(90), 3)
        seed_thread(saver, "young", lab.ago(30), 3)
    assert lab.run().to_json()["waiting_swept"] == ["old"]
    assert lab.rows_of("old") == {}
    assert lab.threads() == {"young"}
