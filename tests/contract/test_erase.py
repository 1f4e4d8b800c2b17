"""Erase: all of a thread goes now, with a receipt that counts what was held and what is left."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from retention import ThreadRetention
from retention.erasing import ErasureOutcome, erase, holdings
from retention.errors import ConfigurationError
from retention.sweep import Sweep, repair
from retention.threads import Hold
from tests.contract.direct import settled
from tests.contract.lab import NOW, Lab, in_sql, on_postgres, on_redis, parks
from tests.contract.test_ending import ended
from tests.contract.test_ledger import ODD_IDS
from tests.seeding import seed_thread

#: What each store counts of a thread with two checkpoints, a start and a mark.
HELD = {
    "memory": {"checkpoints": 2, "writes": 2, "blobs": 4, "retention_threads": 1},
    "sqlite": {"checkpoints": 2, "writes": 2, "retention_threads": 1},
    "postgres": {
        "checkpoints": 2,
        "checkpoint_blobs": 2,
        "checkpoint_writes": 2,
        "retention_threads": 1,
        "retention_asks": 0,
        "retention_barriers": 0,
    },
}


def test_an_erased_thread_leaves_nothing_and_its_neighbours_everything(lab: Lab) -> None:
    lab.seed("u", 0, marked=0)
    neighbours = lab.dump()
    lab.store.ledger.start(["t"], ThreadRetention(30))
    lab.seed("t", 0, interrupted=True)
    lab.seed("t", 0, namespace="child:1")
    lab.store.ledger.mark_finished(["t"])
    receipt = erase(lab.sweep(), "t", "ops")
    assert receipt.outcome is ErasureOutcome.ERASED
    # No hook is on: so nobody is to be told of it any more.
    repair(lab.sweep())
    assert lab.dump() == neighbours


def test_the_receipt_counts_what_each_table_held_and_that_nothing_is_left(lab: Lab) -> None:
    lab.store.ledger.start(["t"])
    lab.seed("t", 0, marked=0)
    counted = holdings(lab.sweep(), "t")
    assert {table: n for table, n in counted.items() if n} == {
        table: n for table, n in HELD.get(lab.store.provider, counted).items() if n
    }
    receipt = erase(lab.sweep(), "t", "ops")
    assert receipt.to_json() == {
        "thread_id": "t",
        "outcome": "erased",
        "store": lab.store.provider,
        "erased_at": "2026-06-01T12:00:00+00:00",
        "by": "ops",
        "tables": {table: {"held": n, "left": 0} for table, n in counted.items()},
        "removed_late": 0,
        "left": 0,
        "hold": None,
        "run_id": receipt.run_id,
        "hooks": {},
    }
    assert not any(holdings(lab.sweep(), "t").values())


@on_redis
def test_on_redis_the_receipt_counts_keys_and_indexes(lab: Lab) -> None:
    lab.store.ledger.start(["t"])
    lab.seed("t", 0, marked=0)
    counted = holdings(lab.sweep(), "t")
    named = {"live": 1, "expiry": 1, "marks": 1, "holds": 0, "asks": 0}
    assert {name: counted[name] for name in named} == named
    assert (counted["checkpoints"], counted["ids"]) == (2, 4)
    assert all(counted[name] for name in ("meta", "blobs", "writes"))


@pytest.mark.parametrize("until", [None, 5])
def test_a_hold_keeps_the_thread_and_the_receipt_says_whose_it_is(
    lab: Lab, until: float | None
) -> None:
    lab.seed("t", 90, marked=80)
    end = None if until is None else NOW + timedelta(minutes=until)
    lab.store.ledger.hold(["t"], Hold("case 7", end, "legal"))
    before = lab.dump()
    receipt = erase(lab.sweep(), "t", "ops")
    assert (receipt.outcome, receipt.hold) == (
        ErasureOutcome.HELD,
        Hold("case 7", end, "legal", NOW),
    )
    assert receipt.to_json()["hold"] == {
        "reason": "case 7",
        "until": end and end.isoformat(),
        "by": "legal",
        "at": NOW.isoformat(),
        "on": True,
    }
    assert lab.dump() == before


def test_a_lapsed_hold_keeps_nothing(lab: Lab) -> None:
    lab.seed("t", 0)
    lab.hold("t", lapsed=1)
    assert erase(lab.sweep(), "t", "ops").outcome is ErasureOutcome.ERASED
    assert lab.rows_of("t") == {}


def test_an_unknown_thread_is_said_to_be_none(lab: Lab) -> None:
    lab.seed("u", 0)
    before = lab.dump()
    receipt = erase(lab.sweep(), "t", "ops")
    assert receipt.outcome is ErasureOutcome.UNKNOWN
    assert receipt.to_json()["left"] == 0
    assert lab.dump() == before


def test_writes_without_a_checkpoint_and_an_entry_without_either_are_erased(lab: Lab) -> None:
    lab.write_late("writes")
    lab.store.ledger.start(["entry"])
    for thread_id in ("writes", "entry"):
        assert erase(lab.sweep(), thread_id, "ops").outcome is ErasureOutcome.ERASED
        assert lab.rows_of(thread_id) == {}


def test_an_ended_thread_can_be_erased_and_its_id_is_free_then(lab: Lab) -> None:
    lab.seed("t", 30)
    ended(lab)
    assert erase(lab.sweep(), "t", "ops").outcome is ErasureOutcome.ERASED
    lab.store.ledger.start(["t"])
    assert lab.seed("t", 0)


def test_an_id_of_unknown_age_is_erased_like_any_other(lab: Lab) -> None:
    lab.put_foreign("t", "zzz", "not a time")
    assert erase(lab.sweep(), "t", "ops").outcome is ErasureOutcome.ERASED
    assert lab.rows_of("t") == {}


@pytest.mark.parametrize("thread_id", ODD_IDS)
def test_any_id_can_be_erased(lab: Lab, thread_id: str) -> None:
    lab.seed("neighbour", 0)
    before = lab.dump()
    lab.seed(thread_id, 0)
    assert erase(lab.sweep(), thread_id, "ops").outcome is ErasureOutcome.ERASED
    repair(lab.sweep())
    assert lab.dump() == before


@in_sql
def test_what_is_written_while_the_thread_is_erased_goes_too(lab: Lab) -> None:
    head = lab.seed("t", 1)[-1]
    lab.store.ledger.hold(["t"], Hold("audit", NOW + timedelta(minutes=1)))
    lab.clock.advance(2)
    lab.sql.write_after_delete("t", head)
    receipt = erase(lab.sweep(), "t", "ops")
    assert (receipt.outcome, receipt.removed_late) == (ErasureOutcome.ERASED, 1)
    assert lab.rows_of("t") == {}


@in_sql
def test_what_will_not_go_is_counted_as_left(lab: Lab) -> None:
    lab.seed("t", 1)
    lab.sql.refuse_deletes("checkpoints", "t", silently=True)
    receipt = erase(lab.sweep(), "t", "ops")
    assert receipt.outcome is ErasureOutcome.LEFT
    assert receipt.left["checkpoints"] == 2
    assert receipt.to_json()["left"] == 2


@in_sql
def test_a_new_conversation_under_the_id_is_left_and_counted(lab: Lab) -> None:
    lab.seed("t", 1)
    sweep = lab.sweep()
    after_the_delete(sweep, lambda: seed_thread(lab.saver, "t", lab.ago(-1)))
    receipt = erase(sweep, "t", "ops")
    assert receipt.outcome is ErasureOutcome.LEFT
    assert receipt.left["checkpoints"] == 1
    assert len(lab.rows_of("t")["checkpoints"]) == 1


@parks
def test_asks_go_with_their_thread(lab: Lab) -> None:
    lab.seed("t", 0)
    before = settled(lab.dump())
    lab.store.asks.open_ask("t", "ask", NOW + timedelta(minutes=5))
    assert settled(lab.dump()) != before
    assert erase(lab.sweep(), "t", "ops").outcome is ErasureOutcome.ERASED
    assert lab.rows_of("t") == {}


@on_postgres
def test_asks_are_in_the_receipt(lab: Lab) -> None:
    lab.seed("t", 0)
    lab.store.asks.open_ask("t", "ask", NOW + timedelta(minutes=5))
    receipt = erase(lab.sweep(), "t", "ops")
    assert receipt.held["retention_asks"] == 1


def test_a_store_that_another_program_runs_is_left_alone(lab: Lab) -> None:
    lab.seed("t", 0)
    lab.worker.managed = "its tables are those of another server"
    before = lab.dump()
    with pytest.raises(ConfigurationError, match="those of another server"):
        erase(lab.sweep(), "t", "ops")
    assert lab.dump() == before
    insists = lab.sweep(allow_server_database=True)
    assert erase(insists, "t", "ops").outcome is ErasureOutcome.ERASED


def after_the_delete(sweep: Sweep, act: Callable[[], object]) -> None:
    """Do something between the commit of the next erase and what comes after it."""
    deleter: Any = sweep.store.deleter
    erase_once = deleter.erase

    def and_act(*args: object) -> object:
        del deleter.erase
        erased = erase_once(*args)
        act()
        return erased

    deleter.erase = and_act
