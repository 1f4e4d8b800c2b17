"""A worker's clock that jumps a day: nothing goes before its time by the clock a run began with."""

from retention.runs import RunOutcome
from retention.sweep import finish, open_run, work_on
from tests.contract.lab import Lab, on_disk, run_sweep
from tests.contract.pool import Queue, claimed

_DAY = 24 * 60


def test_a_jump_forward_within_a_run_makes_no_thread_due(lab: Lab) -> None:
    """Threads are judged by the instant at which their run began."""
    lab.seed("due", 30, marked=20)
    sweep = lab.sweep(dispatch=Queue())
    assert open_run(sweep, "r", allow_over_limit=False) is None
    lab.store.ledger.mark_finished(["due"])
    lab.clock.advance(_DAY)
    assert work_on(sweep, "r", 0).worked
    result = finish(sweep, "r")
    assert result is not None
    assert result.counts.values == {"restarted:finished": 1}
    assert lab.threads() == {"due"}


def test_a_jump_back_within_a_run_loses_and_doubles_nothing(lab: Lab) -> None:
    lab.seed("due", 30, marked=20)
    sweep = lab.sweep(dispatch=Queue())
    assert open_run(sweep, "r", allow_over_limit=False) is None
    lab.clock.advance(-_DAY)
    assert work_on(sweep, "r", 0).worked
    result = finish(sweep, "r")
    assert result is not None
    assert result.counts.values == {"deleted:finished": 1}
    lab.clock.advance(_DAY)
    assert lab.run().counts.values == {}


def test_a_clock_a_day_behind_deletes_later_and_not_otherwise(lab: Lab) -> None:
    lab.seed("due", 30, marked=20)
    lab.clock.advance(-_DAY)
    assert lab.run().counts.values == {}
    assert lab.threads() == {"due"}
    lab.clock.advance(_DAY)
    assert lab.run().counts.values == {"deleted:finished": 1}


@on_disk
def test_after_a_jump_back_a_dead_workers_run_waits_for_its_lease_or_an_operator(lab: Lab) -> None:
    """Its claim ends a day from now: a sweep says which run is in the way, and can cancel it."""
    lab.seed("due", 30, marked=20)
    lab.clock.advance(_DAY)
    assert open_run(lab.sweep(dispatch=Queue()), "r", allow_over_limit=False) is None
    assert claimed(lab, "dead") is not None
    lab.clock.advance(-_DAY)
    skipped = run_sweep(lab.sweep())
    assert skipped.outcome is RunOutcome.SKIPPED_LOCKED
    assert "run r, its lease runs until 2026-06-02" in str(skipped.reason)
    assert lab.threads() == {"due"}
    lab.clock.advance(_DAY + 10)
    lab.run()
    assert lab.threads() == set()
    assert lab.store.runs.totals()["deleted:finished"] == 1
