"""The format record of a SQL store, a table of one row."""

from collections.abc import Mapping
from datetime import datetime

from retention.errors import ConfigurationError
from stores.formats import GENERATION, FormatRecord, StoreFormat
from stores.relational.database import Database
from stores.relational.rows import StoredRows

#: What each table holds, the record of the format apart: where that is gone, its own check says so.
_HELD = {
    "retention_threads": "marks, declared retentions and holds",
    "retention_runs": "the record of every sweep",
    "retention_batches": "which threads each sweep was to delete",
    "retention_totals": "the totals over all sweeps",
    "retention_pauses": "whether sweeps are paused",
}


class Formats(FormatRecord):
    """The format record of a SQL store."""

    remedy = "`retention store adopt` looks at them and takes the store over"

    def __init__(
        self,
        db: Database,
        rows: StoredRows,
        where: str,
        held: Mapping[str, str] | None = None,
        *,
        mends: bool = False,
    ) -> None:
        """Keep the record in this database; ``where`` names the store in errors.

        ``held`` says what further tables of this database hold. With ``mends`` the store may lack
        tables of this project's that somebody dropped.
        """
        super().__init__(where)
        self._held = {**_HELD, **(held or {})}
        self._mends = mends
        self._db = db
        self._rows = rows
        self._sql = db.sql("stores.relational", "formats.sql")

    def check(self) -> StoreFormat | None:
        """The format of a store; None where it is empty and has none recorded yet.

        Raises:
            CheckpointStoreFormatError: It has another generation, garbage in its place, or none
                while it holds checkpoints.
            ConfigurationError: Somebody dropped one of this project's tables.
        """
        found = super().check()
        self.refuse_dropped()
        return found

    def refuse_dropped(self) -> None:
        """Refuse a store that lacks one of this project's tables beside the others.

        Made anew without a word, it would let threads go that are held, or were declared or
        marked otherwise. All of them are made at once: a store with none had none yet.

        Raises:
            ConfigurationError: One is gone; the line names it and what to do.
        """
        gone = self._db.missing_tables(tuple(self._held))
        if gone and len(gone) < len(self._held) and not self._mends:
            raise ConfigurationError(
                f"{self._where}: the table {gone[0]} is gone while others of this project are "
                f"there: it held {self._held[gone[0]]}; restore it, or let `retention store init` "
                "make it anew, empty"
            )

    def adopt(self, now: datetime, *, compresses: bool) -> None:
        """Record the format of a store that has none, or change whether it compresses."""
        self._write("adopt", now, "on" if compresses else "off")

    def _read(self) -> Mapping[str, object] | None:
        # This table alone: whatever else another generation keeps, its record must be found.
        if not self._db.has_tables(["retention_format"]):
            return None
        with self._db.reading() as tx:
            rows = tx.rows(self._sql["read"])
        return dict(zip(("generation", "compression"), rows[0], strict=True)) if rows else None

    def _record(self, now: datetime, compression: str) -> None:
        self._write("record", now, compression)

    def _holds_any(self) -> bool:
        with self._db.reading() as tx:
            return self._rows.holds_any(tx)

    def _write(self, name: str, now: datetime, compression: str) -> None:
        with self._db.transaction() as tx:
            tx.change(self._sql[name], generation=str(GENERATION), compression=compression, now=now)
