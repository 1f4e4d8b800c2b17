"""The settings of the brakes, as the options of a sweep."""

from datetime import timedelta

from retention.sweep import SweepOptions
from worker.settings import load_sweep_settings
from worker.wiring import sweep_options


def options(**variables: str) -> SweepOptions:
    return sweep_options(
        load_sweep_settings({f"SWEEP_{name}": value for name, value in variables.items()}, None)
    )


def test_every_brake_is_off_unless_set() -> None:
    found = options()
    assert (found.max_replica_lag, found.max_lock_waits) == (None, None)
    assert (found.threads_per_second, found.rest) == (None, timedelta())


def test_each_setting_is_an_option() -> None:
    found = options(
        MAX_REPLICA_LAG_SECONDS="9",
        MAX_LOCK_WAITS="0",
        MAX_THREADS_PER_SECOND="40",
        PAUSE_SECONDS="0.25",
    )
    assert (found.max_replica_lag, found.max_lock_waits) == (timedelta(seconds=9), 0)
    assert (found.threads_per_second, found.rest) == (40, timedelta(seconds=0.25))


def test_waits_and_rests_of_a_batch_leave_half_of_its_time_to_its_work() -> None:
    found = options(SOFT_TIME_LIMIT_SECONDS="100", MAX_THREADS_PER_SECOND="4")
    quarter = timedelta(seconds=25)
    assert found.backoff_longest == found.rest_longest == quarter
    # At four threads per second.
    assert found.batch_size == 100
