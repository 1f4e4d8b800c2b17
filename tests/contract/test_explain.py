"""What is said of one thread, and that a sweep then does it."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from retention import ThreadRetention
from retention.explaining import Explanation, explain
from retention.filters import FlowsEngineFilter, LiveThreadFilter
from retention.operator import OperatorPolicy
from retention.runs import Outcome
from retention.threads import Hold
from tests.contract.lab import (
    NOW,
    Claims,
    Lab,
    count_of,
    drops_waiting,
    in_memory,
    in_sql,
    on_redis,
    shared_with_stock,
)
from tests.contract.test_ending import ended
from tests.contract.test_ledger import ODD_IDS


class Failing:
    """A filter that cannot answer."""

    owner = "broken"

    def claims(self, thread_ids: object) -> list[str]:
        raise RuntimeError("no answer")


def explained(
    lab: Lab, *filters: LiveThreadFilter, thread_id: str = "t", **options: Any
) -> Explanation:
    """What is said of a thread that is there."""
    found = explain(lab.sweep(*filters, **options), thread_id)
    assert found is not None
    return found


def test_an_unknown_thread_has_no_explanation(lab: Lab) -> None:
    lab.seed("u")
    assert explain(lab.sweep(), "t") is None


@in_sql
def test_a_waiting_thread_goes_its_retention_after_its_last_activity(lab: Lab) -> None:
    lab.seed("t", 20)
    assert explained(lab).sentence == (
        "goes from 2026-06-01T12:40:00+00:00 on: it was last active at "
        "2026-06-01T11:40:00+00:00, and its waiting retention is 60 minutes (platform)"
    )
    lab.clock.advance(40)
    assert explained(lab).sentence == (
        "goes at the next sweep: it was last active at 2026-06-01T11:40:00+00:00, and its "
        "waiting retention is 60 minutes (platform)"
    )


@in_sql
def test_a_declared_retention_is_told_from_the_platforms(lab: Lab) -> None:
    lab.store.ledger.start(["t"], ThreadRetention(30, 3))
    lab.seed("t", 20)
    found = explained(lab)
    assert found.sentence == (
        "goes from 2026-06-01T12:30:00+00:00 on: it was last active at "
        "2026-06-01T12:00:00+00:00, and its waiting retention is 30 minutes (declared)"
    )
    document = found.to_json()
    waiting = {"platform_minutes": 60, "declared_minutes": 30, "minutes": 30}
    finished = {"platform_minutes": 10, "declared_minutes": 3, "minutes": 3}
    assert document["waiting"] == {**waiting, "source": "declared"}
    assert document["finished"] == {**finished, "source": "declared"}


@in_sql
def test_an_operators_policy_is_named(lab: Lab) -> None:
    lab.seed("t", 20)
    policies = (OperatorPolicy("short", "t", waiting_minutes=15),)
    assert explained(lab, policies=policies).sentence == (
        "goes at the next sweep: it was last active at 2026-06-01T11:40:00+00:00, and its "
        "waiting retention is 15 minutes (policy 'short')"
    )


def test_a_marked_thread_goes_when_its_mark_is_due(lab: Lab) -> None:
    lab.seed("t", 20)
    lab.store.ledger.mark_finished(["t"], owner="flows")
    assert explained(lab).sentence == (
        "goes from 2026-06-01T12:10:00+00:00 on: it was marked finished by 'flows' at "
        "2026-06-01T12:00:00+00:00, due 2026-06-01T12:10:00+00:00"
    )
    lab.clock.advance(10)
    found = explained(lab)
    assert found.is_going
    assert found.sentence == (
        "goes at the next sweep: it was marked finished by 'flows' at "
        "2026-06-01T12:00:00+00:00, due 2026-06-01T12:10:00+00:00"
    )


def test_who_ended_a_thread_and_why_is_said(lab: Lab) -> None:
    lab.seed("t", 20)
    ended(lab)
    assert explained(lab).sentence == (
        "goes from 2026-06-01T12:10:00+00:00 on: 'ops' ended it ('stuck since May'), due "
        "2026-06-01T12:10:00+00:00"
    )
    assert explained(lab).to_json()["ended"] == {
        "at": "2026-06-01T12:00:00+00:00",
        "by": "ops",
        "reason": "stuck since May",
    }


def test_a_held_thread_stays_until_the_end_of_its_hold(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    lab.store.ledger.hold(["t"], Hold("audit", NOW + timedelta(minutes=30), "legal"))
    found = explained(lab)
    assert not found.is_going
    assert found.sentence == (
        "goes from 2026-06-01T12:30:00+00:00 on: it was marked finished at "
        "2026-06-01T11:40:00+00:00, due 2026-06-01T11:50:00+00:00; held by 'legal' since "
        "2026-06-01T12:00:00+00:00 until 2026-06-01T12:30:00+00:00: 'audit'"
    )


def test_a_thread_held_without_an_end_stays(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    lab.hold("t")
    assert explained(lab).sentence == (
        "stays: held by somebody since 2026-06-01T12:00:00+00:00 until it is released: 'audit'"
    )


def test_a_claimed_thread_stays_for_now(lab: Lab) -> None:
    lab.seed("t", 30, marked=20, interrupted=True)
    why = "it was marked finished at 2026-06-01T11:40:00+00:00, due 2026-06-01T11:50:00+00:00"
    parked = FlowsEngineFilter(lab.store)
    found = explained(lab, Claims(), parked)
    assert not found.is_going
    assert found.sentence == (
        f"stays for now: {why}, but the live-thread filter flows-engine claims it"
    )
    assert found.to_json()["filters"] == [
        {"owner": "tests", "claims": False, "error": None},
        {"owner": "flows-engine", "claims": True, "error": None},
    ]


def test_a_filter_that_fails_keeps_every_thread(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    found = explained(lab, Failing())
    assert not found.is_going
    assert found.sentence.endswith(
        "but live-thread filter 'broken' failed: RuntimeError: no answer: no sweep deletes "
        "anything then"
    )


def test_a_claim_on_a_thread_that_is_not_due_is_said_beside_its_time(lab: Lab) -> None:
    lab.seed("t", 5, marked=1)
    assert explained(lab, Claims("t")).sentence.endswith(
        "due 2026-06-01T12:09:00+00:00; tests claims it now, and is asked again"
    )
    assert explained(lab, Claims("t"), Claims("t", owner="others")).sentence.endswith(
        "; tests, others claim it now, and are asked again"
    )


@shared_with_stock
def test_an_entry_without_a_thread_goes_with_a_sweep(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    lab.saver.delete_thread("t")
    assert explained(lab).sentence == (
        "goes at the next sweep: it holds nothing but an entry in the ledger"
    )


def test_writes_without_a_checkpoint_are_told(lab: Lab) -> None:
    lab.write_late("t")
    sentence = explained(lab).sentence
    if lab.store.provider == "redis":
        assert "its keys expire then" in sentence
    else:
        assert sentence == (
            "stays: it holds writes without a checkpoint, and no sweep looks for those"
        )


@pytest.mark.parametrize("provider", ["sqlite"], indirect=True)
def test_a_thread_of_unknown_age_stays(lab: Lab) -> None:
    lab.put_foreign("t", "zzz", "not a time")
    assert explained(lab).sentence == (
        "stays: the age of its head cannot be told, so no sweep deletes it for its age"
    )


@in_memory
def test_in_memory_an_unmarked_thread_lives_with_its_process(lab: Lab) -> None:
    lab.seed("t", 90)
    assert explained(lab).sentence == (
        "stays: it is not marked finished, and a thread in memory lives as long as its process"
    )


@on_redis
def test_on_redis_an_unmarked_thread_goes_with_its_keys(lab: Lab) -> None:
    lab.seed("t", 90)
    found = explained(lab)
    assert found.keys_expire_at is not None
    assert abs(found.keys_expire_at - NOW - timedelta(minutes=60)) < timedelta(minutes=1)
    assert found.keys_expire_at.microsecond == 0
    assert found.sentence == (
        f"goes from {found.keys_expire_at.isoformat()} on: its keys expire then, the waiting "
        "retention after its last write; no filter is asked"
    )
    lab.hold("t")
    assert explained(lab).keys_expire_at is None
    assert explained(lab).sentence.startswith("stays: held by somebody")


@drops_waiting
def test_where_no_sweep_deletes_waiting_threads_the_horizon_is_not_said_to(lab: Lab) -> None:
    lab.seed("t", 90)
    document = explained(lab).to_json()
    assert document["verdict"] == "live"
    assert document["horizon"] in (None, "expires")


def test_the_document_says_what_is_known_and_holds_json_alone(lab: Lab) -> None:
    head = lab.seed("t", 20)[-1]
    lab.store.ledger.mark_finished(["t"], owner="flows")
    lab.hold("t")
    document = explained(lab).to_json()
    assert document["head"] == head
    assert document["head_age_seconds"] == 1200
    assert document["goes"] is False
    assert document["status"] == "finished"
    assert document["due_at"] == "2026-06-01T12:10:00+00:00"
    assert document["hold"] == {
        "reason": "audit",
        "until": None,
        "by": None,
        "at": "2026-06-01T12:00:00+00:00",
        "on": True,
    }


@pytest.mark.parametrize("thread_id", ODD_IDS)
def test_any_id_can_be_explained(lab: Lab, thread_id: str) -> None:
    lab.seed(thread_id, 30, marked=20)
    assert explained(lab, thread_id=thread_id).is_going


def test_explaining_changes_nothing(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    before = lab.dump()
    explained(lab)
    assert lab.dump() == before


def make(lab: Lab, dice: random.Random, thread_id: str) -> None:
    """Give a thread a past of its own."""
    if dice.random() < 0.4:
        waiting = dice.choice([None, 5, 30, 59])
        finished = dice.choice([None, 1, 3])
        retention = ThreadRetention(waiting, finished) if waiting or finished else None
        lab.at(-dice.randint(0, 70), lambda: lab.store.ledger.start([thread_id], retention))
    lab.seed(thread_id, dice.randint(0, 120), dice.randint(1, 2), interrupted=dice.random() < 0.3)
    if dice.random() < 0.4:
        lab.at(-dice.randint(0, 30), lambda: lab.store.ledger.mark_finished([thread_id]))
    if dice.random() < 0.2:
        until = dice.choice([None, lab.clock.now + timedelta(minutes=dice.randint(1, 40))])
        lab.store.ledger.hold([thread_id], Hold("audit", until))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_sweep_does_what_was_said_of_each_thread_then_and_later(lab: Lab, seed: int) -> None:
    dice = random.Random(seed)
    ids = [f"t-{number:02}" for number in range(30)]
    for thread_id in ids:
        make(lab, dice, thread_id)
    parked = FlowsEngineFilter(lab.store)
    policies = (OperatorPolicy("short", "t-1", waiting_minutes=20, finished_minutes=2),)
    for minutes in (0, 7, 33):
        lab.clock.advance(minutes)
        left = sorted(lab.threads())
        said = {t: explained(lab, parked, thread_id=t, policies=policies) for t in left}
        result = lab.run(parked, policies=policies)
        going = {thread_id for thread_id, e in said.items() if e.is_going}
        assert set(left) - lab.threads() == going
        assert count_of(result, Outcome.DELETED) == len(going)
        for thread_id, explanation in said.items():
            now = "goes at the next sweep: "
            begins = now if thread_id in going else ("stays", "goes from ")
            assert explanation.sentence.startswith(begins)


@in_sql
def test_a_thread_goes_from_the_instant_that_was_said_and_not_before(lab: Lab) -> None:
    dice = random.Random(4)
    for number in range(12):
        make(lab, dice, f"t-{number:02}")
    said = {t: explained(lab, thread_id=t).going for t in lab.threads()}
    last = lab.clock.now
    for going in sorted({g.at for g in said.values() if g is not None and g.at > last}):
        lab.clock.now = going - timedelta(microseconds=1)
        lab.run()
        due = {t for t, g in said.items() if g is not None and g.at < going}
        assert lab.threads() == set(said) - due
        lab.clock.now = going


@on_redis
def test_on_redis_a_long_hold_moves_the_end_of_the_keys(lab: Lab) -> None:
    lab.seed("t", 20)
    # By the server's clock, which is not the one that stands still here.
    now = datetime.now(UTC)
    lab.clock.now = now
    lab.store.ledger.hold(["t"], Hold("audit", now + timedelta(hours=2)))
    found = explained(lab)
    assert found.keys_expire_at == now + timedelta(hours=2)
    assert "the waiting retention after its last write or at the end of its hold" in found.sentence
