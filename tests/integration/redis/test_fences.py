"""Whoever lost a batch deletes nothing more, and what it had deleted is counted exactly once."""

from datetime import timedelta
from typing import Any

import pytest

from retention.errors import ClaimLostError
from retention.ports import Claim
from retention.runs import Outcome, RunOutcome, ThreadOutcome
from retention.sweep import finish, open_run, repair, work_on
from tests.contract.pool import LEASE
from tests.integration.redis.looking import dump
from tests.integration.redis.parts import Acting, DyingAt, DyingError, Parts
from tests.seeding import seed_thread

DUE = ["a", "b", "c"]


def opened(parts: Parts, *thread_ids: str) -> None:
    """A run with these due threads in one batch."""
    parts.seed_due(*thread_ids)
    assert open_run(parts.sweep(), "r", allow_over_limit=False) is None


def dies_before_its_record(parts: Parts, client: Any, claim: Claim, *indexes: int) -> None:
    """A worker deletes, and ends before the run log knows of it."""
    with pytest.raises(DyingError):
        parts.over(DyingAt(client, "log_record")).settle(claim, *indexes)


def remaining(parts: Parts) -> set[str]:
    """The threads that are there."""
    return {t for t, facts in parts.threads.facts(DUE).items() if facts.head is not None}


def test_a_claim_ends_by_the_servers_clock(parts: Parts) -> None:
    """The worker's stands half a year behind it, and does not move."""
    opened(parts, *DUE)
    over = parts.claim("over", lease=timedelta(0))
    with pytest.raises(ClaimLostError, match="run 'r' is over"):
        parts.settle(over)
    assert remaining(parts) == set(DUE)
    assert over.batch.outcomes == {}
    parts.clock.advance(0.001)
    parts.settle(parts.claim("lasting"))
    assert remaining(parts) == set()


def test_what_a_dead_worker_deleted_is_counted_by_the_next(parts: Parts, client: Any) -> None:
    opened(parts, *DUE)
    dies_before_its_record(parts, client, parts.claim("dead"), 0, 2)
    assert len(remaining(parts)) == 1
    assert parts.runs.progress("r").values == {}
    parts.clock.now += LEASE + timedelta(seconds=1)
    taken = parts.claim("next")
    assert sorted(taken.batch.outcomes) == [0, 2]
    assert parts.batch().outcomes == taken.batch.outcomes
    parts.settle(taken, *taken.batch.open_indexes())
    parts.runs.finish_batch(taken, parts.clock.now)
    closed = parts.runs.close("r", parts.clock.now)
    assert closed is not None
    assert closed.counts.values == {"deleted:finished": 3}
    assert all(outcome.head for outcome in parts.batch().outcomes.values())


def test_the_worker_before_is_shut_out_of_every_bucket(parts: Parts, client: Any) -> None:
    opened(parts, *DUE)
    slow = parts.claim("slow")
    parts.clock.now += LEASE + timedelta(seconds=1)
    taken = parts.claim("quick")
    for index in range(len(DUE)):
        with pytest.raises(ClaimLostError):
            parts.settle(slow, index)
    assert remaining(parts) == set(DUE)
    parts.settle(taken)
    parts.runs.finish_batch(taken, parts.clock.now)
    parts.seed_due(*DUE)
    with pytest.raises(ClaimLostError):
        parts.settle(slow)
    assert remaining(parts) == set(DUE)


def test_an_earlier_attempt_cannot_take_over_from_a_later_one(parts: Parts) -> None:
    opened(parts, *DUE)
    parts.claim("first")
    parts.clock.now += LEASE + timedelta(seconds=1)

    def overtaken() -> None:
        parts.clock.now += LEASE + timedelta(seconds=1)
        parts.claim("third")

    second = parts.over(Acting(parts.connection.client, "shut", overtaken))
    with pytest.raises(ClaimLostError, match="another worker took over 'r'"):
        second.claim("second")
    assert parts.batch().attempts == 3
    parts.runs.record(third_of(parts), {0: ThreadOutcome(Outcome.BUSY)})


def third_of(parts: Parts) -> Claim:
    """The claim that holds the batch now."""
    run = parts.runs.get("r")
    assert run is not None
    return Claim(run, parts.batch(), "third", parts.clock.now + LEASE)


def test_a_run_that_is_stopped_counts_what_its_lost_worker_deleted(
    parts: Parts, client: Any
) -> None:
    opened(parts, *DUE)
    lost = parts.claim("lost")
    dies_before_its_record(parts, client, lost, 1)
    parts.clock.now += LEASE + timedelta(seconds=1)
    assert parts.runs.stop("r", RunOutcome.PARTIAL, "asked to", parts.clock.now)
    result = finish(parts.sweep(), "r")
    assert result is not None
    assert result.counts.values == {"deleted:finished": 1, "cancelled:unexamined": 2}
    with pytest.raises(ClaimLostError):
        parts.settle(lost)
    assert len(remaining(parts)) == 2
    (source,) = parts.runs.late_sources(parts.clock.now, 10)
    assert (source.run_id, source.number) == ("r", 0)


