"""Which rows under an id belong to the thread that was deleted."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retention.ids import lowest_id_at
from retention.late_writes import DeadRows, Place, Skeleton, dead_rows

HEAD_AT = datetime(2026, 6, 1, tzinfo=UTC)
GRACE_ENDS = HEAD_AT + timedelta(hours=5)


def at(minutes: float) -> str:
    """An id minted so many minutes after the recorded head."""
    return lowest_id_at(HEAD_AT + timedelta(minutes=minutes))


HEAD = at(0)


def dead(
    parents: dict[Place, str | None], writes: dict[Place, int] | None = None, head: str = HEAD
) -> DeadRows:
    """What is dead of a skeleton."""
    return dead_rows(Skeleton(parents, writes or {}), head, GRACE_ENDS)


def root(*places: str) -> dict[Place, str | None]:
    """A chain of checkpoints in the root namespace, its first one a root."""
    return {("", i): parent for i, parent in zip(places, (None, *places), strict=False)}


def test_nothing_is_dead_of_an_id_that_holds_nothing() -> None:
    found = dead({})
    assert not found
    assert found.size == 0


def test_checkpoints_up_to_the_recorded_head_are_dead() -> None:
    assert dead(root(at(-1), HEAD)).checkpoints == [("", at(-1)), ("", HEAD)]


def test_a_late_checkpoint_is_dead_with_all_that_follows_it() -> None:
    late: dict[Place, str | None] = {("", at(1)): HEAD, ("", at(2)): at(1), ("", at(3)): at(2)}
    assert dead(late).checkpoints == sorted(late)


def test_a_chain_from_a_null_root_is_a_new_thread() -> None:
    assert not dead(root(at(1), at(2), at(3)))


def test_a_new_thread_beside_late_checkpoints_stays() -> None:
    late: dict[Place, str | None] = {("", at(1)): HEAD}
    assert dead({**late, **root(at(2), at(3))}).checkpoints == [("", at(1))]


def called(place: Place, caller: str, parents: dict[Place, str | None]) -> DeadRows:
    """What is dead where the first checkpoint of a subgraph names its caller."""
    return dead_rows(Skeleton({place: None, **parents}, {}, {place: caller}), HEAD, GRACE_ENDS)


def test_a_subgraph_called_by_a_dead_checkpoint_is_dead_with_it() -> None:
    inner = ("inner:1", at(2))
    assert called(inner, HEAD, {}).checkpoints == [inner]
    late: dict[Place, str | None] = {("", at(1)): HEAD}
    assert called(inner, at(1), late).checkpoints == [("", at(1)), inner]


def test_a_subgraph_of_a_new_thread_stays_whether_its_caller_is_saved_or_not() -> None:
    inner = ("inner:1", at(2))
    assert not called(inner, at(1), root(at(1)))
    assert not called(inner, at(1), {})


def test_a_root_checkpoint_has_no_caller_whatever_its_metadata_says() -> None:
    assert not called(("", at(1)), HEAD, {})


def test_a_chain_that_ends_in_a_missing_checkpoint_above_the_head_stays() -> None:
    assert not dead({("", at(2)): at(1)})


def test_a_root_that_was_minted_before_the_head_is_dead_with_its_children() -> None:
    chain = root(at(-5), at(1), at(2))
    assert dead(chain).checkpoints == sorted(chain)


def test_a_parent_is_looked_for_in_the_namespace_of_its_child() -> None:
    skeleton: dict[Place, str | None] = {("", at(1)): None, ("sub", at(2)): at(1)}
    assert not dead(skeleton)
    skeleton["sub", at(2)] = HEAD
    assert dead(skeleton).checkpoints == [("sub", at(2))]


def test_every_namespace_is_held_against_the_one_recorded_head() -> None:
    skeleton: dict[Place, str | None] = {("a", at(-1)): None, ("b", at(1)): None}
    assert dead(skeleton).checkpoints == [("a", at(-1))]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_cycle_of_parents_ends_and_stays(length: int) -> None:
    ids = [at(1 + i) for i in range(length)]
    cycle: dict[Place, str | None] = {("", i): ids[n - 1] for n, i in enumerate(ids)}
    assert not dead({**cycle, ("", at(9)): ids[0]})


@pytest.mark.parametrize("foreign", ["1", "zzz", HEAD.upper()])
def test_foreign_ids_are_left_alone(foreign: str) -> None:
    assert not dead({("", foreign): None}, {("", foreign): 2})
    assert not dead({("", at(1)): foreign})
    assert not dead({("", at(-1)): None}, head=foreign)


def test_the_writes_of_a_dead_checkpoint_go_with_it() -> None:
    found = dead({("", at(1)): HEAD}, {("", at(1)): 3})
    assert found.writes == [("", at(1))]
    assert (found.write_count, found.size) == (3, 4)


def test_the_writes_of_a_new_thread_stay() -> None:
    assert not dead(root(at(1)), {("", at(1)): 3})


def test_a_write_at_or_below_the_head_is_dead_without_grace() -> None:
    found = dead({}, {("", HEAD): 1, ("sub", at(-1)): 2})
    assert (found.writes, found.write_count) == ([("", HEAD), ("sub", at(-1))], 3)
    assert found


def test_an_orphan_write_is_dead_only_after_its_grace() -> None:
    before, after = GRACE_ENDS - timedelta(microseconds=1), GRACE_ENDS
    assert dead({}, {("", lowest_id_at(before)): 1}).size == 1
    assert not dead({}, {("", lowest_id_at(after)): 1})


def test_a_write_is_an_orphan_in_its_own_namespace() -> None:
    found = dead(root(at(1)), {("", at(1)): 1, ("sub", at(1)): 1})
    assert found.writes == [("sub", at(1))]


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_a_chain_is_dead_or_alive_as_a_whole_in_whatever_order_it_is_read(
    length: int, seed: int
) -> None:
    chain = [("", at(1 + i)) for i in range(length)]
    rotated = chain[seed % length :] + chain[: seed % length]
    for first, count in ((HEAD, length), (None, 0)):
        parents = dict(zip(chain, (first, *(i for _, i in chain)), strict=False))
        assert len(dead({place: parents[place] for place in rotated}).checkpoints) == count
