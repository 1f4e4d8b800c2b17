"""How large the next transaction may be, and when it may begin."""

from datetime import UTC, datetime, timedelta

import pytest

from retention.sweep import SweepOptions
from retention.sweep.pacing import (
    GOOD_BEFORE_GROWTH,
    Pace,
    TransactionSize,
    batch_size_at,
    next_start,
)

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
NOTHING = timedelta()


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.parametrize(("tried", "next_size"), [(500, 250), (3, 1), (2, 1), (1, 1)])
def test_what_ran_out_of_time_is_halved_down_to_one(tried: int, next_size: int) -> None:
    assert TransactionSize().after_timeout(tried) == TransactionSize(next_size)


def test_a_size_doubles_after_enough_that_went_well_and_ends_as_no_limit() -> None:
    size, seen = TransactionSize(125), [125]
    while size.threads is not None:
        for _ in range(GOOD_BEFORE_GROWTH):
            size = size.after_success(size.threads or 0, 500)
        seen.append(size.threads or 0)
    assert seen == [125, 250, 0]
    assert size == TransactionSize()
    assert size.after_success(500, 500) == size


def test_a_timeout_begins_the_count_of_good_ones_anew() -> None:
    size = TransactionSize(100, good=GOOD_BEFORE_GROWTH - 1).after_timeout(100)
    assert size.after_success(50, 500) == TransactionSize(50, 1)


def test_a_transaction_with_few_threads_proves_nothing() -> None:
    assert TransactionSize(100, 2).after_success(99, 500) == TransactionSize(100, 2)


@pytest.mark.parametrize(
    ("took", "threads", "rate", "rest", "expected"),
    [
        (1, 500, None, NOTHING, 1),
        (1, 500, None, seconds(0.5), 1.5),
        (1, 100, 50, NOTHING, 2),
        (3, 100, 50, NOTHING, 3),
        (1, 100, 50, seconds(5), 6),
    ],
)
def test_the_next_transaction_waits_for_rate_and_rest_whichever_is_later(
    took: float, threads: int, rate: int | None, rest: timedelta, expected: float
) -> None:
    start = next_start(NOW, NOW + seconds(took), threads, rate, rest)
    assert start == NOW + seconds(expected)


@pytest.mark.parametrize(
    ("size", "rate", "longest", "expected"),
    [(500, None, 60, 500), (500, 100, 60, 500), (500, 5, 60, 300), (500, 1, 0.25, 1)],
)
def test_a_batch_is_no_larger_than_its_rate_settles_in_time(
    size: int, rate: int | None, longest: float, expected: int
) -> None:
    assert batch_size_at(size, rate, seconds(longest)) == expected


def test_a_transaction_holds_no_more_than_a_seconds_worth() -> None:
    pace = Pace()
    assert pace.limit(SweepOptions()) == 500
    assert pace.limit(SweepOptions(threads_per_second=40)) == 40
    pace.timed_out(60)
    assert pace.limit(SweepOptions(threads_per_second=40)) == 30


def test_a_pace_without_limits_never_sleeps() -> None:
    pace, slept = Pace(), list[float]()
    pace.begin_batch(SweepOptions())
    pace.settled(500, NOW, NOW, SweepOptions())
    pace.rest(NOW, slept.append)
    assert slept == []


def test_a_process_sleeps_until_its_next_transaction_may_begin() -> None:
    pace, slept = Pace(), list[float]()
    options = SweepOptions(threads_per_second=10)
    pace.begin_batch(options)
    pace.settled(10, NOW, NOW + seconds(0.25), options)
    pace.rest(NOW + seconds(0.25), slept.append)
    pace.rest(NOW + seconds(1), slept.append)
    assert slept == [0.75]


def test_a_batch_rests_no_longer_than_it_may_in_all() -> None:
    pace, slept = Pace(), list[float]()
    options = SweepOptions(rest=seconds(4), rest_longest=seconds(10))
    pace.begin_batch(options)
    for _ in range(5):
        pace.settled(1, NOW, NOW, options)
        pace.rest(NOW, slept.append)
    assert slept == [4, 4, 2]
    pace.begin_batch(options)
    pace.rest(NOW, slept.append)
    assert slept == [4, 4, 2, 4]


def test_where_others_wait_to_write_few_threads_go_and_a_rest_follows_as_long_as_that_took() -> (
    None
):
    pace, slept = Pace(), list[float]()
    options = SweepOptions()
    assert pace.limit(options, shared=True) == 50
    assert pace.limit(SweepOptions(batch_size=20), shared=True) == 20
    pace.begin_batch(options)
    pace.settled(50, NOW, NOW + seconds(0.5), options, shared=True)
    pace.rest(NOW + seconds(0.5), slept.append)
    assert slept == [0.5]
