"""What would be due under other values, in threads and bytes, and moving old marks to them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from retention import RetentionPolicy, ThreadRetention
from retention.abilities import SupportsSizes
from retention.previewing import Preview, preview, redate
from retention.runs import Outcome
from retention.threads import Horizon
from stores import open_store
from tests.contract.lab import (
    NOW,
    Claims,
    Lab,
    count_of,
    in_sql,
    lists_waiting,
    on_disk,
    on_postgres,
    on_redis,
)
from tests.contract.test_ledger import entry
from tests.seeding import seed_thread

SHORT = RetentionPolicy(25, 3)


def previewed(
    lab: Lab, policy: RetentionPolicy, *filters: Claims, as_if_redated: bool = False
) -> Preview:
    """What would be due under a policy, as a role sees it that may read sizes."""
    with lab.other() as store:
        return preview(lab.sweep(*filters, store=store), policy, as_if_redated=as_if_redated)


def due(found: Preview) -> tuple[int, int]:
    """Threads past the finished and the waiting horizon."""
    return found.threads[Horizon.FINISHED], found.threads[Horizon.WAITING]


@in_sql
def test_a_shorter_waiting_retention_is_counted_before_it_is_in_force(lab: Lab) -> None:
    for number, minutes in enumerate((5, 24, 26, 59, 61)):
        lab.seed(f"t-{number}", minutes)
    assert due(previewed(lab, lab.options.policy)) == (0, 1)
    assert due(previewed(lab, SHORT)) == (0, 3)


@in_sql
def test_a_declared_retention_counts_under_other_values_too(lab: Lab) -> None:
    lab.at(-22, lambda: lab.store.ledger.start(["short"], ThreadRetention(20)))
    lab.at(-22, lambda: lab.store.ledger.start(["long"], ThreadRetention(50)))
    for thread_id in ("short", "long"):
        lab.seed(thread_id, 22)
    assert due(previewed(lab, RetentionPolicy(60, 10))) == (0, 1)
    assert due(previewed(lab, RetentionPolicy(21, 10))) == (0, 2)


def test_marks_keep_their_due_time_unless_they_are_to_be_moved(lab: Lab) -> None:
    lab.seed("recent", 20, marked=2)
    lab.seed("older", 20, marked=5)
    lab.seed("due", 20, marked=11)
    assert due(previewed(lab, SHORT)) == (1, 0)
    assert due(previewed(lab, SHORT, as_if_redated=True)) == (2, 0)
    longer = RetentionPolicy(60, 30)
    assert due(previewed(lab, longer)) == (1, 0)
    assert due(previewed(lab, longer, as_if_redated=True)) == (0, 0)


def test_what_a_sweep_would_leave_alone_is_counted_apart(lab: Lab) -> None:
    for thread_id in ("held", "claimed", "due"):
        lab.seed(thread_id, 30, marked=20)
    lab.hold("held")
    found = previewed(lab, SHORT, Claims("claimed"))
    assert due(found) == (1, 0)
    assert found.left_alone.total(Outcome.HELD) == 1
    assert found.left_alone.total(Outcome.SPARED) == 1
    document = found.to_json()
    assert (document["held_count"], document["spared_count"]) == (1, 1)
    assert document["undatable_count"] == 0


def test_a_preview_counts_what_a_sweep_then_deletes_and_changes_nothing(lab: Lab) -> None:
    for number in range(30):
        lab.seed(f"t-{number:02}", number * 3, marked=number if number % 3 == 0 else None)
    before = lab.dump()
    found = preview(lab.sweep(store=lab.store, batch_size=7), SHORT)
    assert lab.dump() == before
    result = lab.run(policy=SHORT)
    assert found.threads[Horizon.FINISHED] == result.counts.total(Outcome.DELETED, Horizon.FINISHED)
    if lab.store.waiting_skipped is None:
        waiting = result.counts.total(Outcome.DELETED, Horizon.WAITING)
        assert found.threads[Horizon.WAITING] == waiting > 0


def test_bytes_are_those_of_the_threads_that_would_go(lab: Lab) -> None:
    lab.seed("small", 30, 1, marked=20)
    lab.seed("fresh", 0)
    small = previewed(lab, SHORT).bytes[Horizon.FINISHED]
    lab.seed("large", 30, 8, marked=20)
    both = previewed(lab, SHORT).bytes[Horizon.FINISHED]
    with lab.other() as store:
        assert isinstance(store.threads, SupportsSizes)
        sizes = store.threads.sizes(["small", "large", "none"])
    assert sizes == {"small": small, "large": both - small, "none": 0}
    assert both - small > 4 * small > 0


@on_postgres
def test_a_role_that_may_not_read_what_threads_hold_still_counts_them(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    found = preview(lab.sweep(), SHORT)
    assert due(found) == (1, 0)
    assert found.bytes_unknown is not None
    assert "the role lacks a right" in found.bytes_unknown
    assert found.to_json()["finished_bytes"] is None


@lists_waiting
def test_where_sweeps_delete_waiting_threads_nothing_is_counted_by_expiry(lab: Lab) -> None:
    lab.seed("t", 30)
    assert not previewed(lab, SHORT).by_expiry


@on_redis
def test_on_redis_waiting_threads_are_counted_by_their_expiry(lab: Lab) -> None:
    lab.store.ledger.start(["declared"], ThreadRetention(50))
    ages = {"old": 40, "recent": 20, "held": 40, "due": 40, "declared": 20}
    for thread_id, minutes in ages.items():
        lab.seed(thread_id, minutes)
        lab.direct.age(thread_id, minutes)  # type: ignore[attr-defined]
    lab.hold("held")
    lab.at(-20, lambda: lab.store.ledger.mark_finished(["due"]))
    found = previewed(lab, SHORT)
    assert found.by_expiry
    assert due(found) == (1, 1)
    assert found.bytes[Horizon.WAITING] > 0
    assert due(previewed(lab, RetentionPolicy(21, 3))) == (1, 1)
    assert due(previewed(lab, RetentionPolicy(20, 3))) == (1, 3)
    assert due(previewed(lab, RetentionPolicy(90, 3))) == (1, 0)


@on_redis
@pytest.mark.parametrize(("written_under", "weighed"), [(10, 25), (6000, 25), (6000, 60)])
def test_on_redis_waiting_threads_count_by_their_last_write_whatever_it_was_under(
    lab: Lab, written_under: int, weighed: int
) -> None:
    other = replace(lab.options, policy=RetentionPolicy(written_under, 3))
    with open_store(lab.address, settings=other) as store:
        for thread_id in ("fresh", "old"):
            seed_thread(store.saver, thread_id, NOW)
    assert due(previewed(lab, RetentionPolicy(weighed, 3))) == (0, 0)
    if written_under > weighed:
        lab.direct.age("old", weighed)  # type: ignore[attr-defined]
        assert due(previewed(lab, RetentionPolicy(weighed, 3))) == (0, 1)


@on_redis
def test_on_redis_a_thread_whose_last_write_cannot_be_told_is_not_counted_as_due(lab: Lab) -> None:
    for thread_id in ("broken", "old"):
        lab.seed(thread_id, 40)
        lab.direct.age(thread_id, 40)  # type: ignore[attr-defined]
    lab.direct.lose_revision("broken")  # type: ignore[attr-defined]
    found = previewed(lab, SHORT)
    assert due(found) == (0, 1)
    assert found.to_json()["undatable_count"] == 1


@on_redis
def test_on_redis_expiring_threads_are_read_page_by_page(lab: Lab) -> None:
    for number in range(12):
        lab.seed(f"t-{number}", 40)
        lab.direct.age(f"t-{number}", 40)  # type: ignore[attr-defined]
    looked_at: list[int] = []
    found = preview(lab.sweep(batch_size=5), SHORT, progress=looked_at.append)
    assert due(found) == (0, 12)
    assert looked_at == [5, 10, 12]


def test_marks_are_moved_to_the_finished_retention_declared_and_capped(lab: Lab) -> None:
    lab.store.ledger.start(["declared"], ThreadRetention(30, 2))
    for thread_id in ("plain", "declared"):
        lab.seed(thread_id, 5)
    lab.store.ledger.mark_finished(["plain", "declared"], owner="flows")
    assert redate(lab.sweep(store=lab.store), SHORT) == 1
    assert due_in_minutes(lab, "plain") == 3
    assert due_in_minutes(lab, "declared") == 2
    assert redate(lab.sweep(store=lab.store), SHORT) == 0
    assert redate(lab.sweep(store=lab.store), RetentionPolicy(60, 1)) == 2
    found = entry(lab, "plain")
    assert found is not None
    assert (found.marked_at, found.owner) == (NOW, "flows")
    assert due_in_minutes(lab, "declared") == due_in_minutes(lab, "plain") == 1


def due_in_minutes(lab: Lab, thread_id: str) -> float:
    """How long after now the mark of a thread is due."""
    found = entry(lab, thread_id)
    assert found is not None
    assert found.due_at is not None
    return (found.due_at - NOW) / timedelta(minutes=1)


def test_every_mark_is_moved_though_moving_them_changes_their_order(lab: Lab) -> None:
    for number in range(25):
        lab.seed(f"t-{number:02}", 5, 1, marked=number / 10)
    seen: list[int] = []
    sweep = lab.sweep(store=lab.store, batch_size=4)
    assert redate(sweep, RetentionPolicy(60, 50), seen.append) == 25
    assert sorted(seen) == seen
    assert max(seen) == 25
    for number in range(25):
        assert due_in_minutes(lab, f"t-{number:02}") == pytest.approx(50 - number / 10)


def test_moved_marks_are_swept_by_their_new_due_time(lab: Lab) -> None:
    lab.seed("t", 30, marked=5)
    assert count_of(lab.run(), Outcome.DELETED) == 0
    redate(lab.sweep(store=lab.store), SHORT)
    assert count_of(lab.run(), Outcome.DELETED) == 1


def test_a_mark_made_after_it_began_and_a_thread_marked_anew_keep_theirs(lab: Lab) -> None:
    lab.seed("t", 5)
    lab.at(10, lambda: lab.store.ledger.mark_finished(["t"]))
    assert redate(lab.sweep(store=lab.store), SHORT) == 0
    assert due_in_minutes(lab, "t") == 20


@on_disk
def test_a_held_and_an_ended_threads_marks_are_moved_like_any(lab: Lab) -> None:
    lab.seed("t", 5, marked=1)
    lab.hold("t")
    with open_store(lab.address, settings=lab.options) as other:
        assert redate(lab.sweep(store=other), SHORT) == 1
    found = entry(lab)
    assert found is not None
    assert found.hold is not None
    assert due_in_minutes(lab, "t") == 2
