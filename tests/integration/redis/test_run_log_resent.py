"""Every step comes to the same where its call is sent again because the answer was lost."""

from datetime import timedelta
from typing import Any

import pytest

from retention.deliveries import Delivery
from retention.errors import ClaimLostError
from retention.ports import BatchPlan
from retention.runs import BatchKind, Candidate, Run, RunOutcome, Source, ThreadOutcome
from retention.runs import Outcome as Became
from retention.sweep import open_run, work_on
from retention.threads import Hold, Horizon
from tests.contract.lab import POLICY
from tests.contract.pool import LEASE
from tests.integration.redis.looking import dump
from tests.integration.redis.parts import Parts, Resending
from tests.seeding import config_of

DUE = ["a", "b", "c", "d", "e"]


@pytest.fixture
def resent(parts: Parts, client: Any) -> Parts:
    """The same store, through a client that sends everything twice."""
    return parts.over(Resending(client))


def open_with(parts: Parts, *thread_ids: str) -> None:
    """A run with these threads in one batch, ready to be claimed."""
    until = parts.clock.now + LEASE
    assert parts.runs.open(Run("r", POLICY, parts.clock.now, until), "plan")
    candidates = [Candidate(thread_id, Horizon.FINISHED) for thread_id in thread_ids]
    parts.runs.add_batches("r", "plan", 0, [BatchPlan(BatchKind.SWEEP, candidates)], until)
    parts.runs.end_plan("r", "plan", until)


def test_a_whole_sweep_counts_and_deletes_once(resent: Parts) -> None:
    heads = resent.seed_due(*DUE)
    result = resent.run(batch_size=2)
    assert (result.planned, result.counts.values) == (5, {"deleted:finished": 5})
    assert resent.runs.totals() == {"deleted:finished": 5, "runs:completed": 1}
    assert resent.runs.count_batches("run") == 3
    assert resent.runs.unpublished(10) == []
    resent.saver.put_writes(config_of("a", "", heads["a"]), [("messages", "late")], "late")
    assert resent.run("next").counts.values == {"cleaned:finished": 1}
    assert resent.threads.facts(["a"])["a"].head is None


def test_it_leaves_the_same_keys_as_one_that_lost_no_answer(
    parts: Parts, resent: Parts, client: Any
) -> None:
    kept = []
    for swept in (parts, resent):
        client.flushall()
        swept.seed_due(*DUE)
        swept.run(batch_size=2)
        found = dump(client)
        kept.append({key: without_calls(value) for key, value in found.items()})
    assert kept[0] == kept[1]
    assert b"lgr:{log}:b:2:run" in kept[0]


def without_calls(value: Any) -> Any:
    """A record without what is another for each call, and without heads, which are random."""
    names = (b"call", b"token", b"closer", b"candidates", b"outcomes")
    return {name: part for name, part in value.items() if name not in names}


def test_a_run_is_opened(resent: Parts) -> None:
    run = Run("r", POLICY, resent.clock.now, resent.clock.now + LEASE)
    assert resent.runs.open(run, "token")
    assert not resent.runs.open(run, "other")
    assert resent.runs.live() == run


def test_a_plan_is_taken_over_once(resent: Parts) -> None:
    open_with_a_dead_plan(resent)
    until = resent.clock.now + LEASE
    assert resent.runs.take_plan("r", "new", resent.clock.now, until)
    assert not resent.runs.take_plan("r", "third", resent.clock.now, until)
    assert resent.runs.count_batches("r") == resent.runs.count_open("r") == 0


def open_with_a_dead_plan(parts: Parts) -> None:
    """A run with more batches than one call drops, whose planner is gone."""
    until = parts.clock.now + LEASE
    assert parts.runs.open(Run("r", POLICY, parts.clock.now, until), "plan")
    plans = [BatchPlan(BatchKind.SWEEP, [Candidate("t", Horizon.FINISHED)])] * 1_100
    parts.runs.add_batches("r", "plan", 0, plans, until)
    assert parts.runs.count_batches("r") == 1_100
    parts.clock.now = until + timedelta(seconds=1)


