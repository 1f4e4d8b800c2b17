"""The rows of the official PostgreSQL saver, in SQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import cast

from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT

from retention.ids import instant_of, newest_instant
from retention.late_writes import DeadRows, Place, Skeleton
from retention.operator import Scalar
from stores.inspection import IdCount, Inspection, type_counts
from stores.postgres.errors import awaiting_lock
from stores.relational.database import Database, Statement, Transaction
from stores.relational.rows import Head

#: The official saver's tables with rows of threads.
SAVER_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


class PostgresRows:
    """Checkpoints, blobs and writes. A thread's lock is an advisory one, for a transaction."""

    def __init__(self, db: Database) -> None:
        """Speak this database's SQL."""
        self._sql = db.sql("stores.postgres", "rows.sql")

    def lock(self, tx: Transaction, thread_ids: Sequence[str]) -> list[str]:
        """Lock threads against a start and our savers' puts; those not to be had are left out."""
        return [row[0] for row in tx.rows(self._sql["lock"], ids=list(thread_ids))]

    def lock_all(self, tx: Transaction, thread_ids: Sequence[str]) -> None:
        """Lock threads, waiting for each."""
        with awaiting_lock():
            tx.rows(self._sql["lock_all"], ids=list(thread_ids))

    def next_transaction(self, tx: Transaction) -> int | None:
        """The number after those of all that have ended.

        None where a lower one is under way, or where the tables have triggers or the like.
        """
        number = tx.rows(self._sql["next_transaction"])[0][0]
        return None if number is None else int(number)

    def holding(self, tx: Transaction, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those that hold a checkpoint."""
        return {row[0] for row in tx.rows(self._sql["holding"], ids=list(thread_ids))}

    def heads(self, tx: Transaction, thread_ids: Sequence[str]) -> dict[str, Head]:
        """The head of each thread; with a foreign id, dated by the checkpoints' ``ts``."""
        if not thread_ids:
            return {}
        rows = tx.rows(self._sql["heads"], ids=list(thread_ids))
        times = self._times(tx, [t for t, _, foreign in rows if foreign])
        return {
            t: (head, times.get(t) if foreign else instant_of(head)) for t, head, foreign in rows
        }

    def head_page(
        self, tx: Transaction, bounds: tuple[str, str], after: str | None, limit: int
    ) -> dict[str, str]:
        """Threads by id whose head is below or above these bounds, each with it."""
        below, above = bounds
        name = "first_head_page" if after is None else "head_page"
        params = {"after": after, "below": below, "above": above, "limit": limit}
        _, page = tx.together(
            Statement(self._sql["in_index_order"], {}), Statement(self._sql[name], params)
        )
        return dict(cast("list[tuple[str, str]]", page.rows))

    def head_metadata(
        self, tx: Transaction, heads: Mapping[str, str], keys: Sequence[str]
    ) -> dict[str, dict[str, Scalar]]:
        """What the metadata of threads' heads says under these keys: plain values alone."""
        found: dict[str, dict[str, Scalar]] = {}
        rows = tx.rows(
            self._sql["head_metadata"],
            ids=list(heads),
            heads=list(heads.values()),
            keys=list(keys),
        )
        for thread_id, key, value in rows:
            found.setdefault(thread_id, {})[key] = value
        return found

    def holds_any(self, tx: Transaction) -> bool:
        """Whether there is any checkpoint or write."""
        return bool(tx.rows(self._sql["holds_any"])[0][0])

    def inspect(self, tx: Transaction) -> Inspection:
        """Count what the store holds, decoding nothing."""
        names = ("in_table_order", "inspect_ids", "inspect_types")
        _, ids, types = tx.together(*(Statement(self._sql[name], {}) for name in names))
        return Inspection(IdCount(*ids.rows[0]), type_counts(types.rows))

    def count(self, tx: Transaction) -> int:
        """Threads that hold a checkpoint."""
        return int(tx.rows(self._sql["count"])[0][0])

    def interrupted(self, tx: Transaction, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an interrupt on the head of one of their namespaces."""
        return self._parked(tx, thread_ids, INTERRUPT)

    def failed(self, tx: Transaction, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an error on the head of one of their namespaces."""
        return self._parked(tx, thread_ids, ERROR)

    def sizes(self, tx: Transaction, thread_ids: Sequence[str]) -> dict[str, int]:
        """Stored bytes of each of these threads."""
        rows = tx.rows(self._sql["sizes"], ids=list(thread_ids))
        return {thread_id: int(size) for thread_id, size in rows}

    def holdings(self, tx: Transaction, thread_id: str) -> dict[str, int]:
        """How many rows each of the saver's tables holds of a thread."""
        (counts,) = tx.rows(self._sql["holdings"], thread_id=thread_id)
        return dict(zip(SAVER_TABLES, counts, strict=True))

    def erase(self, tx: Transaction, thread_id: str) -> dict[str, int]:
        """Delete all rows of a thread, whatever its head is; how many each table held."""
        (counts,) = tx.rows(self._sql["erase"], thread_id=thread_id)
        return dict(zip(SAVER_TABLES, counts, strict=True))

    def delete(self, tx: Transaction, heads: Mapping[str, str]) -> set[str]:
        """Delete all rows of the threads whose head is still this one; say which those are."""
        rows = tx.rows(self._sql["delete"], ids=list(heads), heads=list(heads.values()))
        return {row[0] for row in rows}

    def delete_as_planned(self, tx: Transaction, heads: Mapping[str, str]) -> set[str]:
        """Of these threads, delete those of which nothing else is known than their head."""
        ids, known = list(heads), list(heads.values())
        rows = tx.rows(self._sql["delete_as_planned"], ids=ids, heads=known)
        return {row[0] for row in rows}

    def remnants(self, tx: Transaction, heads: Mapping[str, str], *, whole: bool) -> set[str]:
        """Of these deleted threads, those with rows from their head on, or with any."""
        name = "remnants" if whole else "remnants_from_head"
        rows = tx.rows(self._sql[name], ids=list(heads), heads=list(heads.values()))
        return {row[0] for row in rows}

    def skeleton(self, tx: Transaction, thread_id: str) -> Skeleton:
        """The ids a thread holds."""
        checkpoints = tx.rows(self._sql["skeleton"], thread_id=thread_id)
        writes = tx.rows(self._sql["skeleton_writes"], thread_id=thread_id)
        return Skeleton(
            {(ns, checkpoint_id): parent for ns, checkpoint_id, parent, _ in checkpoints},
            {(ns, checkpoint_id): count for ns, checkpoint_id, count in writes},
            {(ns, checkpoint_id): caller for ns, checkpoint_id, _, caller in checkpoints if caller},
        )

    def delete_dead(self, tx: Transaction, thread_id: str, dead: DeadRows) -> None:
        """Delete these rows of a thread, and the blobs that no checkpoint left needs."""
        self._delete_places(tx, "delete_dead_checkpoints", thread_id, list(dead.checkpoints))
        self._delete_places(tx, "delete_dead_writes", thread_id, list(dead.writes))
        tx.change(self._sql["delete_dead_blobs"], thread_id=thread_id)

    def _parked(self, tx: Transaction, thread_ids: Sequence[str], channel: str) -> set[str]:
        params = {"idx": WRITES_IDX_MAP[channel], "channel": channel}
        return {row[0] for row in tx.rows(self._sql["parked"], ids=list(thread_ids), **params)}

    def _delete_places(
        self, tx: Transaction, name: str, thread_id: str, places: Sequence[Place]
    ) -> None:
        spaces, ids = [ns for ns, _ in places], [place for _, place in places]
        tx.change(self._sql[name], thread_id=thread_id, spaces=spaces, ids=ids)

    def _times(self, tx: Transaction, thread_ids: Sequence[str]) -> dict[str, datetime | None]:
        if not thread_ids:
            return {}
        rows = tx.rows(self._sql["times"], ids=list(thread_ids))
        return {
            thread_id: newest_instant((checkpoint_id, ts) for _, checkpoint_id, ts in group)
            for thread_id, group in groupby(rows, key=itemgetter(0))
        }
