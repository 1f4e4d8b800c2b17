"""Beat schedules that start a little late, each time by another amount.

Many deployments that share one database server would otherwise all sweep on the same second. The
delay is part of the schedule, so beat holds back one start instead of queueing several.
"""

import random
from datetime import datetime, timedelta
from typing import Any

from celery.schedules import crontab, crontab_parser, schedule


class _Delay:
    """A random delay that stays the same until the next start."""

    def __init__(self, longest_seconds: float) -> None:
        self.longest_seconds = longest_seconds
        # Another seed in each process: two beats must not agree on their delays.
        self._seed = random.SystemRandom().random()

    def after(self, last_run_at: datetime) -> timedelta:
        """Give the delay of the start that follows a run.

        Beat asks several times before a start. Drawn afresh at each, the delays would shrink to
        the smallest one drawn.
        """
        drawn = random.Random(f"{self._seed} {last_run_at.timestamp()}")  # noqa: S311 - no secret
        return timedelta(seconds=drawn.uniform(0, self.longest_seconds))


class JitteredInterval(schedule):
    """An interval counted from the last start, plus a random delay."""

    def __init__(self, seconds: float, longest_delay_seconds: float) -> None:
        super().__init__(run_every=timedelta(seconds=seconds))
        self._delay = _Delay(longest_delay_seconds)

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        """Give the time until the next start; none or negative once it is due."""
        return super().remaining_estimate(last_run_at) + self._delay.after(last_run_at)

    def __eq__(self, other: object) -> bool:
        return _arguments(self) == _arguments(other)

    def __hash__(self) -> int:
        return hash(_arguments(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.seconds, self._delay.longest_seconds)


class JitteredCrontab(crontab):
    """The times that crontab fields name, plus a random delay."""

    def __init__(
        self, fields: tuple[str, str, str, str, str], longest_delay_seconds: float
    ) -> None:
        minute, hour, day_of_month, month_of_year, day_of_week = fields
        super().__init__(
            minute=minute,
            hour=hour,
            day_of_month=day_of_month,
            month_of_year=month_of_year,
            day_of_week=day_of_week,
        )
        self.fields = fields
        self._delay = _Delay(longest_delay_seconds)

    def remaining_estimate(  # type: ignore[override] # nobody passes the other argument
        self, last_run_at: datetime
    ) -> timedelta:
        """Give the time until the next start; none or negative once it is due."""
        return super().remaining_estimate(last_run_at) + self._delay.after(last_run_at)

    @property
    def shortest_gap_seconds(self) -> int:
        """The shortest time between two starts within an hour, at most an hour."""
        minutes = sorted(crontab_parser(60).parse(self.fields[0]))
        later = [*minutes[1:], minutes[0] + 60]
        return 60 * min(b - a for a, b in zip(minutes, later, strict=True))

    def __eq__(self, other: object) -> bool:
        return _arguments(self) == _arguments(other)

    def __hash__(self) -> int:
        return hash(_arguments(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fields, self._delay.longest_seconds)


def _arguments(item: object) -> object:
    """Give what makes two schedules the same one; beat compares them to see a change."""
    if isinstance(item, JitteredInterval | JitteredCrontab):
        return item.__reduce__()
    return item
