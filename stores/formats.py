"""The format generation: recorded on a store's first use, checked each time it is opened."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from retention.errors import CheckpointStoreFormatError
from stores.options import Access, StoreOptions

#: The generation of the format that this version reads and writes.
GENERATION = 10

#: Of what another version wrote, so much is shown in an error.
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class StoreFormat:
    """What a store recorded of its format. ``compresses``: large values may be compressed."""

    compresses: bool


class FormatRecord(ABC):
    """The format record of a store."""

    #: What a store's operator can do where the record is missing.
    remedy: str
    #: What this version reads, and what that means of the fields besides compression.
    reads = f"generation {GENERATION}"
    expected: Mapping[str, str] = {"generation": str(GENERATION)}

    def __init__(self, where: str) -> None:
        """``where`` names the store in errors."""
        self._where = where

    def check(self) -> StoreFormat | None:
        """The format of a store; None where it is empty and has none recorded yet.

        Raises:
            CheckpointStoreFormatError: It has another generation, garbage in its place, or none
                while it holds checkpoints.
        """
        found = self.recorded()
        if found is not None or not self._holds_any():
            return found
        # Another process may have recorded it meanwhile, and written checkpoints.
        found = self.recorded()
        if found is None:
            raise CheckpointStoreFormatError(
                f"{self._where}: the store holds checkpoints and no record of their format; "
                f"{self.remedy}"
            )
        return found

    def recorded(self) -> StoreFormat | None:
        """The format that was recorded, if any.

        Raises:
            CheckpointStoreFormatError: It is another generation, or garbage.
        """
        found = self._read()
        if found is None:
            return None
        fits = all(found[name] == value for name, value in self.expected.items())
        if not fits or found["compression"] not in ("on", "off"):
            raise CheckpointStoreFormatError(
                f"{self._where}: the store is of format {_shown(found)}; this version reads "
                f"{self.reads} only: use the version that wrote it, or "
                "reset the checkpoint store before starting this version"
            )
        return StoreFormat(found["compression"] == "on")

    def record(self, now: datetime, *, compresses: bool) -> StoreFormat:
        """Record the format of a store that has none; the one recorded first stays."""
        self._record(now, "on" if compresses else "off")
        return self.check() or StoreFormat(compresses)

    @abstractmethod
    def _read(self) -> Mapping[str, object] | None:
        """The fields of the record, its generation first; None where there is none."""

    @abstractmethod
    def _record(self, now: datetime, compression: str) -> None:
        """Make the record, in one step, where there is none."""

    @abstractmethod
    def _holds_any(self) -> bool:
        """Whether the store holds any checkpoint or write."""


def checked_format(
    formats: FormatRecord, make_tables: Callable[[], None], options: StoreOptions
) -> bool:
    """Check a store's format, and record it on the first use of an empty store.

    Nothing is made where the store is refused, or only read.

    Returns:
        Whether the store allows compressed values.

    Raises:
        CheckpointStoreFormatError: The store is of another format, or holds checkpoints of none.
    """
    found = formats.check()
    if options.access is Access.READ:
        return found is not None and found.compresses
    make_tables()
    if found is None:
        found = formats.record(options.clock(), compresses=True)
    return found.compresses


def _shown(found: Mapping[str, object]) -> str:
    first, *others = (f"{name} {str(value)[:_SHOWN]!r}" for name, value in found.items())
    return f"{first} with {' and '.join(others)}"
