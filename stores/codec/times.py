"""Dates, times and zones: wall-clock value, ``fold`` and zone are kept."""

from datetime import date, datetime, time, timedelta, timezone, tzinfo
from typing import Any, TypeVar, cast
from zoneinfo import ZoneInfo

from pydantic_core import TzInfo

from stores.codec.refusals import Refused, type_name
from stores.codec.scalars import list_of, read_str, text_of, write_str

_Clock = TypeVar("_Clock", datetime, time)
_MICROSECOND = timedelta(microseconds=1)


def write_datetime(value: datetime, depth: int) -> dict[str, Any]:
    """A date with a time."""
    return _write_clock("datetime", value, depth)


def write_time(value: time, depth: int) -> dict[str, Any]:
    """A time of day."""
    return _write_clock("time", value, depth)


def _write_clock(tag: str, value: datetime | time, depth: int) -> dict[str, Any]:
    envelope: dict[str, Any] = {"$": tag, "v": value.replace(tzinfo=None, fold=0).isoformat()}
    if value.fold:
        envelope["fold"] = 1
    if value.tzinfo is not None:
        envelope["tz"] = _write_zone(value.tzinfo, depth)
    return envelope


def read_datetime(envelope: dict[str, Any]) -> datetime:
    """A date with a time."""
    return _read_clock(datetime.fromisoformat(text_of(envelope)), envelope)


def read_time(envelope: dict[str, Any]) -> time:
    """A time of day."""
    return _read_clock(time.fromisoformat(text_of(envelope)), envelope)


def _read_clock(value: _Clock, envelope: dict[str, Any]) -> _Clock:
    _require_own_text(value.isoformat(), envelope)
    fold = envelope.get("fold", 0)
    if type(fold) is not int or fold not in (0, 1):
        raise Refused("cannot be read back: its fold is neither 0 nor 1")
    zone = None
    if "tz" in envelope:
        kind, read = envelope["tz"].get("$"), {"timezone": read_timezone, "zoneinfo": read_zoneinfo}
        zone = read[kind](envelope["tz"])
    return value.replace(tzinfo=zone, fold=fold)


def write_date(value: date, _depth: int) -> dict[str, Any]:
    """A date."""
    return {"$": "date", "v": value.isoformat()}


def read_date(envelope: dict[str, Any]) -> date:
    """A date."""
    value = date.fromisoformat(text_of(envelope))
    _require_own_text(value.isoformat(), envelope)
    return value


def write_timedelta(value: timedelta, _depth: int) -> dict[str, Any]:
    """A duration, as days, seconds and microseconds."""
    return {"$": "timedelta", "v": [value.days, value.seconds, value.microseconds]}


def read_timedelta(envelope: dict[str, Any]) -> timedelta:
    """A duration."""
    parts = list_of(envelope)
    if [type(part) for part in parts] != [int] * 3:
        raise Refused("cannot be read back: its duration is not three whole numbers")
    return timedelta(*parts)


def write_timezone(value: timezone, depth: int) -> dict[str, Any]:
    """A fixed offset, in microseconds, with its name where it was given one."""
    offset, *name = cast(Any, value).__getinitargs__()
    return _offset(offset, name[0] if name else None, depth)


def write_pydantic_offset(value: tzinfo, depth: int) -> dict[str, Any]:
    """The fixed offset pydantic attaches to what it parses: it comes back as a ``timezone``."""
    offset, name = value.utcoffset(None), value.tzname(None)
    if offset is None:
        raise Refused("is an offset of pydantic's that has no value")
    # A name that Python gives such an offset by itself is not kept: UTC is then the one object.
    plain = timezone(offset)
    return _offset(offset, None if name == plain.tzname(None) else name, depth)


def _offset(offset: timedelta, name: str | None, depth: int) -> dict[str, Any]:
    envelope: dict[str, Any] = {"$": "timezone", "v": offset // _MICROSECOND}
    if name is not None:
        envelope["name"] = write_str(name, depth)
    return envelope


def read_timezone(envelope: dict[str, Any]) -> timezone:
    """A fixed offset."""
    microseconds = envelope["v"]
    if type(microseconds) is not int:
        raise Refused("cannot be read back: its offset is not a whole number")
    offset = timedelta(microseconds=microseconds)
    if "name" not in envelope:
        return timezone(offset)
    name = envelope["name"]
    return timezone(offset, read_str(name) if type(name) is dict else text_of(envelope, "name"))


def write_zoneinfo(value: ZoneInfo, _depth: int) -> dict[str, Any]:
    """An IANA zone, by its key."""
    if value.key is None:
        raise Refused("is a zone read from a file: it has no key to keep it by")
    return {"$": "zoneinfo", "v": value.key}


def read_zoneinfo(envelope: dict[str, Any]) -> ZoneInfo:
    """An IANA zone of this host's zone database."""
    key = text_of(envelope)
    # Its key is a path below the database; ZoneInfo refuses one that leads out of it.
    try:
        return ZoneInfo(key)
    except (KeyError, ValueError, OSError) as error:
        raise Refused(
            f"cannot be read back: this host's zone database has no zone {key[:60]!r}"
        ) from error


def _write_zone(zone: tzinfo, depth: int) -> dict[str, Any]:
    write = ZONES.get(type(zone))
    if write is None:
        raise Refused(
            f"has a tzinfo of type {type_name(type(zone))}; kept are datetime.timezone, "
            "zoneinfo.ZoneInfo and the offsets pydantic attaches"
        )
    return cast("dict[str, Any]", write(zone, depth))


def _require_own_text(text: str, envelope: dict[str, Any]) -> None:
    if text != envelope["v"]:
        raise Refused("cannot be read back: its date or time is not in the form it is written in")


#: How each kind of zone is written.
ZONES: dict[type, Any] = {
    timezone: write_timezone,
    ZoneInfo: write_zoneinfo,
    TzInfo: write_pydantic_offset,
}
