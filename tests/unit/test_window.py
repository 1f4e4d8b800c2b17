"""When a scheduled sweep may start: crontab fields in one time zone, clock changes included."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from retention.errors import ConfigurationError
from worker.settings import load_sweep_settings
from worker.settings.window import Window, parse_window, parse_zone

BERLIN = ZoneInfo("Europe/Berlin")


def window(text: str) -> Window:
    found = parse_window(text)
    assert isinstance(found, Window)
    return found


def utc(month: int, day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "instant", "is_open"),
    [
        ("* 1-5 * * *", utc(6, 1, 1), True),
        ("* 1-5 * * *", utc(6, 1, 5, 59), True),
        ("* 1-5 * * *", utc(6, 1, 6), False),
        ("* 22-4 * * *", utc(6, 1, 23), True),
        ("* 22-4 * * *", utc(6, 1, 4), True),
        ("* 22-4 * * *", utc(6, 1, 12), False),
        ("0-29 * * * *", utc(6, 1, 12, 30), False),
        # The first of June 2026 is a Monday; Sunday is 0.
        ("* * * * 0,6", utc(6, 1, 12), False),
        ("* * * * 1", utc(6, 1, 12), True),
        ("* * * * 0", utc(6, 7, 12), True),
        ("* * * * 6", utc(6, 6, 12), True),
        ("* * 1 * *", utc(6, 1, 12), True),
        ("* * 2-31 * *", utc(6, 1, 12), False),
        ("* * * 7 *", utc(6, 1, 12), False),
        # All five fields must match, days of the month and of the week too.
        ("* * 1 * 0", utc(6, 1, 12), False),
    ],
)
def test_a_window_is_open_in_the_minutes_that_all_its_fields_match(
    text: str, instant: datetime, is_open: bool
) -> None:
    assert window(text).is_open(instant, UTC) is is_open


def test_a_window_is_read_by_the_clocks_of_its_zone() -> None:
    night = window("* 2 * * *")
    assert night.is_open(utc(1, 10, 1), BERLIN)  # winter: an hour ahead
    assert night.is_open(utc(7, 10, 0), BERLIN)  # summer: two
    assert not night.is_open(utc(7, 10, 1), BERLIN)


def test_an_hour_that_the_clocks_leave_out_is_never_open() -> None:
    night = window("* 2 * * *")
    assert not any(night.is_open(utc(3, 29, h, m), BERLIN) for h in range(3) for m in (0, 30, 59))


def test_an_hour_that_the_clocks_show_twice_is_open_twice() -> None:
    night = window("* 2 * * *")
    hours = [h for h in range(24) if night.is_open(utc(10, 25, h), BERLIN)]
    assert hours == [0, 1]


@pytest.mark.parametrize("text", ["1-5", "* 1-5 * *", "* 24 * * *", "60 * * * *", "a b c d e"])
def test_what_is_no_crontab_is_refused_with_the_rule(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_sweep_settings({"SWEEP_WINDOW": text}, None)
    line = str(caught.value)
    assert line.startswith(f"SWEEP_WINDOW={text!r} is refused: five crontab fields")
    assert "\n" not in line


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "/etc/localtime", "Europe"])
def test_what_is_no_time_zone_is_refused_with_the_rule(name: str) -> None:
    with pytest.raises(ConfigurationError, match="the name of a time zone such as Europe/Berlin"):
        load_sweep_settings({"SWEEP_WINDOW_TIMEZONE": name}, None)


def test_without_a_window_a_sweep_may_start_at_any_time() -> None:
    for variables in ({}, {"SWEEP_WINDOW": "null"}):
        assert load_sweep_settings(variables, None).closed(utc(6, 1, 12)) is None


def test_a_closed_window_says_so() -> None:
    variables = {"SWEEP_WINDOW": "*  1-5 * * *", "SWEEP_WINDOW_TIMEZONE": "Europe/Berlin"}
    settings = load_sweep_settings(variables, None)
    assert settings.closed(utc(6, 1, 1)) is None
    expected = "the window '* 1-5 * * *' (Europe/Berlin, SWEEP_WINDOW) is closed"
    assert settings.closed(utc(6, 1, 12)) == expected


def test_what_is_read_already_stays_as_it_is() -> None:
    assert parse_window(None) is None
    assert parse_zone(BERLIN) is BERLIN


@pytest.mark.parametrize("value", ["-0.1", "60.5", "nan", "inf", "soon"])
def test_a_rest_out_of_bounds_is_refused(value: str) -> None:
    with pytest.raises(ConfigurationError, match="a number of seconds from 0 to 60 is needed"):
        load_sweep_settings({"SWEEP_PAUSE_SECONDS": value}, None)
