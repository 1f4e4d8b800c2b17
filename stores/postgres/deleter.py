"""Deleting threads on PostgreSQL, and how the server bears up meanwhile."""

from datetime import timedelta
from typing import Any

from retention.errors import ConfigurationError
from stores.relational.deleter import RelationalDeleter


class PostgresDeleter(RelationalDeleter):
    """The deleter of a PostgreSQL store. What it tells of the server holds for all of it."""

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
