"""The pause of a store in SQL: a table of one row."""

from typing import Any

from retention.brakes import Pause
from retention.errors import StoreError
from stores.relational.database import Database
from stores.texts import text_of


class RelationalPauses:
    """Whether sweeps of a store are paused."""

    def __init__(self, db: Database) -> None:
        """Keep the pause in this database."""
        self._db = db
        self._sql = db.sql("stores.relational", "pauses.sql")

    def put(self, pause: Pause) -> None:
        """Pause; an earlier pause is replaced."""
        with self._db.transaction() as tx:
            tx.change(
                self._sql["put"],
                at=pause.at,
                until=pause.until,
                by=pause.by,
                reason=pause.reason,
            )

    def take_off(self) -> bool:
        """End the pause; False where there is none."""
        with self._db.transaction() as tx:
            return tx.change(self._sql["take_off"]) == 1

    def current(self) -> Pause | None:
        """The pause, lapsed or not.

        Raises:
            StoreError: Its record cannot be read.
        """
        if not self._db.has_own_tables():
            return None
        with self._db.reading() as tx:
            rows = tx.rows(self._sql["current"])
        if not rows:
            return None
        try:
            return self._pause(*rows[0])
        except StoreError as error:
            raise StoreError(
                f"the pause in retention_pauses cannot be read ({error}): `retention sweep pause` "
                "puts another in its place, and `retention sweep resume` ends that"
            ) from error

    def _pause(self, at: Any, until: Any, by: Any, reason: Any) -> Pause:
        placed = self._db.instant(at)
        if placed is None:  # pragma: no cover - the column takes no NULL
            raise StoreError("it has no beginning")
        return Pause(placed, self._db.instant(until), text_of(by), text_of(reason))
