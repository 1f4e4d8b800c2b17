"""When the sweep runs: an interval, or five crontab fields."""

import re
from dataclasses import dataclass

SCHEDULE_RULE = (
    "an interval from 1 second to 31 days such as 300, 15m or 1h, or five crontab fields (UTC) "
    "such as */15 * * * * is needed"
)

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST_SECONDS = 31 * 86_400


@dataclass(frozen=True, slots=True)
class Interval:
    """A sweep every so many seconds."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Crontab:
    """A sweep at the times that five crontab fields name, in UTC."""

    minute: str
    hour: str
    day_of_month: str
    month_of_year: str
    day_of_week: str


def parse_schedule(value: object) -> object:
    """Read a schedule as a person writes it.

    Args:
        value: Seconds, an interval with one of the units s, m, h and d, or crontab fields.
            Anything that is no text comes back unchanged.

    Raises:
        ValueError: The text is neither, or names no possible time.
    """
    if not isinstance(value, str):
        return value
    fields = value.split()
    return _parse_crontab(fields) if len(fields) == 5 else _parse_interval(value)


def _parse_interval(text: str) -> Interval:
    found = re.fullmatch(r"([0-9]{1,10})\s*([smhd]?)", text)
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if not 1 <= seconds <= _LONGEST_SECONDS:
        raise ValueError(SCHEDULE_RULE)
    return Interval(seconds)


def _parse_crontab(fields: list[str]) -> Crontab:
    # Celery takes a quarter of a second to import; an interval needs none of it.
    from celery.schedules import ParseException, crontab

    try:
        crontab.from_string(" ".join(fields))
    except ParseException as error:
        raise ValueError(SCHEDULE_RULE) from error
    return Crontab(*fields)
