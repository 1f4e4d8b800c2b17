"""Which rows under a thread's id belong to the thread that was deleted.

One rule answers for the round after a delete, for tombstones and for a check of the store.
LangGraph mints ids that grow with time and gives every checkpoint a parent that is in the store,
or none: so a missing parent is the sign that the thread was deleted under a run.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from retention.ids import instant_of, is_datable

#: A row's place within its thread: (checkpoint_ns, checkpoint_id).
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The ids a thread holds: of each checkpoint its parent, and where writes hang.

    ``callers`` has, for checkpoints of a subgraph, the root graph's checkpoint that called it.
    """

    parents: dict[Place, str | None] = field(default_factory=dict)
    writes: dict[Place, int] = field(default_factory=dict)
    callers: dict[Place, str] = field(default_factory=dict)

    def before(self, place: Place) -> Place | None:
        """What a checkpoint follows: its parent, or for a subgraph's first one its caller."""
        namespace, _ = place
        parent = self.parents[place]
        if parent is not None:
            return (namespace, parent)
        return ("", self.callers[place]) if namespace and place in self.callers else None


@dataclass(frozen=True, slots=True)
class DeadRows:
    """The checkpoints, and the places of writes with their number, of a deleted thread."""

    checkpoints: Collection[Place] = ()
    writes: Collection[Place] = ()
    write_count: int = 0

    def __bool__(self) -> bool:
        """Whether anything of the deleted thread is left."""
        return bool(self.checkpoints or self.writes)

    @property
    def size(self) -> int:
        """Checkpoints and writes together."""
        return len(self.checkpoints) + self.write_count


def dead_rows(skeleton: Skeleton, head: str, orphans_before: datetime) -> DeadRows:
    """Tell the rows of the deleted thread from those of a new one under its id.

    ``head`` is the head recorded at the delete. A write whose checkpoint is missing counts from
    ``orphans_before`` back, since writes may come before their checkpoint. Ids that are no
    UUIDv6 do not sort by time: such rows are left alone.
    """
    dead = _dead_checkpoints(skeleton, head)
    writes = {
        place: count
        for place, count in skeleton.writes.items()
        if place in dead
        or _not_above(place[1], head)
        or (place not in skeleton.parents and _minted_before(place[1], orphans_before))
    }
    return DeadRows(sorted(dead), sorted(writes), sum(writes.values()))


def _dead_checkpoints(skeleton: Skeleton, head: str) -> set[Place]:
    """Walk each chain once: it ends in a root, or in a checkpoint that is missing.

    A missing caller above the head tells nothing: with durability "exit" none is ever saved.
    """
    known: dict[Place, bool] = {}
    for place in skeleton.parents:
        path: list[Place] = []
        while place not in known:
            path.append(place)
            known[place] = False  # what a cycle of parents would find
            before = skeleton.before(place)
            if _not_above(place[1], head):
                known[place] = True
            elif before is not None and before in skeleton.parents:
                place = before  # noqa: PLW2901
            else:
                known[place] = before is not None and _not_above(before[1], head)
        known.update(dict.fromkeys(path, known[place]))
    return {place for place, is_dead in known.items() if is_dead}


def _not_above(checkpoint_id: str, head: str) -> bool:
    return is_datable(checkpoint_id) and is_datable(head) and checkpoint_id <= head


def _minted_before(checkpoint_id: str, instant: datetime) -> bool:
    minted = instant_of(checkpoint_id)
    return minted is not None and minted < instant
