"""The format record of a SQL store, a table of one row."""

from collections.abc import Mapping
from datetime import datetime

from stores.formats import GENERATION, FormatRecord
from stores.relational.database import Database
from stores.relational.rows import StoredRows


class Formats(FormatRecord):
    """The format record of a SQL store."""

    remedy = "`retention store adopt` looks at them and takes the store over"

    def __init__(self, db: Database, rows: StoredRows, where: str) -> None:
        """Keep the record in this database; ``where`` names the store in errors."""
        super().__init__(where)
        self._db = db
        self._rows = rows
        self._sql = db.sql("stores.relational", "formats.sql")

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
