"""The rows of the official SQLite saver, in SQL."""

from collections.abc import Mapping, Sequence

from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT

from retention.ids import instant_of
from retention.late_writes import DeadRows, Skeleton
from retention.operator import Scalar
from stores.inspection import IdCount, Inspection, type_counts
from stores.relational.database import Transaction
from stores.relational.rows import Head
from stores.relational.sqlite_database import SqliteDatabase
from stores.sqlite.ids import readable_ids

_HEX = "[0-9a-f]"
_UUID6 = "-".join([_HEX * 8, _HEX * 4, "6" + _HEX * 3, "[89ab]" + _HEX * 3, _HEX * 12])


#: The official saver's tables with rows of threads.
SAVER_TABLES = ("checkpoints", "writes")


class SqliteRows:
    """Checkpoints and writes. SQLite has one writer: a transaction's start is the lock."""

    def __init__(self, db: SqliteDatabase) -> None:
        """Speak this database's SQL."""
        self._db = db
        self._sql = {
            name: sql.replace("{shape}", f"'{_UUID6}'")
            for name, sql in db.sql("stores.sqlite", "rows.sql").items()
        }

    def lock(self, tx: Transaction, thread_ids: Sequence[str]) -> list[str]:
        """All threads: the transaction that asks holds the write lock."""
        return list(thread_ids)

    def lock_all(self, tx: Transaction, thread_ids: Sequence[str]) -> None:
        """Nothing to wait for: the transaction that asks holds the write lock."""

    def next_transaction(self, tx: Transaction) -> int | None:
        """None: transactions have no numbers here."""
        return None

    def holding(self, tx: Transaction, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those that hold a checkpoint."""
        return {row[0] for row in tx.rows(self._sql["holding"], ids=list(thread_ids))}

    def heads(self, tx: Transaction, thread_ids: Sequence[str]) -> dict[str, Head]:
        """The head of each thread; undatable with a foreign id, whose ``ts`` lies in the state."""
        if not thread_ids:
            return {}
        rows = tx.rows(self._sql["heads"], ids=list(thread_ids))
        return {t: (head, None if foreign else instant_of(head)) for t, head, foreign in rows}

    def head_page(
        self, tx: Transaction, bounds: tuple[str, str], after: str | None, limit: int
    ) -> dict[str, str]:
        """Threads by id whose head is below or above these bounds, each with it.

        A thread whose id is no text is left alone, and said in the log.
        """
        below, above = bounds
        name = "first_head_page" if after is None else "head_page"
        params = {"after": after, "below": below, "above": above, "limit": limit}
        with readable_ids(self._db.connection):
            return dict(tx.rows(self._sql[name], **params))

    def head_metadata(
        self, tx: Transaction, heads: Mapping[str, str], keys: Sequence[str]
    ) -> dict[str, dict[str, Scalar]]:
        """What the metadata of threads' heads says under these keys: plain values alone."""
        found: dict[str, dict[str, Scalar]] = {}
        for thread_id, key, kind, value in tx.rows(self._sql["head_metadata"], ids=list(heads)):
            if key in keys:
                plain = kind == "true" if kind in ("true", "false") else value
                found.setdefault(thread_id, {})[key] = plain
        return found

    def holds_any(self, tx: Transaction) -> bool:
        """Whether there is any checkpoint or write."""
        return bool(tx.rows(self._sql["holds_any"])[0][0])

    def inspect(self, tx: Transaction) -> Inspection:
        """Count what the store holds, decoding nothing."""
        ids = IdCount(*tx.rows(self._sql["inspect_ids"])[0])
        return Inspection(ids, type_counts(tx.rows(self._sql["inspect_types"])))

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
        """Stored bytes of each of these threads that holds any."""
        return {t: int(size) for t, size in tx.rows(self._sql["sizes"], ids=list(thread_ids))}

    def holdings(self, tx: Transaction, thread_id: str) -> dict[str, int]:
        """How many rows each of the saver's tables holds of a thread."""
        (counts,) = tx.rows(self._sql["holdings"], thread_id=thread_id)
        return dict(zip(SAVER_TABLES, counts, strict=True))

    def erase(self, tx: Transaction, thread_id: str) -> dict[str, int]:
        """Delete all rows of a thread; how many each table held."""
        return {
            table: tx.change(self._sql[f"erase_{table}"], thread_id=thread_id)
            for table in SAVER_TABLES
        }

    def delete(self, tx: Transaction, heads: Mapping[str, str]) -> set[str]:
        """Delete all rows of these threads: under the write lock, no head has moved."""
        tx.change(self._sql["delete_checkpoints"], ids=list(heads))
        tx.change(self._sql["delete_writes"], ids=list(heads))
        return set(heads)

    def delete_as_planned(self, tx: Transaction, heads: Mapping[str, str]) -> set[str]:
        """None: a look costs no round trip here."""
        return set()

    def remnants(self, tx: Transaction, heads: Mapping[str, str], *, whole: bool) -> set[str]:
        """Of these deleted threads, those with any row."""
        return {row[0] for row in tx.rows(self._sql["remnants"], ids=list(heads))}

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
        """Delete these rows of a thread."""
        for name, places in (
            ("delete_dead_checkpoint", dead.checkpoints),
            ("delete_dead_write", dead.writes),
        ):
            tx.change_many(
                self._sql[name],
                [{"thread_id": thread_id, "ns": ns, "id": place} for ns, place in places],
            )

    def _parked(self, tx: Transaction, thread_ids: Sequence[str], channel: str) -> set[str]:
        params = {"idx": WRITES_IDX_MAP[channel], "channel": channel}
        return {row[0] for row in tx.rows(self._sql["parked"], ids=list(thread_ids), **params)}