def test_a_claim_is_one_attempt(resent: Parts) -> None:
    open_with(resent, "t")
    assert resent.claim("mine").batch.attempts == 1
    now = resent.clock.now
    assert resent.runs.claim("r", 0, "mine", now, now + LEASE) is None


def test_a_claim_given_back_is_free(resent: Parts) -> None:
    open_with(resent, "t")
    resent.claim("mine")
    resent.runs.release("r", 0, "mine")
    assert resent.claim("other").batch.attempts == 2


def test_a_batch_ends_once(resent: Parts) -> None:
    open_with(resent, "t")
    claim = resent.claim("mine")
    resent.runs.record(claim, {0: ThreadOutcome(Became.RESTARTED)})
    resent.runs.finish_batch(claim, resent.clock.now)
    with pytest.raises(ClaimLostError):
        resent.runs.record(claim, {})
    assert resent.runs.count_open("r") == 0


def test_a_delivery_is_taken_once_and_kept_as_recorded(resent: Parts) -> None:
    open_with(resent, "t")
    claim = resent.claim("mine")
    resent.runs.record(claim, {0: ThreadOutcome(Became.DELETED, head="h")})
    resent.runs.finish_batch(claim, resent.clock.now, owes=True)
    deliveries, now, source = resent.runs.deliveries, resent.clock.now, Source("r", 0)
    assert (deliveries.count(), deliveries.pending(now, 10)) == (1, [source])
    taken = deliveries.take(source, now, now + LEASE)
    assert taken is not None
    assert taken.thread_ids == ["t"]
    assert deliveries.take(source, now, now + 2 * LEASE) is None
    deliveries.record(source, {"files": Delivery(1, None, "no")}, now, now)
    assert [owed.deliveries for owed in deliveries.listing(10)] == [
        {"files": Delivery(1, None, "no")}
    ]
    deliveries.record(source, {"files": Delivery(2, now)}, None, now)
    assert (deliveries.count(), deliveries.listing(10)) == (0, [])


def test_a_run_that_could_not_be_opened_counts_once(resent: Parts) -> None:
    resent.runs.count_unopened(RunOutcome.SKIPPED_LOCKED)
    resent.runs.count_unopened(RunOutcome.SKIPPED_LOCKED)
    assert resent.runs.totals() == {"runs:skipped_locked": 2}


def test_a_run_is_closed_by_the_one_that_asked(parts: Parts, resent: Parts) -> None:
    open_with(resent, "t")
    assert resent.runs.stop("r", RunOutcome.PARTIAL, "asked to", resent.clock.now)
    closed = resent.runs.close("r", resent.clock.now)
    assert closed is not None
    assert closed.counts.values == {"cancelled:unexamined": 1}
    assert parts.runs.close("r", parts.clock.now) is None
    assert resent.runs.totals() == {"cancelled:unexamined": 1, "runs:partial": 1}


def test_a_run_is_forgotten(resent: Parts) -> None:
    open_with_a_dead_plan(resent)
    resent.runs.stop("r", RunOutcome.PARTIAL, "asked to", resent.clock.now)
    assert resent.runs.close("r", resent.clock.now) is not None
    later = resent.clock.now + timedelta(seconds=1)
    assert resent.runs.forget(later, 10) == 1
    assert resent.runs.history(10) == []


def test_the_ledger_keeps_what_it_was_told(resent: Parts) -> None:
    resent.seed_due("t")
    resent.ledger.start(["t"])
    resent.ledger.mark_finished(["t"], "flows")
    assert resent.ledger.hold(["t"], Hold("audit")) == {"t"}
    entry = resent.ledger.entries(["t"])["t"]
    assert (entry.owner, entry.hold) == ("flows", Hold("audit", at=resent.clock.now))
    assert resent.ledger.release(["t", "unknown"]) == {"t"}
    assert resent.ledger.entries(["t"])["t"].hold is None


def test_a_batch_of_a_pool_is_worked_on_once(resent: Parts) -> None:
    resent.seed_due(*DUE)
    sweep = resent.sweep()
    assert open_run(sweep, "r", allow_over_limit=False) is None
    assert work_on(sweep, "r", 0).worked
    assert not work_on(sweep, "r", 0).worked
    assert resent.runs.progress("r").values == {"deleted:finished": 5}
