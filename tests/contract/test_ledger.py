"""The ledger: what owners say of their threads, in every store."""

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest

from retention import ThreadRetention
from retention.errors import ThreadRetentionError
from retention.threads import LedgerEntry
from stores import aopen_store, open_store
from tests.contract.lab import NOW, Lab, lists_waiting
from tests.seeding import config_of

ODD_IDS = [
    "a:b",
    "*",
    "%s",
    "%",
    ":ids",
    "{ids}",
    "line\nfeed",
    "o'brien; --",
    'back\\slash "quoted"',
    "{a,b}",
    "NULL",
    " ",
    "é\u0301",
    "\U0001f600",
    "x" * 2000,
]


def entry(lab: Lab, thread_id: str = "t") -> LedgerEntry | None:
    """What the ledger keeps of a thread."""
    return lab.store.ledger.entries([thread_id]).get(thread_id)


def test_an_unknown_thread_has_no_entry(lab: Lab) -> None:
    assert lab.store.ledger.entries(["t"]) == {}
    assert lab.store.ledger.entries([]) == {}


def test_a_start_records_the_instant(lab: Lab) -> None:
    lab.store.ledger.start(["t", "u"])
    assert entry(lab) == LedgerEntry("t", started_at=NOW)
    assert entry(lab, "u") == LedgerEntry("u", started_at=NOW)


def test_a_mark_is_due_its_finished_retention_later(lab: Lab) -> None:
    lab.seed("t")
    lab.store.ledger.mark_finished(["t"], owner="flows")
    due_at = NOW + timedelta(minutes=10)
    assert entry(lab) == LedgerEntry("t", marked_at=NOW, due_at=due_at, owner="flows")


def test_a_mark_on_a_thread_that_holds_nothing_is_dropped(lab: Lab) -> None:
    lab.seed("t")
    lab.store.ledger.mark_finished(["empty", "t"])
    assert entry(lab, "empty") is None
    assert entry(lab) is not None


def test_a_mark_on_a_started_thread_that_holds_nothing_leaves_the_start(lab: Lab) -> None:
    lab.store.ledger.start(["t"])
    lab.store.ledger.mark_finished(["t"])
    assert entry(lab) == LedgerEntry("t", started_at=NOW)


def test_a_start_takes_the_thread_out_of_the_finished_set(lab: Lab) -> None:
    lab.seed("t")
    lab.store.ledger.mark_finished(["t"])
    lab.clock.advance(1)
    lab.store.ledger.start(["t"])
    found = entry(lab)
    assert found is not None
    assert (found.started_at, found.marked_at, found.due_at) == (lab.clock.now, None, None)


def test_a_second_mark_counts_from_itself(lab: Lab) -> None:
    lab.seed("t", marked=5)
    lab.store.ledger.mark_finished(["t"], owner="other")
    found = entry(lab)
    assert found is not None
    assert (found.marked_at, found.owner) == (NOW, "other")


def test_a_mark_keeps_the_start_and_the_declaration(lab: Lab) -> None:
    lab.seed("t")
    lab.at(-20, lambda: lab.store.ledger.start(["t"], ThreadRetention(30, 3)))
    lab.store.ledger.mark_finished(["t"])
    assert entry(lab) == LedgerEntry(
        "t", lab.ago(20), NOW, NOW + timedelta(minutes=3), ThreadRetention(30, 3)
    )


@pytest.mark.parametrize(
    ("declared", "minutes"),
    [
        (ThreadRetention(30, 3), 3),
        (ThreadRetention(finished_minutes=4), 4),
        (ThreadRetention(waiting_minutes=30), 10),
        (ThreadRetention(waiting_minutes=7), 7),
    ],
)
def test_a_declared_retention_decides_when_a_mark_is_due(
    lab: Lab, declared: ThreadRetention, minutes: int
) -> None:
    lab.seed("t")
    lab.store.ledger.start(["t"], declared)
    lab.store.ledger.mark_finished(["t"])
    found = entry(lab)
    assert found is not None
    assert (found.declared, found.due_at) == (declared, NOW + timedelta(minutes=minutes))


def test_a_later_start_replaces_a_declaration_and_one_without_clears_it(lab: Lab) -> None:
    lab.store.ledger.start(["t"], ThreadRetention(30, 3))
    lab.store.ledger.start(["t"], ThreadRetention(20))
    found = entry(lab)
    assert found is not None
    assert found.declared == ThreadRetention(20)
    lab.store.ledger.start(["t"])
    assert entry(lab) == LedgerEntry("t", started_at=NOW)


