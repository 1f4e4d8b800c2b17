"""The format generation: recorded on a store's first use, checked each time it is opened."""

from dataclasses import dataclass
from datetime import datetime

from retention.errors import CheckpointStoreFormatError
from stores.relational.database import Database, Transaction
from stores.relational.rows import StoredRows

#: The generation of the format that this version reads and writes.
GENERATION = 10


@dataclass(frozen=True, slots=True)
class StoreFormat:
    """What a store recorded of its format. ``compresses``: large values may be compressed."""

    compresses: bool


class Formats:
    """The format record of a SQL store."""

    def __init__(self, db: Database, rows: StoredRows, where: str) -> None:
        """Keep the record in this database; ``where`` names the store in errors."""
        self._db = db
        self._rows = rows
        self._where = where
        self._sql = db.sql("stores.relational", "formats.sql")

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
                "`retention store adopt` looks at them and takes the store over"
            )
        return found

    def recorded(self) -> StoreFormat | None:
        """The format that was recorded, if any.

        Raises:
            CheckpointStoreFormatError: It is another generation, or garbage.
        """
        # This table alone: whatever else another generation keeps, its record must be found.
        if not self._db.has_tables(["retention_format"]):
            return None
        with self._db.reading() as tx:
            rows = tx.rows(self._sql["read"])
        if not rows:
            return None
        generation, compression = rows[0]
        if generation != str(GENERATION) or compression not in ("on", "off"):
            raise CheckpointStoreFormatError(
                f"{self._where}: the store is of format generation {str(generation)[:40]!r} with "
                f"compression {str(compression)[:40]!r}; this version reads generation "
                f"{GENERATION} only: use the version that wrote it, or "
                "reset the checkpoint store before starting this version"
            )
        return StoreFormat(compression == "on")

    def record(self, now: datetime, *, compresses: bool) -> StoreFormat:
        """Record the format of a store that has none; the one recorded first stays."""
        with self._db.transaction() as tx:
            self._write(tx, "record", now, compresses=compresses)
        return self.check() or StoreFormat(compresses)

    def adopt(self, now: datetime, *, compresses: bool) -> None:
        """Record the format of a store that has none, or change whether it compresses."""
        with self._db.transaction() as tx:
            self._write(tx, "adopt", now, compresses=compresses)

    def _holds_any(self) -> bool:
        with self._db.reading() as tx:
            return self._rows.holds_any(tx)

    def _write(self, tx: Transaction, name: str, now: datetime, *, compresses: bool) -> None:
        compression = "on" if compresses else "off"
        tx.change(self._sql[name], generation=str(GENERATION), compression=compression, now=now)
