"""Declared retention end to end, sentence by sentence of what the reference says of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from retention import RetentionPolicy, ThreadRetention
from retention.errors import ConfigurationError, ThreadRetentionError
from stores import Store, StoreOptions, open_store
from tests.contract.direct_redis import DirectRedis
from tests.contract.lab import NOW, Lab, in_sql, on_redis
from tests.seeding import config_of, seed_thread

#: Above and at the lab's platform: waiting 60 minutes, finished 10.
_ABOVE = [
    (ThreadRetention(waiting_minutes=61), ["waiting", "61", "60"]),
    (ThreadRetention(finished_minutes=11), ["finished", "11", "10"]),
    (ThreadRetention(61, 5), ["waiting", "61", "60"]),
    (ThreadRetention(30, 11), ["finished", "11", "10"]),
]
_HALVES = [
    (ThreadRetention(waiting_minutes=30), (30, 10)),
    (ThreadRetention(waiting_minutes=7), (7, 7)),
    (ThreadRetention(finished_minutes=4), (60, 4)),
    (ThreadRetention(60, 10), (60, 10)),
]


@contextmanager
def platform(lab: Lab, policy: RetentionPolicy) -> Iterator[Store]:
    """The same store under other values of the platform; memory keeps those it was opened with."""
    with lab.other(policy=policy) as store:
        yield store


def due_in(lab: Lab, thread_id: str) -> float | None:
    """In how many minutes the mark of a thread is due, as recorded."""
    found = lab.store.ledger.entries([thread_id])[thread_id].due_at
    return None if found is None else (found - lab.clock.now) / timedelta(minutes=1)


# Retention: two horizons


def test_the_defaults_are_seven_days_waiting_and_one_day_finished() -> None:
    assert (RetentionPolicy().waiting_minutes, RetentionPolicy().finished_minutes) == (10_080, 1440)


def test_finished_must_not_exceed_waiting() -> None:
    with pytest.raises(ConfigurationError, match=r"\b61 .*\b60 "):
        RetentionPolicy(60, 61)


@on_redis
def test_every_key_a_write_stores_carries_the_waiting_retention_as_its_ttl(lab: Lab) -> None:
    assert isinstance(lab.direct, DirectRedis)
    lab.seed("t", 0, interrupted=True)
    assert lab.direct.minutes_left("t") == {60}


@on_redis
def test_a_read_never_extends_it_and_a_write_does(lab: Lab) -> None:
    assert isinstance(lab.direct, DirectRedis)
    (head,) = lab.seed("t", 0, 1)
    lab.direct.age("t", 20)
    assert lab.saver.get_tuple(config_of("t")) is not None
    lab.store.threads.facts(["t"])
    assert lab.direct.minutes_left("t") == {40}
    lab.saver.put_writes(config_of("t", "", head), [("messages", "more")], "task")
    assert lab.direct.minutes_left("t") == {60}


@in_sql
def test_a_thread_whose_newest_checkpoint_is_older_than_the_waiting_retention_is_deleted(
    lab: Lab,
) -> None:
    lab.seed("older", 61)
    lab.seed("younger", 59)
    lab.run()
    assert lab.threads() == {"younger"}


def test_a_finished_thread_goes_the_finished_retention_after_its_mark(lab: Lab) -> None:
    lab.seed("marked", 30, marked=10)
    lab.seed("marked-later", 30, marked=9)
    assert lab.run().to_json()["finished_swept"] == ["marked"]
    assert lab.threads() == {"marked-later"}


def test_the_mark_records_the_retention_in_force_changing_it_later_moves_only_new_marks(
    lab: Lab,
) -> None:
    lab.seed("before", 5)
    lab.seed("after", 5)
    lab.store.ledger.mark_finished(["before"])
    lowered = RetentionPolicy(60, 2)
    if lab.store.provider != "memory":  # a store of its own for every opening
        with platform(lab, lowered) as store:
            store.ledger.mark_finished(["after"])
        assert (due_in(lab, "before"), due_in(lab, "after")) == (10, 2)
    lab.clock.advance(9)
    assert "before" not in lab.run(policy=lowered).to_json()["finished_swept"]
    lab.clock.advance(1)
    assert "before" in lab.run(policy=RetentionPolicy(60, 50)).to_json()["finished_swept"]


# A thread's own retention


@pytest.mark.parametrize(("declared", "named"), _ABOVE)
def test_a_declared_value_above_the_platforms_is_refused_naming_both_never_shortened(
    lab: Lab, declared: ThreadRetention, named: list[str]
) -> None:
    lab.store.ledger.start(["t"], ThreadRetention(20, 2))
    before = lab.dump()
    with pytest.raises(ThreadRetentionError) as refused:
        lab.store.ledger.start(["t"], declared)
    assert all(word in str(refused.value).split() for word in named)
    assert lab.dump() == before


def test_a_declared_finished_retention_longer_than_the_declared_waiting_one_is_refused() -> None:
    with pytest.raises(ThreadRetentionError, match=r"\b6 .*\b5 "):
        ThreadRetention(5, 6)


@pytest.mark.parametrize(("declared", "in_force"), _HALVES)
def test_an_unset_waiting_is_the_platforms_an_unset_finished_too_capped_at_the_waiting_one(
    lab: Lab, declared: ThreadRetention, in_force: tuple[int, int]
) -> None:
    waiting, finished = in_force
    lab.store.ledger.start(["t"], declared)
    lab.seed("t", 0)
    if isinstance(lab.direct, DirectRedis):
        assert lab.direct.minutes_left("t") == {waiting}
    elif lab.store.waiting_skipped is None:
        lab.clock.advance(waiting - 0.5)
        assert lab.preview().to_json()["waiting_swept"] == []
        lab.clock.advance(0.5)
        assert lab.preview().to_json()["waiting_swept"] == ["t"]
    lab.store.ledger.mark_finished(["t"])
    assert due_in(lab, "t") == finished


@on_redis
def test_the_declared_waiting_is_the_ttl_of_every_key_the_threads_writes_store(lab: Lab) -> None:
    assert isinstance(lab.direct, DirectRedis)
    lab.store.ledger.start(["t"], ThreadRetention(30))
    assert lab.direct.minutes_left("t") == {30}
    lab.seed("t", 0, 3, interrupted=True)
    lab.seed("t", 0, namespace="sub:1")
    assert lab.direct.minutes_left("t") == {30}


@in_sql
def test_the_declared_waiting_is_recorded_at_the_start_and_is_the_threads_waiting_horizon(
    lab: Lab,
) -> None:
    lab.at(-31, lambda: lab.store.ledger.start(["past"], ThreadRetention(30)))
    lab.at(-29, lambda: lab.store.ledger.start(["within"], ThreadRetention(30)))
    lab.at(-31, lambda: lab.store.ledger.start(["written-to"], ThreadRetention(30)))
    for thread_id in ("past", "within", "undeclared"):
        lab.seed(thread_id, 31)
    lab.seed("written-to", 29)
    found = lab.run().to_json()
    assert found["waiting_swept"] == ["past"]
    assert lab.threads() == {"within", "undeclared", "written-to"}


def test_a_later_run_on_the_same_thread_replaces_it(lab: Lab) -> None:
    lab.seed("t", 0)
    lab.store.ledger.start(["t"], ThreadRetention(30, 3))
    lab.store.ledger.start(["t"], ThreadRetention(20, 2))
    assert lab.store.ledger.entries(["t"])["t"].declared == ThreadRetention(20, 2)
    if isinstance(lab.direct, DirectRedis):
        assert lab.direct.minutes_left("t") == {20}
    lab.store.ledger.mark_finished(["t"])
    assert due_in(lab, "t") == 2


def test_a_start_without_a_retention_clears_an_earlier_one(lab: Lab) -> None:
    lab.seed("t", 0)
    lab.store.ledger.start(["t"], ThreadRetention(30, 3))
    lab.store.ledger.start(["t"])
    assert lab.store.ledger.entries(["t"])["t"].declared is None
    if isinstance(lab.direct, DirectRedis):
        assert lab.direct.minutes_left("t") == {60}
    lab.store.ledger.mark_finished(["t"])
    assert due_in(lab, "t") == 10
    if lab.store.waiting_skipped is None:
        lab.store.ledger.start(["t"])
        lab.clock.advance(31)
        assert lab.preview().to_json()["waiting_swept"] == []


def test_a_finished_thread_is_due_its_declared_finished_retention_after_its_mark(lab: Lab) -> None:
    lab.seed("declared", 0)
    lab.seed("plain", 0)
    lab.store.ledger.start(["declared"], ThreadRetention(30, 3))
    lab.store.ledger.mark_finished(["declared", "plain"])
    lab.clock.advance(2.5)
    assert lab.run().to_json()["swept_count"] == 0
    lab.clock.advance(0.5)
    assert lab.run().to_json()["finished_swept"] == ["declared"]


def test_platform_values_lowered_later_cap_older_declarations(lab: Lab) -> None:
    """Waiting at the next sweep, or on Redis at the next write; finished at the next mark."""
    lowered = RetentionPolicy(20, 2)
    lab.seed("t", 0)
    lab.store.ledger.start(["t"], ThreadRetention(40, 8))
    if isinstance(lab.direct, DirectRedis):
        with platform(lab, lowered) as store:
            assert lab.direct.minutes_left("t") == {40}
            seed_thread(store.saver, "t", lab.clock.now, parent=_head(lab, "t"))
        assert lab.direct.minutes_left("t") == {20}
    elif lab.store.waiting_skipped is None:
        lab.clock.advance(20.5)
        assert lab.preview().to_json()["waiting_swept"] == []
        assert lab.preview(policy=lowered).to_json()["waiting_swept"] == ["t"]
    if lab.store.provider != "memory":
        with platform(lab, lowered) as store:
            store.ledger.mark_finished(["t"])
        assert due_in(lab, "t") == 2


def test_a_saver_opened_with_a_retention_declares_it_for_the_threads_it_starts(
    lab: Lab, address: str
) -> None:
    own = replace(lab.options, retention=ThreadRetention(25, 4))
    with open_store(address, settings=own) as store:
        store.ledger.start(["t"])
        seed_thread(store.saver, "t", NOW)
        store.ledger.mark_finished(["t"])
        found = store.ledger.entries(["t"])["t"]
    assert (found.declared, found.due_at) == (ThreadRetention(25, 4), NOW + timedelta(minutes=4))
    if isinstance(lab.direct, DirectRedis):
        assert lab.direct.minutes_left("t") == {25}


def test_a_platform_value_below_the_savers_own_retention_refuses_the_opening(address: str) -> None:
    lowered = StoreOptions(policy=RetentionPolicy(20, 2), retention=ThreadRetention(25))
    with (
        pytest.raises(ThreadRetentionError, match=r"\b25 .*\b20 "),
        open_store(address, settings=lowered),
    ):
        pass


def _head(lab: Lab, thread_id: str) -> str:
    found = lab.saver.get_tuple(config_of(thread_id))
    assert found is not None
    return str(found.config["configurable"]["checkpoint_id"])
