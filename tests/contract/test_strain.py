"""Batches wait while the store's server is behind: between transactions, and not for ever."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from retention.errors import ConfigurationError
from retention.runs import Outcome, RunOutcome
from retention.sweep import Sweep, check_strain, open_run, repair, work_on
from tests.contract.lab import Lab, count_of, on_postgres, run_sweep
from tests.contract.pool import LEASE, Queue
from tests.contract.test_limits import seed_due

LIMITS: dict[str, Any] = {"max_replica_lag": timedelta(seconds=10), "max_lock_waits": 3}
#: How long a batch waits at most, and how often the server is asked.
LONGEST, STEP = timedelta(seconds=60), timedelta(seconds=5)

Gauge = Callable[[float, int], None]


@pytest.fixture
def gauge(lab: Lab) -> Gauge:
    """Lets the store's server tell of a replica so many seconds behind and of sessions waiting."""
    told = {"lag": timedelta(), "waits": 0}

    def tell(lag: float, waits: int) -> None:
        told.update(lag=timedelta(seconds=lag), waits=waits)

    methods = {"replica_lag": lambda _: told["lag"], "lock_waits": lambda _: told["waits"]}
    kind = type(lab.worker.deleter)
    # A class of its own: which abilities a class has is looked up once.
    lab.worker.deleter.__class__ = type("Telling", (kind,), methods)
    return tell


def patient(
    lab: Lab, dispatch: Any = None, then: Callable[[], None] = lambda: None, **options: Any
) -> Sweep:
    """A sweep that keeps to the limits; when it sleeps the clock moves and something happens."""

    def sleep(seconds: float) -> None:
        lab.clock.now += timedelta(seconds=seconds)
        then()

    sweep = lab.sweep(dispatch=dispatch, **{**LIMITS, **options})
    return replace(sweep, sleep=sleep)


@pytest.mark.parametrize(
    ("lag", "waits", "named"),
    [
        (11, 0, "a replica is 11 seconds behind, more than 10 (SWEEP_MAX_REPLICA_LAG_SECONDS)"),
        (0, 4, "4 sessions wait for a lock, more than 3 (SWEEP_MAX_LOCK_WAITS)"),
    ],
)
def test_a_batch_is_put_off_while_the_server_stays_behind(
    lab: Lab, gauge: Gauge, lag: float, waits: int, named: str
) -> None:
    gauge(0, 0)
    seed_due(lab, 1)
    queue = Queue()
    sweep = patient(lab, queue)
    assert open_run(sweep, "r", allow_over_limit=False) is None
    gauge(lag, waits)
    began = lab.clock.now
    report = work_on(sweep, *queue.sent[0])
    assert (report.worked, report.held_up) == (False, named)
    assert report.retry_at == lab.clock.now == began + LONGEST
    run, batch = lab.store.runs.live(), lab.store.runs.batch("r", 0)
    assert run is not None
    assert batch is not None
    # Its message comes back: no tick sends another one beside it.
    assert run.lease_until == lab.clock.now + LEASE
    assert batch.attempts == 0
    queue.sent.clear()
    repair(sweep)
    assert queue.sent == []
    gauge(10, 3)
    assert work_on(sweep, "r", 0).worked


def test_a_batch_goes_on_as_soon_as_the_server_has_caught_up(lab: Lab, gauge: Gauge) -> None:
    gauge(11, 0)
    seed_due(lab, 1)
    began = lab.clock.now
    result = run_sweep(patient(lab, then=lambda: gauge(9, 0)))
    assert (result.outcome, count_of(result, Outcome.DELETED)) == (RunOutcome.COMPLETED, 1)
    assert lab.clock.now == began + STEP


def test_a_sweep_in_this_process_gives_up_and_leaves_the_rest_to_the_next(
    lab: Lab, gauge: Gauge
) -> None:
    gauge(11, 0)
    seed_due(lab, 2)
    result = run_sweep(patient(lab, batch_size=1))
    assert result.outcome is RunOutcome.PARTIAL
    assert "11 seconds behind" in (result.reason or "")
    gauge(0, 0)
    lab.clock.now += timedelta(microseconds=1)
    assert run_sweep(patient(lab, batch_size=1)).outcome is RunOutcome.COMPLETED
    assert lab.threads() == set()


def test_nothing_waits_for_a_server_once_the_time_budget_is_used_up(lab: Lab, gauge: Gauge) -> None:
    gauge(11, 0)
    seed_due(lab, 1)
    result = run_sweep(patient(lab, time_budget=timedelta(seconds=12)))
    assert result.outcome is RunOutcome.BUDGET_EXHAUSTED
    assert result.duration == 3 * STEP


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_that_the_store_cannot_tell_of_is_refused(lab: Lab, limit: str) -> None:
    sweep = lab.sweep(**{limit: LIMITS[limit]})
    if lab.store.provider == "postgres" and limit == "max_lock_waits":
        check_strain(sweep)
        return
    with pytest.raises(ConfigurationError) as caught:
        open_run(sweep, "r", allow_over_limit=False)
    line = str(caught.value)
    assert "SWEEP_MAX_REPLICA_LAG_SECONDS" in line
    assert "\n" not in line
    assert lab.store.runs.live() is None


@on_postgres
def test_a_role_that_may_not_see_replicas_is_told_what_to_grant(lab: Lab) -> None:
    sweep = lab.sweep(max_replica_lag=timedelta(seconds=1))
    with pytest.raises(ConfigurationError, match="GRANT pg_read_all_stats"):
        check_strain(sweep)
