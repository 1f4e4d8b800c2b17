"""Times keep their wall-clock value, their fold and their zone's rules."""

import json
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel
from pydantic_core import TzInfo

from retention.errors import CheckpointSerializationError
from stores.codec import FaithfulCodec

FIRST_AND_LAST = (datetime.min, datetime.max)  # noqa: DTZ901  # naive ones are values too
PARIS = ZoneInfo("Europe/Paris")


class Parsed(BaseModel):
    at: datetime
    clock: time


HERE = FaithfulCodec(allowed_modules=[__name__])


def round_trip(value: Any) -> Any:
    return HERE.decode(HERE.encode(value))


def test_a_value_read_back_follows_its_zone() -> None:
    winter = round_trip(datetime(2026, 1, 1, 12, tzinfo=PARIS))
    assert winter.tzinfo is PARIS
    assert (winter + timedelta(days=180)).utcoffset() == timedelta(hours=2)


def test_fold_tells_the_two_halves_past_two_apart() -> None:
    first = datetime(2024, 10, 27, 2, 30, tzinfo=PARIS)
    second = first.replace(fold=1)
    found = round_trip([first, second, time(2, 30, fold=1)])
    assert [at.fold for at in found] == [0, 1, 1]
    assert [at.utcoffset() for at in found[:2]] == [timedelta(hours=2), timedelta(hours=1)]


def test_what_is_stored_is_readable() -> None:
    stored = HERE.encode(datetime(2024, 10, 27, 2, 30, 0, 5, tzinfo=PARIS, fold=1))
    assert json.loads(stored[9:]) == {
        "$": "datetime",
        "v": "2024-10-27T02:30:00.000005",
        "fold": 1,
        "tz": {"$": "zoneinfo", "v": "Europe/Paris"},
    }


@pytest.mark.parametrize(
    "zone",
    [
        *(timezone.min, timezone.max, timezone(timedelta(0), "Z"), timezone(timedelta(hours=1))),
        *(timezone(timedelta(hours=1), "UTC+01:00"), timezone(timedelta(microseconds=-1), "")),
        timezone(timedelta(hours=2), "\ud800"),
    ],
    ids=repr,
)
def test_offsets_keep_their_name_given_or_not(zone: timezone) -> None:
    for found in (round_trip(zone), round_trip(datetime(2026, 1, 1, tzinfo=zone)).tzinfo):
        assert type(found) is timezone
        assert repr(found) == repr(zone)


@pytest.mark.parametrize("offset", ["Z", "+00:00", "+05:30", "-11:00", "+23:59", "-00:30"])
def test_offsets_of_pydantic_come_back_as_those_of_python(offset: str) -> None:
    parsed = Parsed.model_validate_json(
        json.dumps({"at": f"2026-01-02T03:04:05{offset}", "clock": f"03:04:05{offset}"})
    )
    before = parsed.at.tzinfo
    assert type(before) is TzInfo
    model = round_trip(parsed)
    for found in (round_trip(before), model.at.tzinfo, model.clock.tzinfo):
        assert type(found) is timezone
        assert found.utcoffset(None) == before.utcoffset(None)
        assert found.tzname(None) == before.tzname(None)
    assert model == parsed


@pytest.mark.parametrize(
    "value",
    [*FIRST_AND_LAST, date.min, date.max, time.min, time.max, timedelta.min],
    ids=str,
)
def test_the_first_and_the_last_are_kept(value: Any) -> None:
    found = round_trip(value)
    assert found == value
    assert type(found) is type(value)


def test_subclasses_of_times_are_no_times() -> None:
    class Stamp(datetime):
        pass

    class Zone(ZoneInfo):
        pass

    for value in (Stamp(2026, 1, 1), datetime(2026, 1, 1, tzinfo=Zone("UTC"))):
        with pytest.raises(CheckpointSerializationError):
            HERE.encode(value)


def test_a_zone_read_from_a_file_under_a_key_is_kept_by_that_key() -> None:
    found = next(path for path in (Path("/usr/share/zoneinfo/UTC"),) if path.exists())
    with found.open("rb") as file:
        zone: tzinfo = ZoneInfo.from_file(file, key="Etc/UTC")
    assert round_trip(datetime(2026, 1, 1, tzinfo=zone)).tzinfo is ZoneInfo("Etc/UTC")
    assert round_trip(datetime(2026, 1, 1, tzinfo=UTC)).tzinfo is UTC
