"""The rounds of a delete: until nothing is left, or until one makes no progress."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from retention.errors import CheckpointDeleteError
from retention.late_writes import DeadRows
from retention.ports import Claim
from retention.sweep import SweepOptions
from retention.sweep.rounds import delete_remnants
from retention.threads import Judge

NOW = datetime(2026, 6, 1, tzinfo=UTC)


class Refilled:
    """A deleter whose thread is written to again: round by round it holds so many rows."""

    def __init__(self, *found: DeadRows) -> None:
        self._found = list(found)
        self.calls: list[tuple[str, str, datetime]] = []

    def remove_dead(self, thread_id: str, head: str, orphans_before: datetime) -> DeadRows:
        self.calls.append((thread_id, head, orphans_before))
        return self._found.pop(0) if self._found else DeadRows()

    def settle(
        self, claim: Claim, indexes: Sequence[int], judge: Judge, spared: Mapping[str, str]
    ) -> None:
        raise AssertionError("rounds settle nothing")

    def remnants(self, heads: Mapping[str, str], *, whole: bool) -> set[str]:
        raise AssertionError("rounds look at one thread")


def rows(checkpoints: int, writes: int = 0) -> DeadRows:
    """So many checkpoints and writes of a dead thread."""
    places = [("", str(n)) for n in range(checkpoints)]
    return DeadRows(places, [("", "w")] if writes else [], writes)


def rounds(deleter: Refilled, most: int = 100) -> int:
    """Run the rounds of one thread."""
    options = SweepOptions(max_delete_rounds=most, orphan_grace=timedelta(hours=2))
    return delete_remnants(deleter, "t", "head", options, NOW)


def test_a_thread_that_holds_nothing_needs_one_look() -> None:
    deleter = Refilled()
    assert rounds(deleter) == 0
    assert deleter.calls == [("t", "head", NOW - timedelta(hours=2))]


def test_rounds_go_on_while_each_leaves_less() -> None:
    deleter = Refilled(rows(3, 2), rows(2, 2), rows(0, 3), rows(1))
    assert rounds(deleter) == 13
    assert len(deleter.calls) == 5


@pytest.mark.parametrize(
    ("found", "done"),
    [
        ([rows(2), rows(2)], 2),
        ([rows(1), rows(2)], 2),
        # Writes count as checkpoints do.
        ([rows(2, 1), rows(1, 2)], 2),
        ([rows(3), rows(2), rows(2)], 3),
        ([rows(3), rows(1), rows(2)], 3),
    ],
)
def test_the_first_round_from_the_second_on_that_leaves_no_fewer_fails(
    found: list[DeadRows], done: int
) -> None:
    deleter = Refilled(*found)
    with pytest.raises(CheckpointDeleteError, match=f"after {done} delete rounds"):
        rounds(deleter)
    assert len(deleter.calls) == done


def test_the_first_round_never_fails_however_much_it_leaves() -> None:
    assert rounds(Refilled(rows(10_000))) == 10_000


def test_the_error_names_the_thread_and_what_it_still_holds() -> None:
    with pytest.raises(
        CheckpointDeleteError, match="'t' still holds 2 checkpoints and 7 writes"
    ) as e:
        rounds(Refilled(rows(2, 7), rows(2, 7)))
    assert (e.value.thread_id, e.value.checkpoints, e.value.writes) == ("t", 2, 7)


def test_the_rounds_are_used_up_at_their_limit() -> None:
    shrinking = [rows(n) for n in range(9, 0, -1)]
    with pytest.raises(CheckpointDeleteError, match="3 delete rounds"):
        rounds(Refilled(*shrinking), most=3)
    assert rounds(Refilled(*shrinking), most=10) == sum(range(10))
