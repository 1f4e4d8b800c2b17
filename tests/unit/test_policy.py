"""The two horizons, and what an owner may declare below them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retention import RetentionPolicy, ThreadRetention
from retention.errors import ConfigurationError, ThreadRetentionError
from retention.policy import MAX_MINUTES

minutes = st.integers(1, MAX_MINUTES)


def accepts(policy: RetentionPolicy, declared: ThreadRetention) -> bool:
    """Whether a policy takes a declaration."""
    try:
        policy.accept(declared)
    except ThreadRetentionError:
        return False
    return True


def test_the_defaults_are_seven_days_and_one_day() -> None:
    policy = RetentionPolicy()
    assert (policy.waiting, policy.finished) == (timedelta(days=7), timedelta(days=1))


@pytest.mark.parametrize("wrong", [0, -1, MAX_MINUTES + 1, 1.5, True, "60", float("nan")])
@pytest.mark.parametrize("name", ["waiting_minutes", "finished_minutes"])
def test_a_value_that_is_no_whole_number_of_minutes_is_refused_by_name(
    name: str, wrong: object
) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} must be a whole number"):
        RetentionPolicy(**{name: wrong})  # type: ignore[arg-type]
    with pytest.raises(ThreadRetentionError, match=f"declared {name} must be a whole number"):
        ThreadRetention(**{name: wrong})  # type: ignore[arg-type]


def test_one_minute_and_a_hundred_years_are_the_ends_of_the_range() -> None:
    assert RetentionPolicy(MAX_MINUTES, 1).waiting == timedelta(minutes=MAX_MINUTES)
    assert ThreadRetention(MAX_MINUTES, 1).finished_minutes == 1


def test_finished_above_waiting_is_refused_with_both_values_named() -> None:
    with pytest.raises(ConfigurationError, match=r"finished .*\b61 minutes.* waiting .*\b60 min"):
        RetentionPolicy(60, 61)
    with pytest.raises(ThreadRetentionError, match=r"finished .*\b61 minutes.* waiting .*\b60 min"):
        ThreadRetention(60, 61)


def test_equal_horizons_are_accepted() -> None:
    assert RetentionPolicy(60, 60).finished == RetentionPolicy(60, 60).waiting
    assert ThreadRetention(60, 60).finished_minutes == 60


@pytest.mark.parametrize(
    ("declared", "named"),
    [
        (
            ThreadRetention(waiting_minutes=101),
            r"waiting .*\b101 minutes .*platform's waiting .*100",
        ),
        (
            ThreadRetention(finished_minutes=51),
            r"finished .*\b51 minutes .*platform's finished .*50",
        ),
        (ThreadRetention(101, 50), r"\b101 minutes .*\b100 minutes"),
        (ThreadRetention(100, 51), r"\b51 minutes .*\b50 minutes"),
    ],
)
def test_a_declared_value_above_its_ceiling_is_refused_with_both_values_named(
    declared: ThreadRetention, named: str
) -> None:
    with pytest.raises(ThreadRetentionError, match=named):
        RetentionPolicy(100, 50).accept(declared)


def test_declared_values_at_their_ceilings_are_accepted() -> None:
    RetentionPolicy(100, 50).accept(ThreadRetention(100, 50))
    RetentionPolicy(100, 50).accept(ThreadRetention())


@pytest.mark.parametrize(
    ("declared", "waiting", "finished"),
    [
        (None, 100, 50),
        (ThreadRetention(), 100, 50),
        (ThreadRetention(finished_minutes=20), 100, 20),
        (ThreadRetention(waiting_minutes=80), 80, 50),
        # An unset finished value is the platform's, capped at the thread's own waiting one.
        (ThreadRetention(waiting_minutes=30), 30, 30),
        (ThreadRetention(30, 10), 30, 10),
    ],
)
def test_half_a_declaration_is_completed_from_the_platform(
    declared: ThreadRetention | None, waiting: int, finished: int
) -> None:
    assert RetentionPolicy(100, 50).for_thread(declared) == RetentionPolicy(waiting, finished)


@pytest.mark.parametrize(
    ("declared", "waiting", "finished"),
    [
        (ThreadRetention(90, 40), 20, 10),
        (ThreadRetention(15, 15), 15, 10),
        (ThreadRetention(waiting_minutes=5), 5, 5),
        (ThreadRetention(finished_minutes=40), 20, 10),
    ],
)
def test_a_platform_value_lowered_later_caps_older_declarations(
    declared: ThreadRetention, waiting: int, finished: int
) -> None:
    RetentionPolicy(100, 50).accept(declared)
    assert RetentionPolicy(20, 10).for_thread(declared) == RetentionPolicy(waiting, finished)


@given(*[minutes] * 2, *[st.none() | minutes] * 2)
def test_no_thread_outlives_the_platform_and_none_has_finished_above_waiting(
    one: int, other: int, waiting: int | None, finished: int | None
) -> None:
    policy = RetentionPolicy(max(one, other), min(one, other))
    if waiting is not None and finished is not None and finished > waiting:
        waiting, finished = finished, waiting
    declared = ThreadRetention(waiting, finished)
    own = policy.for_thread(declared)
    assert own.finished_minutes <= own.waiting_minutes <= policy.waiting_minutes
    assert own.finished_minutes <= policy.finished_minutes
    if accepts(policy, declared):
        assert own.waiting_minutes == (waiting or policy.waiting_minutes)
        assert own.finished_minutes == min(finished or policy.finished_minutes, own.waiting_minutes)
