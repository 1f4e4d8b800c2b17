"""What a store holds, told without decoding any of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from retention.ids import instant_of
from stores.serializer import readable_types

#: What stands for a missing type among the types of values.
NO_TYPE = "(none)"


@dataclass(frozen=True, slots=True)
class TypeCount:
    """Rows of one table whose values have one type, and their bytes."""

    table: str
    type: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class IdCount:
    """The ids of all checkpoints: how many, of how many threads, and between which.

    ``undatable`` ids are no UUIDv6 and hold no time; the oldest and newest are of the others.
    """

    checkpoints: int
    threads: int
    bytes: int
    oldest: str | None
    newest: str | None
    undatable: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a store holds.

    ``managed`` says what shows that another program runs the store; None where nothing does.
    """

    ids: IdCount
    types: tuple[TypeCount, ...]
    managed: str | None = None

    @property
    def bytes(self) -> int:
        """All stored bytes of checkpoints and values."""
        return self.ids.bytes + sum(count.bytes for count in self.types)

    @property
    def oldest(self) -> datetime | None:
        """The instant of the oldest checkpoint that has one."""
        return instant_of(self.ids.oldest or "")

    @property
    def newest(self) -> datetime | None:
        """The instant of the newest checkpoint that has one."""
        return instant_of(self.ids.newest or "")

    @property
    def unreadable(self) -> tuple[TypeCount, ...]:
        """Values of types that this project's savers cannot read back."""
        readable = readable_types()
        return tuple(count for count in self.types if count.type not in readable)


def type_counts(rows: Iterable[tuple[Any, ...]]) -> tuple[TypeCount, ...]:
    """Counts from rows of (table, type, rows, bytes)."""
    return tuple(TypeCount(t, kind or NO_TYPE, n, size or 0) for t, kind, n, size in rows)