def test_one_that_dies_while_it_closes_leaves_that_to_the_next(parts: Parts, client: Any) -> None:
    opened(parts, *DUE)
    dies_before_its_record(parts, client, parts.claim("lost"), 1)
    parts.clock.now += LEASE + timedelta(seconds=1)
    parts.runs.stop("r", RunOutcome.PARTIAL, "asked to", parts.clock.now)
    for name in ("log_collect", "log_close"):
        with pytest.raises(DyingError):
            finish(parts.over(DyingAt(client, name)).sweep(), "r")
    repair(parts.sweep())
    closed = parts.runs.get("r")
    assert closed is not None
    assert closed.counts.values == {"deleted:finished": 1, "cancelled:unexamined": 2}


def test_an_outcome_given_while_a_run_is_closed_is_the_one_it_closes_with(
    parts: Parts, client: Any
) -> None:
    opened(parts, "a")
    assert work_on(parts.sweep(), "r", 0).worked
    stops = iter([True])

    def stop() -> None:
        if next(stops, False):
            parts.runs.stop("r", RunOutcome.PARTIAL, "asked to", parts.clock.now)

    closed = parts.over(Acting(client, "log_close", stop)).runs.close("r", parts.clock.now)
    assert closed is not None
    assert (closed.outcome, closed.reason) == (RunOutcome.PARTIAL, "asked to")
    assert parts.runs.totals() == {"deleted:finished": 1, "runs:partial": 1}


def test_a_claim_whose_buckets_cannot_be_shut_is_given_back(parts: Parts, client: Any) -> None:
    opened(parts, *DUE)
    parts.claim("first")
    parts.clock.now += LEASE + timedelta(seconds=1)
    for start in {key[:11] for key in client.keys("lgr:{b*}:m:*")}:
        client.set(start + b"o:0:r", "no outcomes")
    with pytest.raises(Exception, match="WRONGTYPE"):
        parts.claim("second")
    batch = parts.batch()
    assert (batch.attempts, batch.claimed_until) == (2, None)


def test_a_thread_that_changes_is_judged_again(parts: Parts, client: Any) -> None:
    opened(parts, *DUE)
    restarts = iter(["b"])

    def restart() -> None:
        parts.ledger.start([*restarts])

    claim = parts.claim("mine")
    parts.over(Acting(client, "delete", restart)).settle(claim)
    became = {
        claim.batch.candidates[i].thread_id: o.outcome for i, o in claim.batch.outcomes.items()
    }
    deleted = Outcome.DELETED
    assert became == {"a": deleted, "b": Outcome.RESTARTED, "c": deleted}
    assert remaining(parts) == {"b"}


def test_one_that_changes_each_time_is_busy(parts: Parts, client: Any) -> None:
    opened(parts, "a")
    looks = []

    def write() -> None:
        looks.append(seed_thread(parts.saver, "a", parts.clock.now - timedelta(minutes=25)))

    claim = parts.claim("mine")
    parts.over(Acting(client, "delete", write)).settle(claim)
    assert claim.batch.outcomes == {0: ThreadOutcome(Outcome.BUSY)}
    assert len(looks) == 4  # as planned, then after each of three looks


def test_a_thread_that_cannot_be_read_fails_alone_and_the_others_count(
    parts: Parts, client: Any
) -> None:
    opened(parts, *DUE)
    (meta,) = client.keys("*:m:b")
    whole = client.dump(meta)

    def break_it() -> None:
        client.set(meta, "no hash")

    broken = parts.over(Acting(client, "delete", break_it))
    assert work_on(broken.sweep(), "r", 0).worked
    assert parts.runs.progress("r").values == {"deleted:finished": 2, "failed:finished": 1}
    client.restore(meta, 0, whole, replace=True)
    assert remaining(parts) == {"b"}


def test_a_batch_that_went_well_leaves_no_record_in_the_buckets(parts: Parts, client: Any) -> None:
    parts.seed_due(*DUE)
    parts.run()
    assert [key for key in dump(client) if not key.startswith(b"lgr:{log}:")] == []


def test_claims_of_other_stores_are_refused(parts: Parts) -> None:
    opened(parts, "a")
    claim = parts.claim("mine")
    other = Claim(claim.run, claim.batch, claim.token, claim.until)
    with pytest.raises(TypeError, match="not a claim of this store"):
        parts.settle(other)
