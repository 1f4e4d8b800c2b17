"""The thread index: pages of candidates, facts, and parked threads, without decoding state."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from langgraph.types import Interrupt

from retention import ThreadRetention
from retention.ids import instant_of
from retention.ports import Page
from retention.threads import Hold, ThreadFacts
from stores.redis.layout import bucket_of
from tests.contract.lab import (
    NOW,
    Lab,
    dated_by_ts,
    in_memory,
    lists_waiting,
    on_disk,
    on_postgres,
    on_redis,
)
from tests.seeding import config_of, park, seed_thread, seed_threads

CEILING = NOW + timedelta(days=1)


def walk(read: Callable[[Any], Page]) -> tuple[list[str], int]:
    """All threads of a listing, and how many pages it took."""
    found: list[str] = []
    cursor, pages = None, 0
    while True:
        page = read(cursor)
        pages += 1
        found += [facts.thread_id for facts in page.facts]
        if page.cursor is None:
            return found, pages
        cursor = page.cursor


def heads(lab: Lab, limit: int, cutoff: datetime = NOW) -> tuple[list[str], int]:
    """Threads older than a cutoff, page by page."""
    return walk(lambda after: lab.waiting.head_page(cutoff, CEILING, after, limit))


@lists_waiting
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5])
def test_pages_of_heads_hold_each_thread_once_whatever_their_size(lab: Lab, count: int) -> None:
    names = [f"t{number}" for number in range(count)]
    for name in names:
        lab.seed(name, 90)
    for limit in (1, 2, 5, 100):
        # A last page that is full cannot know that it is the last one.
        assert heads(lab, limit) == (names, count // limit + 1)


@lists_waiting
def test_only_heads_older_than_the_cutoff_are_listed(lab: Lab) -> None:
    lab.seed("older", 60.001)
    lab.seed("at", 60)
    lab.seed("younger", 59)
    assert heads(lab, 10, lab.ago(60))[0] == ["older"]


@lists_waiting
def test_the_head_is_the_newest_over_all_namespaces(lab: Lab) -> None:
    lab.seed("t", 90)
    lab.seed("t", 10, namespace="sub:1")
    newest = lab.seed("t", 5, namespace="sub:2")[-1]
    lab.seed("t", 20, namespace="sub:3")
    assert heads(lab, 10, lab.ago(60)) == ([], 1)
    facts = lab.store.threads.facts(["t"])["t"]
    assert (facts.head, facts.head_at) == (newest, lab.ago(5))


@lists_waiting
def test_the_empty_id_is_listed_as_any_other(lab: Lab) -> None:
    for thread_id in ("", "a"):
        lab.seed(thread_id, 90)
    assert heads(lab, 1) == (["", "a"], 3)


def test_facts_join_the_head_with_the_ledger(lab: Lab) -> None:
    head = lab.seed("t", 30)[-1]
    lab.seed("plain", 30)
    lab.store.ledger.start(["t", "ledger-only"])
    read = lab.store.threads.facts(["t", "plain", "ledger-only", "unknown"])
    found = {thread_id: facts._replace(revision=None) for thread_id, facts in read.items()}
    entries = lab.store.ledger.entries(["t", "ledger-only"])
    assert found["t"] == ThreadFacts("t", head, lab.ago(30), entries["t"])
    assert found["plain"].entry is None
    assert found["ledger-only"] == ThreadFacts("ledger-only", None, None, entries["ledger-only"])
    assert found["unknown"] == ThreadFacts("unknown")
    assert lab.store.threads.facts([]) == {}


def test_a_revision_is_of_one_state_alone(lab: Lab) -> None:
    """Where the store keeps none it is never given."""
    ledger, seen = lab.store.ledger, []
    for change in (
        lambda: lab.seed("t", 30),
        lambda: lab.write_late("t"),
        lambda: ledger.start(["t"]),
        lambda: ledger.mark_finished(["t"]),
        lambda: ledger.hold(["t"], Hold("audit")),
        lambda: ledger.release(["t"]),
        lambda: ledger.start(["t"]),
        lambda: lab.saver.delete_thread("t"),
        lambda: lab.seed("t", 30),
    ):
        change()
        seen.append(lab.store.threads.facts(["t"])["t"].revision)
    if lab.store.provider == "redis":
        assert seen[7] is None
        assert len(set(seen)) == len(seen)
    else:
        assert set(seen) == {None}


def test_threads_are_counted_whatever_they_hold(lab: Lab) -> None:
    assert lab.store.threads.count_threads() == 0
    lab.seed("t", 30, 3)
    lab.seed("t", 30, 2, namespace="sub")
    lab.seed("u", 30)
    lab.store.ledger.start(["ledger-only"])
    lab.write_late("orphan")
    assert lab.store.threads.count_threads() == 2


@lists_waiting
def test_due_threads_come_by_their_due_time_then_their_id(lab: Lab) -> None:
    for thread_id, marked in (("c", 20), ("b", 30), ("a", 20), ("young", 9)):
        lab.seed(thread_id, 40, marked=marked)
    lab.seed("never", 40)

    def pages(limit: int) -> tuple[list[str], int]:
        return walk(lambda after: lab.store.threads.due_page(NOW, after, limit))

    assert pages(10) == (["b", "a", "c"], 1)
    assert pages(3) == (["b", "a", "c"], 2)
    assert pages(1) == (["b", "a", "c"], 4)


@on_redis
@pytest.mark.parametrize("limit", [1, 2, 7, 40, 100])
def test_due_threads_come_bucket_by_bucket_and_each_once(lab: Lab, limit: int) -> None:
    names = seed_threads(lab.saver, "t", 40, lab.ago(40))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(names))
    found, pages = walk(lambda after: lab.store.threads.due_page(NOW, after, limit))
    assert found != names
    assert sorted(found) == names
    assert found == sorted(names, key=lambda t: (bucket_of(t), t))
    assert pages <= -(-40 // limit) + 1


def test_a_mark_is_listed_from_its_due_time_on(lab: Lab) -> None:
    lab.seed("t", 40, marked=10)
    assert [f.thread_id for f in lab.store.threads.due_page(NOW, None, 10).facts] == ["t"]
    before = NOW - timedelta(microseconds=1)
    assert lab.store.threads.due_page(before, None, 10).facts == []


@lists_waiting
def test_declared_threads_come_by_the_end_of_their_declaration(lab: Lab) -> None:
    starts = {"b": (40, 30), "a": (50, 45), "young": (29, 30), "half": (40, None)}
    for thread_id, (started, waiting) in starts.items():
        lab.seed(thread_id, started)
        declared = ThreadRetention(waiting, 5)
        lab.at(-started, lambda t=thread_id, d=declared: lab.store.ledger.start([t], d))  # type: ignore[misc]

    def pages(limit: int) -> tuple[list[str], int]:
        return walk(lambda after: lab.waiting.declared_page(NOW, after, limit))

    assert pages(10) == (["b", "a"], 1)
    assert pages(2) == (["b", "a"], 2)
    assert pages(1) == (["b", "a"], 3)


@lists_waiting
@pytest.mark.parametrize("foreign", ["zzz", "9", "~", "not-a-uuid"])
def test_a_foreign_head_is_listed_so_that_it_can_be_reported(lab: Lab, foreign: str) -> None:
    lab.put_foreign("t", foreign, lab.ago(90).isoformat())
    lab.seed("young", 5)
    assert heads(lab, 10, lab.ago(60))[0] == ["t"]


@dated_by_ts
def test_where_ts_is_plain_it_dates_a_foreign_head(lab: Lab) -> None:
    lab.put_foreign("t", "zzz", lab.ago(90).isoformat())
    assert lab.store.threads.facts(["t"])["t"].head_at == lab.ago(90)


@on_postgres
@pytest.mark.parametrize("ts", ["", "soon", "2026-06-01T10:00:00", "2026-99-01T00:00:00Z"])
def test_a_ts_that_is_no_instant_leaves_the_thread_undatable(lab: Lab, ts: str) -> None:
    lab.put_foreign("t", "zzz", ts)
    (facts,) = lab.waiting.head_page(lab.ago(60), CEILING, None, 10).facts
    assert (facts.head, facts.head_at) == ("zzz", None)


@dated_by_ts
@pytest.mark.parametrize("ts", ["", "soon", "2026-06-01T10:00:00", "2026-99-01T00:00:00Z"])
def test_a_thread_of_a_foreign_id_and_no_instant_has_a_head_and_no_date(lab: Lab, ts: str) -> None:
    lab.put_foreign("t", "zzz", ts)
    facts = lab.store.threads.facts(["t"])["t"]
    assert (facts.head, facts.head_at) == ("zzz", None)


@pytest.mark.parametrize("provider", ["memory", "sqlite"], indirect=True)
def test_where_ts_lies_in_the_state_a_foreign_id_leaves_the_thread_undatable(lab: Lab) -> None:
    lab.put_foreign("t", "zzz", lab.ago(90).isoformat())
    lab.put_foreign("mixed", "000", lab.ago(90).isoformat())
    newest = lab.seed("mixed", 90, namespace="sub")[-1]
    found = lab.store.threads.facts(["t", "mixed"])
    assert found["t"].head_at is None
    assert (found["mixed"].head, found["mixed"].head_at) == (newest, None)


@lists_waiting
def test_a_head_from_the_far_future_is_a_date_all_the_same(lab: Lab) -> None:
    head = seed_thread(lab.saver, "t", NOW + timedelta(days=30))[-1]
    assert heads(lab, 10)[0] == ["t"]
    facts = lab.store.threads.facts(["t"])["t"]
    assert (facts.head, facts.head_at) == (head, instant_of(head))


def parked(lab: Lab, *thread_ids: str) -> set[str]:
    """Of these threads, the parked ones."""
    index: Any = lab.store.threads
    found: set[str] = index.pending_interrupts(thread_ids)
    return found


def test_a_thread_is_parked_by_an_interrupt_on_its_head(lab: Lab) -> None:
    lab.seed("parked", interrupted=True)
    lab.seed("free")
    assert parked(lab, "parked", "free", "unknown") == {"parked"}
    assert parked(lab) == set()


def test_an_interrupt_on_an_older_checkpoint_is_over(lab: Lab) -> None:
    ids = lab.seed("t", checkpoints=3)
    park(lab.saver, "t", ids[0])
    park(lab.saver, "t", ids[1])
    assert parked(lab, "t") == set()
    park(lab.saver, "t", ids[2])
    assert parked(lab, "t") == {"t"}


def test_an_interrupt_on_an_older_checkpoint_of_a_subgraph_is_over(lab: Lab) -> None:
    lab.seed("t", 30)
    ids = lab.seed("t", 10, 3, namespace="sub")
    park(lab.saver, "t", ids[1], namespace="sub")
    assert parked(lab, "t") == set()


def test_a_thread_is_parked_in_any_of_its_namespaces(lab: Lab) -> None:
    lab.seed("t", 20)
    lab.seed("t", 10, namespace="sub:1", interrupted=True)
    lab.seed("t", 5, namespace="sub:2")
    assert parked(lab, "t") == {"t"}


def test_a_question_of_a_subgraph_is_over_once_its_root_moved_on(lab: Lab) -> None:
    lab.seed("t", 10, namespace="sub:1", interrupted=True)
    assert parked(lab, "t") == {"t"}
    lab.seed("t", 5)
    assert parked(lab, "t") == set()


def test_one_of_two_interrupts_answered_leaves_the_thread_parked(lab: Lab) -> None:
    head = lab.seed("t", interrupted=True)[-1]
    park(lab.saver, "t", head)
    answered = lab.rows_of("t")
    config = config_of("t", "", head)
    lab.saver.put_writes(config, [("__resume__", "yes")], "task-of-the-first")
    assert lab.rows_of("t") != answered
    assert parked(lab, "t") == {"t"}


def test_two_interrupts_of_one_task_park_the_thread(lab: Lab) -> None:
    head = lab.seed("t")[-1]
    question = [("__interrupt__", (Interrupt(value=1), Interrupt(value=2)))]
    lab.saver.put_writes(config_of("t", "", head), question, "task")
    assert parked(lab, "t") == {"t"}


def test_a_write_of_a_user_to_another_channel_parks_nothing(lab: Lab) -> None:
    head = lab.seed("t")[-1]
    lab.saver.put_writes(config_of("t", "", head), [("interrupt", "x")], "task")
    assert parked(lab, "t") == set()


@on_disk
def test_an_index_that_another_process_reads_shows_the_same(lab: Lab) -> None:
    lab.seed("t", 90, marked=20, interrupted=True)
    with lab.other() as store:
        assert store.threads.facts(["t"]) == lab.store.threads.facts(["t"])
        assert store.threads.count_threads() == 1


@in_memory
def test_each_opening_of_memory_is_a_store_of_its_own(lab: Lab, address: str) -> None:
    from stores import open_store

    lab.seed("t")
    with open_store(address, settings=lab.options) as store:
        assert store.threads.count_threads() == 0
