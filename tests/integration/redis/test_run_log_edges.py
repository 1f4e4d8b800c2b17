"""The run log where its records are many, broken, or of threads that hold nothing."""

from datetime import timedelta
from typing import Any

import pytest

from retention.errors import StoreError
from retention.ports import BatchPlan
from retention.runs import BatchKind, Candidate, Outcome, Run, RunOutcome, Source
from retention.sweep import finish, open_run, pause, work_on
from retention.threads import Horizon
from tests.contract.lab import POLICY
from tests.contract.pool import LEASE
from tests.integration.redis.looking import dump
from tests.integration.redis.parts import Acting, DyingAt, DyingError, Parts
from tests.seeding import config_of

EXPIRED = LEASE + timedelta(seconds=1)


def plan_many(parts: Parts, count: int) -> None:
    """A run with so many batches, each of one thread."""
    until = parts.clock.now + LEASE
    assert parts.runs.open(Run("r", POLICY, parts.clock.now, until), "plan")
    plan = BatchPlan(BatchKind.SWEEP, [Candidate("t", Horizon.FINISHED)])
    parts.runs.add_batches("r", "plan", 0, [plan] * count, until)
    parts.runs.end_plan("r", "plan", until)


def test_a_run_of_more_batches_than_a_call_takes_is_stopped_counted_and_forgotten(
    parts: Parts, client: Any
) -> None:
    plan_many(parts, 1_100)
    assert len(list(parts.runs.batches("r"))) == parts.runs.count_open("r") == 1_100
    assert parts.runs.stop("r", RunOutcome.PARTIAL, "asked to", parts.clock.now)
    assert parts.runs.count_open("r") == 0
    closed = parts.runs.close("r", parts.clock.now)
    assert closed is not None
    assert closed.counts.values == {"cancelled:unexamined": 1_100}
    parts.runs.mark_published("r", parts.clock.now)
    assert parts.runs.forget(parts.clock.now + timedelta(seconds=1), 10) == 1
    assert list(dump(client)) == [b"lgr:{log}:totals"]
    parts.runs.mark_published("r", parts.clock.now)
    assert list(dump(client)) == [b"lgr:{log}:totals"]


@pytest.mark.parametrize("stored", ["", "[1]", "[null,null,null,null]", '["x",null,null,null]'])
def test_a_pause_that_cannot_be_read_is_named_and_can_be_written_anew(
    parts: Parts, client: Any, stored: str
) -> None:
    client.set("lgr:{log}:pause", stored)
    with pytest.raises(StoreError, match=r"pause in lgr:\{log\}:pause cannot be read"):
        open_run(parts.sweep(), "r", allow_over_limit=False)
    pause(parts.sweep(), by="ops")
    found = parts.runs.pauses.current()
    assert found is not None
    assert found.by == "ops"


def test_totals_that_cannot_be_read_are_named(parts: Parts, client: Any) -> None:
    client.hset("lgr:{log}:totals", "deleted:finished", "many")
    with pytest.raises(StoreError, match=r"totals in lgr:\{log\}:totals cannot be read"):
        parts.runs.totals()


def test_a_mark_without_a_checkpoint_is_cleared_and_its_writes_stay(
    parts: Parts, client: Any
) -> None:
    """So does what an earlier worker cleared, and did not live to tell."""
    heads = parts.seed_due("writes", "nothing")
    for thread_id in heads:
        (meta,) = client.keys(f"*:m:{thread_id}")
        client.hdel(meta, "head", "at")
        client.delete(*client.keys(f"*:[cib]:{thread_id}"))
        if thread_id == "nothing":
            client.delete(*client.keys("*:w:nothing"))
    assert open_run(parts.sweep(), "r", allow_over_limit=False) is None
    with pytest.raises(DyingError):
        parts.over(DyingAt(client, "log_record")).settle(parts.claim("dead"))
    parts.clock.now += EXPIRED
    assert {o.outcome for o in parts.claim("next").batch.outcomes.values()} == {Outcome.GONE}
    facts = parts.threads.facts(list(heads))
    assert [found.entry for found in facts.values()] == [None, None]
    assert [key for key in client.keys("*:w:*") if key.endswith(b":writes")] != []
    assert client.keys("*:m:nothing") == []


def test_a_look_for_late_writes_is_taken_over_as_any_batch(parts: Parts, client: Any) -> None:
    head = parts.seed_due("t")["t"]
    parts.run("first")
    parts.saver.put_writes(config_of("t", "", head), [("messages", "late")], "late")
    assert open_run(parts.sweep(), "r", allow_over_limit=False) is None
    assert parts.claim("dead").batch.source == Source("first", 0)
    parts.clock.now += EXPIRED
    assert work_on(parts.sweep(), "r", 0).worked
    result = finish(parts.sweep(), "r")
    assert result is not None
    assert result.counts.values == {"cleaned:finished": 1}
    assert [key for key in dump(client) if b"{log}" not in key] == []


def test_a_look_whose_worker_is_lost_is_made_by_the_next_sweep(parts: Parts) -> None:
    parts.seed_due("t")
    parts.run("first")
    assert open_run(parts.sweep(), "r", allow_over_limit=False) is None
    parts.claim("dead")
    parts.clock.now += EXPIRED
    parts.runs.stop("r", RunOutcome.PARTIAL, "asked to", parts.clock.now)
    assert finish(parts.sweep(), "r") is not None
    assert parts.runs.late_sources(parts.clock.now, 10) == [Source("first", 0)]


def test_two_that_close_a_run_at_once_total_it_once(parts: Parts, client: Any) -> None:
    plan_many(parts, 1)
    parts.runs.stop("r", RunOutcome.PARTIAL, "asked to", parts.clock.now)
    won = []
    racing = Acting(client, "log_close", lambda: won.append(parts.runs.close("r", parts.clock.now)))
    assert parts.over(racing).runs.close("r", parts.clock.now) is None
    assert [run.run_id for run in won if run] == ["r"]
    assert parts.runs.totals() == {"cancelled:unexamined": 1, "runs:partial": 1}
