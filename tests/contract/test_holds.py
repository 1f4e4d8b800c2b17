"""Holds: an operator exempts threads, and takes that back."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from retention import ThreadRetention
from retention.errors import ConfigurationError
from retention.runs import Outcome
from retention.sweep.plan import candidates
from retention.threads import Hold, LedgerEntry, Rule, ThreadFacts
from stores import aopen_store
from tests.contract.direct import settled
from tests.contract.lab import (
    NOW,
    POLICY,
    Lab,
    count_of,
    keeps_entries_apart,
    lists_waiting,
    on_redis,
)
from tests.contract.pool import claimed, opened, settle
from tests.contract.test_ledger import ODD_IDS, entry
from tests.seeding import config_of

AUDIT = Hold("audit")
#: The same as a ledger keeps it.
PLACED = Hold("audit", at=NOW)


def hold_of(lab: Lab, thread_id: str = "t") -> Hold | None:
    """The hold on a thread."""
    found = entry(lab, thread_id)
    return found.hold if found else None


def test_a_hold_is_kept_with_its_reason_its_end_who_and_when(lab: Lab) -> None:
    lab.seed("t")
    until = datetime(2026, 7, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert lab.store.ledger.hold(["t"], Hold("case 7", until, "ops")) == {"t"}
    assert hold_of(lab) == Hold("case 7", datetime(2026, 7, 1, tzinfo=UTC), "ops", NOW)


def test_the_instant_a_caller_names_is_kept(lab: Lab) -> None:
    lab.seed("t")
    lab.store.ledger.hold(["t"], Hold("audit", at=lab.ago(30)))
    assert hold_of(lab) == Hold("audit", at=lab.ago(30))


@pytest.mark.parametrize(
    ("hold", "message"),
    [
        (Hold(""), "a hold needs a reason: none was given"),
        (Hold(" \n"), "a hold needs a reason: none was given"),
        (
            Hold("audit", NOW),
            "a hold's end must lie ahead: 2026-06-01T12:00:00+00:00 is past",
        ),
        (
            Hold("audit", datetime(2027, 1, 1)),  # noqa: DTZ001
            "a hold's end needs a time zone: 2027-01-01T00:00:00",
        ),
    ],
)
def test_a_hold_that_would_hold_nothing_is_refused(lab: Lab, hold: Hold, message: str) -> None:
    lab.seed("t")
    before = lab.dump()
    with pytest.raises(ConfigurationError) as raised:
        lab.store.ledger.hold(["t"], hold)
    assert str(raised.value) == message
    assert lab.dump() == before


def test_a_thread_is_held_that_has_a_checkpoint_a_write_or_an_entry_and_no_other(lab: Lab) -> None:
    lab.seed("checkpoint")
    lab.write_late("write")
    lab.store.ledger.start(["entry"])
    ids = {"checkpoint", "write", "entry"}
    assert lab.store.ledger.hold([*ids, "nothing"], AUDIT) == ids
    assert set(lab.store.ledger.entries([*ids, "nothing"])) == ids
    assert all(hold_of(lab, thread_id) == PLACED for thread_id in ids)


def test_a_second_hold_replaces_the_first(lab: Lab) -> None:
    lab.seed("t")
    lab.store.ledger.hold(["t"], Hold("first", NOW + timedelta(days=1), "a"))
    lab.clock.advance(1)
    lab.store.ledger.hold(["t"], Hold("second"))
    assert hold_of(lab) == Hold("second", at=lab.clock.now)


def test_a_hold_leaves_what_else_is_known_of_the_thread(lab: Lab) -> None:
    lab.seed("t")
    lab.store.ledger.start(["t"], ThreadRetention(30, 3))
    lab.store.ledger.mark_finished(["t"], owner="flows")
    before = entry(lab)
    lab.store.ledger.hold(["t"], AUDIT)
    found = entry(lab)
    assert before is not None
    assert found is not None
    assert found.hold == PLACED
    assert lab.store.ledger.release(["t"]) == {"t"}
    assert entry(lab) == before


def test_a_hold_outlives_starts_and_marks(lab: Lab) -> None:
    lab.seed("t")
    lab.store.ledger.hold(["t"], AUDIT)
    lab.store.ledger.start(["t"], ThreadRetention(30))
    assert hold_of(lab) == PLACED
    lab.store.ledger.mark_finished(["t"])
    assert hold_of(lab) == PLACED
    lab.store.ledger.start(["t"])
    assert hold_of(lab) == PLACED


def test_a_held_thread_goes_once_it_is_released(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    lab.hold("t")
    before = lab.rows_of("t")
    assert count_of(lab.run(), Outcome.HELD) == 1
    assert lab.rows_of("t") == before
    lab.store.ledger.release(["t"])
    assert count_of(lab.run(), Outcome.DELETED) == 1
    assert lab.rows_of("t") == {}


def test_a_held_thread_goes_once_its_hold_has_lapsed(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    lab.store.ledger.hold(["t"], Hold("audit", NOW + timedelta(minutes=5)))
    lab.clock.advance(4)
    assert count_of(lab.run(), Outcome.HELD) == 1
    lab.clock.advance(1)
    assert count_of(lab.run(), Outcome.DELETED) == 1
    assert lab.rows_of("t") == {}


def test_a_thread_held_after_it_was_planned_is_not_deleted(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    opened(lab, ["t"])
    claim = claimed(lab, "token")
    assert claim is not None
    lab.hold("t")
    before = lab.rows_of("t")
    settle(lab, claim)
    assert claim.batch.outcomes[0].outcome is Outcome.HELD
    assert lab.rows_of("t") == before


def test_a_released_thread_that_nothing_else_is_known_of_leaves_no_entry(lab: Lab) -> None:
    lab.seed("t")
    before = lab.dump()
    lab.hold("t")
    assert lab.dump() != before
    assert lab.store.ledger.release(["t", "never", "unknown"]) == {"t"}
    assert settled(lab.dump()) == settled(before)


@pytest.mark.parametrize("known", ["start", "mark_finished"])
def test_a_release_keeps_an_entry_that_says_more(lab: Lab, known: str) -> None:
    lab.seed("t")
    getattr(lab.store.ledger, known)(["t"])
    before = entry(lab)
    lab.hold("t")
    lab.store.ledger.release(["t"])
    assert entry(lab) == before
    assert before is not None


def test_a_lapsed_hold_can_be_released(lab: Lab) -> None:
    lab.seed("t")
    lab.hold("t", lapsed=5)
    assert hold_of(lab) == Hold("audit", lab.ago(5), at=lab.ago(6))
    assert lab.store.ledger.release(["t"]) == {"t"}
    assert entry(lab) is None


def test_a_thread_that_is_not_held_is_not_released(lab: Lab) -> None:
    lab.seed("t")
    lab.store.ledger.start(["t"])
    before = lab.dump()
    assert lab.store.ledger.release(["t", "unknown"]) == set()
    assert lab.store.ledger.release([]) == set()
    assert lab.store.ledger.hold([], AUDIT) == set()
    assert lab.dump() == before


@pytest.mark.parametrize("thread_id", ODD_IDS)
def test_any_id_can_be_held_and_released(lab: Lab, thread_id: str) -> None:
    lab.seed("neighbour", 30)
    lab.seed(thread_id, 30)
    assert lab.store.ledger.hold([thread_id], AUDIT) == {thread_id}
    assert lab.store.ledger.entries([thread_id, "neighbour"]) == {
        thread_id: LedgerEntry(thread_id, hold=PLACED)
    }
    assert lab.store.ledger.release([thread_id]) == {thread_id}
    assert lab.store.ledger.entries([thread_id]) == {}


def test_more_threads_than_one_transaction_may_lock_are_held_and_released(lab: Lab) -> None:
    ids = [f"t-{number:04}" for number in range(501)]
    lab.store.ledger.start(ids)
    assert lab.store.ledger.hold(ids, AUDIT) == set(ids)
    assert lab.store.ledger.release(ids) == set(ids)


@keeps_entries_apart
def test_an_application_deletes_its_own_thread_held_or_not(lab: Lab) -> None:
    lab.seed("t")
    lab.hold("t")
    lab.saver.delete_thread("t")
    assert lab.saver.get_tuple(config_of("t")) is None
    assert lab.store.threads.facts(["t"])["t"] == ThreadFacts(
        "t", entry=LedgerEntry("t", hold=PLACED)
    )
    lab.store.ledger.release(["t"])
    assert lab.rows_of("t") == {}


@on_redis
def test_where_an_entry_is_part_of_its_thread_it_goes_with_it(lab: Lab) -> None:
    lab.seed("t")
    lab.hold("t")
    lab.saver.delete_thread("t")
    assert lab.store.threads.facts(["t"])["t"] == ThreadFacts("t")
    assert lab.rows_of("t") == {}


async def test_the_async_twins_hold_and_release(lab: Lab) -> None:
    async with aopen_store(lab.address, settings=lab.options) as store:
        await store.ledger.astart(["t"])
        assert await store.ledger.ahold(["t", "nothing"], AUDIT) == {"t"}
        assert store.ledger.entries(["t"])["t"].hold == PLACED
        assert await store.ledger.arelease(["t", "nothing"]) == {"t"}
        assert store.ledger.entries(["t"])["t"].hold is None


async def test_the_async_saver_deletes_a_held_thread_too(lab: Lab) -> None:
    async with aopen_store(lab.address, settings=lab.options) as store:
        await store.ledger.astart(["t"])
        await store.ledger.ahold(["t"], AUDIT)
        await store.saver.adelete_thread("t")
        assert await store.saver.aget_tuple(config_of("t")) is None


class DueOnly:
    """A thread index that cannot list waiting threads."""

    def __init__(self, lab: Lab) -> None:
        index = lab.store.threads
        self.due_page, self.facts = index.due_page, index.facts
        self.count_threads = index.count_threads


@lists_waiting
def test_an_index_that_cannot_list_waiting_threads_is_asked_for_due_ones_alone(lab: Lab) -> None:
    lab.seed("old", 90)
    lab.seed("due", 30, marked=20)
    rule = Rule(POLICY, NOW)
    planned = [candidate.thread_id for candidate in candidates(lab.store.threads, rule, 10)]
    assert planned == ["due", "old"]
    assert [candidate.thread_id for candidate in candidates(DueOnly(lab), rule, 10)] == ["due"]
