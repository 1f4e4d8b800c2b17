"""What the table of totals holds: counters, and beside them what is known of the latest runs."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from retention.runs import Latest, RunOutcome
from retention.threads import Horizon

#: Series under this name are set, not added to, and are no counters.
_LATEST = "latest:"
_RUN = f"{_LATEST}run"
_SUCCESS = f"{_LATEST}success"
_DURATION = f"{_LATEST}duration"
_DUE = f"{_LATEST}due:"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def of_closed(started_at: datetime, closed_at: datetime, outcome: RunOutcome) -> dict[str, int]:
    """What a run leaves behind as the latest one."""
    closed = (closed_at - _EPOCH) // _MICROSECOND
    success = {_SUCCESS: closed} if outcome is RunOutcome.COMPLETED else {}
    return {_RUN: closed, _DURATION: (closed_at - started_at) // _MICROSECOND, **success}


def of_plan(due: Mapping[Horizon, int]) -> dict[str, int]:
    """What a whole plan leaves behind as the latest one."""
    return {f"{_DUE}{horizon}": count for horizon, count in due.items()}


def counters(series: Mapping[str, int]) -> dict[str, int]:
    """The counters alone."""
    return {name: value for name, value in series.items() if not name.startswith(_LATEST)}


def latest(series: Mapping[str, int]) -> Latest:
    """Read what ``of_closed`` and ``of_plan`` have left."""
    duration = series.get(_DURATION)
    return Latest(
        _instant(series.get(_RUN)),
        _instant(series.get(_SUCCESS)),
        None if duration is None else duration * _MICROSECOND,
        {h: series[f"{_DUE}{h}"] for h in Horizon if f"{_DUE}{h}" in series},
    )


def _instant(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + microseconds * _MICROSECOND