@lists_waiting
def test_a_declaration_that_was_cleared_is_listed_no_more(lab: Lab) -> None:
    lab.store.ledger.start(["t"], ThreadRetention(30))
    lab.store.ledger.start(["t"])
    assert lab.waiting.declared_page(lab.ago(-1000), None, 10).facts == []


@pytest.mark.parametrize(
    ("declared", "named"),
    [
        (ThreadRetention(waiting_minutes=61), r"\b61 .*\b60 "),
        (ThreadRetention(finished_minutes=11), r"\b11 .*\b10 "),
    ],
)
def test_a_declaration_above_its_ceiling_is_refused_and_changes_nothing(
    lab: Lab, declared: ThreadRetention, named: str
) -> None:
    lab.seed("t", marked=5)
    before = lab.dump()
    with pytest.raises(ThreadRetentionError, match=named):
        lab.store.ledger.start(["t"], declared)
    assert lab.dump() == before


def test_the_retention_a_store_was_opened_with_is_declared_where_none_is_given(
    lab: Lab, address: str
) -> None:
    own = ThreadRetention(20, 2)
    with open_store(address, retention=own, settings=lab.options) as store:
        store.ledger.start(["t"])
        store.ledger.start(["u"], ThreadRetention(25))
        found = store.ledger.entries(["t", "u"])
    assert {name: e.declared for name, e in found.items()} == {"t": own, "u": ThreadRetention(25)}


def test_a_store_opened_with_a_retention_above_the_platform_is_refused(
    lab: Lab, address: str
) -> None:
    with (
        pytest.raises(ThreadRetentionError, match=r"\b61 .*\b60 "),
        open_store(address, retention=ThreadRetention(61), settings=lab.options),
    ):
        pass


@pytest.mark.parametrize("thread_id", ODD_IDS)
def test_any_text_that_is_not_empty_is_an_id(lab: Lab, thread_id: str) -> None:
    lab.seed("neighbour", 30)
    lab.seed(thread_id, 30)
    lab.store.ledger.start([thread_id])
    lab.store.ledger.mark_finished([thread_id])
    found = lab.store.ledger.entries([thread_id, "neighbour"])
    assert {name: e.marked_at for name, e in found.items()} == {thread_id: NOW}


def test_ids_that_are_no_text_mean_their_text(lab: Lab) -> None:
    ids = [7, uuid.UUID(int=7)]
    for thread_id in ids:
        lab.seed(thread_id, 30)  # type: ignore[arg-type]
        assert lab.saver.get_tuple(config_of(thread_id)) is not None  # type: ignore[arg-type]
    lab.store.ledger.start(ids)  # type: ignore[arg-type]
    lab.store.ledger.mark_finished(ids)  # type: ignore[arg-type]
    texts = [str(thread_id) for thread_id in ids]
    assert set(lab.store.ledger.entries(ids)) == set(texts)  # type: ignore[arg-type]
    assert lab.threads() == set(texts)


def test_one_id_given_as_text_is_not_taken_for_its_letters(lab: Lab) -> None:
    lab.store.ledger.start("thread")
    assert list(lab.store.ledger.entries(["thread", "t"])) == ["thread"]


def test_no_ids_change_nothing(lab: Lab) -> None:
    before = lab.dump()
    lab.store.ledger.start([])
    lab.store.ledger.mark_finished([])
    assert lab.dump() == before


def test_more_threads_than_one_transaction_may_lock_are_started_and_marked(lab: Lab) -> None:
    lab.seed("t-0007", 30)
    ids = [f"t-{number:04}" for number in range(1201)]
    lab.store.ledger.start(ids)
    lab.store.ledger.mark_finished(ids)
    found = lab.store.ledger.entries(ids)
    assert len(found) == 1201
    assert [t for t, e in found.items() if e.marked_at is not None] == ["t-0007"]


async def test_the_async_twins_do_the_same(lab: Lab, address: str) -> None:
    options = replace(lab.options, retention=ThreadRetention(30))
    async with aopen_store(address, settings=options) as store:
        await store.ledger.astart(["t"])
        await store.ledger.amark_finished(["t"], owner="flows")
        found = store.ledger.entries(["t"])
        await store.ledger.astart(["u"], ThreadRetention(20, 2))
        other = store.ledger.entries(["u"])
    assert found == {"t": LedgerEntry("t", NOW, declared=ThreadRetention(30))}
    assert other["u"].declared == ThreadRetention(20, 2)
