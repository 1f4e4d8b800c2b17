"""Deleting threads on PostgreSQL, and how the server bears up meanwhile."""

from datetime import datetime, timedelta
from typing import Any

from retention.errors import ConfigurationError
from stores.postgres.database import PostgresDatabase
from stores.relational.deleter import RelationalDeleter

#: Threads of one transaction while others write: who commits waits for the whole server's log, and
#: 500 threads can be 10 MB of it, nearly all of that pages changed first since a checkpoint.
_THREADS_BESIDE_WRITERS = 50

#: How long others are taken to go on writing.
_LATELY = timedelta(minutes=1)


class PostgresDeleter(RelationalDeleter):
    """The deleter of a PostgreSQL store. What it tells of the server holds for all of it."""

    def __init__(self, db: PostgresDatabase, *parts: Any) -> None:
        """Work through the store's other parts."""
        super().__init__(db, *parts)
        self._postgres = db
        self._before: tuple[int | None, int] | None = None
        self._others_at: datetime | None = None
        self._has_compared = False

    def threads_at_once(self) -> int | None:
        """Few while others write to the server, and at first; None while nobody does.

        Told by the numbers of transactions, which are given in order: between two of ours, more
        went than ours could take, or one was under way. Also where tables have triggers or the
        like, since numbers are not asked for then.
        """
        seen = self._others_at
        lately = seen is not None and self._clock() - seen < _LATELY
        return _THREADS_BESIDE_WRITERS if lately or not self._has_compared else None

    def _waits(self) -> bool:
        """Beside writers: while it waits, no more log comes for them to wait for."""
        return self.threads_at_once() is not None

    def _met(self, number: int | None) -> None:
        before, self._before = self._before, (number, self._postgres.ended)
        if before is None:
            return
        self._has_compared = True
        last, ended = before
        if number is None or (last is not None and number - last > self._postgres.ended - ended):
            self._others_at = self._clock()

    def replica_lag(self) -> timedelta:
        """How far the replica furthest behind is with what it replayed; nothing without replicas.

        Raises:
            ConfigurationError: The role may not see it.
        """
        if not self._figure("sees_replicas"):
            raise ConfigurationError(
                "PostgreSQL: SWEEP_MAX_REPLICA_LAG_SECONDS is set, but the role may not see how "
                "far replicas are: GRANT pg_read_all_stats to it, or leave the setting unset"
            )
        return timedelta(seconds=float(self._figure("replica_lag")))

    def lock_waits(self) -> int:
        """How many sessions on this database wait for a lock at this moment."""
        return int(self._figure("lock_waits"))

    def _figure(self, name: str) -> Any:
        with self._db.reading() as tx:
            return tx.rows(self._db.sql("stores.postgres", "strain.sql")[name])[0][0]
