"""The time inside checkpoint ids: LangGraph mints UUIDv6, which sort by time as text.

Layout and epoch: RFC 9562, section 5.6. The 60 bits of time count 100 ns since 1582-10-15.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_UUID6 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-6[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_TICKS_BEFORE_1970 = 0x01B21DD213814000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_datable(checkpoint_id: str) -> bool:
    """Whether the id is a lower-case UUIDv6, the only form that is text-ordered by time."""
    return _UUID6.fullmatch(checkpoint_id) is not None


def instant_of(checkpoint_id: str) -> datetime | None:
    """The instant an id was minted, to the microsecond; None if it is not a UUIDv6."""
    if not is_datable(checkpoint_id):
        return None
    ticks = int(checkpoint_id[0:8] + checkpoint_id[9:13] + checkpoint_id[15:18], 16)
    try:
        return _EPOCH + timedelta(0, 0, (ticks - _TICKS_BEFORE_1970) // 10)
    except OverflowError:  # pragma: no cover - 60 bits reach the year 5236, datetime 9999
        return None


def lowest_id_at(instant: datetime) -> str:
    """The smallest UUIDv6 of an instant: ids minted before it sort below, all others do not."""
    micros = (instant - _EPOCH) // timedelta(microseconds=1)
    ticks = max(0, micros * 10 + _TICKS_BEFORE_1970)
    digits = f"{ticks:015x}"
    return f"{digits[0:8]}-{digits[8:12]}-6{digits[12:15]}-8000-000000000000"


def newest_instant(rows: Iterable[tuple[str, str | None]]) -> datetime | None:
    """The newest instant of checkpoints given as (id, ``ts``); None if one cannot be dated.

    The ``ts`` counts only where the id is no UUIDv6. One that is missing, malformed or without
    an offset leaves the whole thread undatable: refuse rather than guess.
    """
    newest: datetime | None = None
    for checkpoint_id, ts in rows:
        instant = instant_of(checkpoint_id) or _parse_ts(ts)
        if instant is None:
            return None
        newest = instant if newest is None else max(newest, instant)
    return newest


def _parse_ts(ts: str | None) -> datetime | None:
    try:
        instant = datetime.fromisoformat(ts or "")
        return None if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
