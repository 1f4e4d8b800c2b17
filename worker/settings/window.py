"""When scheduled sweeps may start: five crontab fields, read in one time zone."""

from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

WINDOW_RULE = (
    "five crontab fields that match the minutes in which a sweep may start, such as * 1-5 * * *, "
    "are needed, or null for always"
)
ZONE_RULE = "the name of a time zone such as Europe/Berlin is needed"


@dataclass(frozen=True, slots=True)
class Window:
    """The minutes that all five fields of a crontab match, each as the numbers it stands for."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    #: Sunday is 0.
    weekdays: frozenset[int]

    def is_open(self, instant: datetime, zone: tzinfo) -> bool:
        """Whether a sweep may start in the minute that a clock in this zone shows then.

        An hour that a zone's clocks show twice is open twice; one that they leave out is not.
        """
        local = instant.astimezone(zone)
        return (
            local.minute in self.minutes
            and local.hour in self.hours
            and local.day in self.days
            and local.month in self.months
            and local.isoweekday() % 7 in self.weekdays
        )


def parse_window(value: object) -> object:
    """Read a window as a person writes it; anything that is no text comes back unchanged.

    Raises:
        ValueError: The text is no crontab of five fields.
    """
    if not isinstance(value, str):
        return value
    if value == "null":
        return None
    fields = value.split()
    if len(fields) != 5:
        raise ValueError(WINDOW_RULE)
    return Window(" ".join(fields), *map(frozenset, _numbers(" ".join(fields))))


def _numbers(text: str) -> tuple[Any, ...]:
    # Celery takes a quarter of a second to import; most deployments have no window.
    from celery.schedules import ParseException, crontab

    try:
        read: Any = crontab.from_string(text)
    except (ParseException, ValueError) as error:
        raise ValueError(WINDOW_RULE) from error
    return read.minute, read.hour, read.day_of_month, read.month_of_year, read.day_of_week


def parse_zone(value: object) -> object:
    """Read the name of a time zone; anything that is no text comes back unchanged.

    Raises:
        ValueError: There is no such zone.
    """
    if not isinstance(value, str):
        return value
    try:
        return ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(ZONE_RULE) from error
