"""The time inside checkpoint ids."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.base.id import uuid6

from retention.ids import instant_of, is_datable, lowest_id_at, newest_instant

MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
instants = st.integers(0, 10**17 // 2).map(lambda micros: EPOCH + micros * MICROSECOND)
some_instant = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
an_id = lowest_id_at(some_instant)


def id_with_tail(instant: datetime, tail: int) -> str:
    """A UUIDv6 of an instant with other clock and node bits."""
    number = uuid.UUID(lowest_id_at(instant)).int
    return str(uuid.UUID(int=number + (tail & ((1 << 62) - 1))))


@given(instants)
def test_an_instant_survives_the_way_through_an_id(instant: datetime) -> None:
    assert instant_of(lowest_id_at(instant)) == instant


@given(st.integers(0, 2**14 - 1))
def test_an_id_that_langgraph_mints_tells_when(clock_seq: int) -> None:
    before = datetime.now(UTC)
    minted = str(uuid6(clock_seq=clock_seq))
    instant = instant_of(minted)
    assert is_datable(minted)
    assert instant is not None
    # LangGraph moves its own clock on by 100 ns where two ids would be the same.
    assert before - MICROSECOND <= instant <= datetime.now(UTC) + timedelta(seconds=1)


def test_the_lowest_id_is_where_python_says_the_time_lies() -> None:
    ticks = uuid.UUID(an_id).int
    time = (ticks >> 80) << 12 | (ticks >> 64) & 0xFFF
    since_1582 = some_instant - datetime(1582, 10, 15, tzinfo=UTC)
    assert time == since_1582 // MICROSECOND * 10


@given(instants, instants, st.integers(0), st.integers(0))
def test_ids_sort_as_their_times_do(one: datetime, other: datetime, a: int, b: int) -> None:
    first, second = id_with_tail(one, a), id_with_tail(other, b)
    if one != other:
        assert (first < second) == (one < other)


@given(instants, instants, st.integers(0))
def test_an_id_lies_below_a_cutoff_if_and_only_if_it_was_minted_before(
    minted: datetime, cutoff: datetime, tail: int
) -> None:
    assert (id_with_tail(minted, tail) < lowest_id_at(cutoff)) == (minted < cutoff)


@given(instants, st.integers(0))
def test_no_other_bit_than_those_of_time_changes_the_instant(minted: datetime, tail: int) -> None:
    assert instant_of(id_with_tail(minted, tail)) == minted


def test_an_instant_before_the_epoch_of_uuids_has_the_lowest_id_of_all() -> None:
    lowest = lowest_id_at(datetime.min.replace(tzinfo=UTC))
    assert lowest == "00000000-0000-6000-8000-000000000000"


@pytest.mark.parametrize(
    "foreign",
    [
        "",
        "1",
        str(uuid.uuid4()),
        str(uuid.uuid1()),
        an_id.upper(),
        an_id.replace("-", ""),
        f"{{{an_id}}}",
        f"{an_id}\n",
        f" {an_id}",
        an_id[:-1],
        an_id[:19] + "7" + an_id[20:],
        an_id.replace("0", "\u0660"),
    ],
)
def test_an_id_that_is_no_lower_case_uuid6_is_foreign(foreign: str) -> None:
    assert not is_datable(foreign)
    assert instant_of(foreign) is None


@given(st.text())
def test_no_text_breaks_the_reading_of_an_id(text: str) -> None:
    assert (instant_of(text) is None) == (not is_datable(text))


def test_the_last_time_an_id_can_hold_is_still_a_date() -> None:
    last = instant_of("ffffffff-ffff-6fff-bfff-ffffffffffff")
    assert last is not None
    assert last.year == 5236


def test_the_newest_of_several_checkpoints_counts() -> None:
    older = lowest_id_at(some_instant - timedelta(days=1))
    assert newest_instant([(older, None), (an_id, None)]) == some_instant
    assert newest_instant([(an_id, None), (older, None)]) == some_instant


def test_a_foreign_id_is_dated_by_its_ts_in_any_time_zone() -> None:
    ts = "2026-01-03T01:00:00+02:00"
    assert newest_instant([("mine", ts)]) == datetime(2026, 1, 2, 23, tzinfo=UTC)
    assert newest_instant([("mine", "2026-01-02T23:00:00Z")]) == datetime(
        2026, 1, 2, 23, tzinfo=UTC
    )


def test_the_ts_of_a_uuid6_does_not_count() -> None:
    assert newest_instant([(an_id, "1999-01-01T00:00:00+00:00")]) == some_instant
    assert newest_instant([(an_id, "nonsense")]) == some_instant


@pytest.mark.parametrize(
    "ts",
    [
        None,
        "",
        "yesterday",
        "2026-13-01T00:00:00+00:00",
        "2026-01-02T03:04:05",
        "0001-01-01T00:00:00+05:00",
        "1767323045",
    ],
)
def test_one_checkpoint_without_a_sound_time_leaves_the_thread_undatable(ts: str | None) -> None:
    assert newest_instant([(an_id, None), ("mine", ts)]) is None


def test_no_checkpoints_have_no_newest_instant() -> None:
    assert newest_instant([]) is None
