"""Deleting threads on SQLite, and whether others write to the file meanwhile."""

from datetime import datetime, timedelta
from typing import Any

from stores.relational.deleter import RelationalDeleter

#: So long after another connection's commit it is taken to write on.
_LATELY = timedelta(seconds=60)


class SqliteDeleter(RelationalDeleter):
    """The deleter of a SQLite store: while it writes, nobody else can."""

    def __init__(self, *parts: Any) -> None:
        """Work through the store's other parts."""
        super().__init__(*parts)
        self._version = self._data_version()
        self._seen_at: datetime | None = None

    def others_write(self) -> bool:
        """Whether another connection, of this process or another, wrote in the last minute.

        Told by SQLite's own count of others' commits: a connection that only has the file open
        leaves no trace, and one that wrote before the store was opened is not known of.
        """
        version, now = self._data_version(), self._clock()
        if version != self._version:
            self._version, self._seen_at = version, now
        return self._seen_at is not None and now - self._seen_at < _LATELY

    def _data_version(self) -> int:
        with self._db.reading() as tx:
            return int(tx.rows("PRAGMA data_version")[0][0])
