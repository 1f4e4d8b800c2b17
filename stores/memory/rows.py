"""The rows of the in-memory saver: its dictionaries."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from langgraph.checkpoint.serde.types import ERROR, INTERRUPT

from retention.ids import instant_of, is_datable
from retention.late_writes import DeadRows, Place, Skeleton
from retention.operator import Scalar
from stores.memory.saver import RetentionMemorySaver
from stores.relational.database import Transaction
from stores.relational.rows import Head


class MemoryRows:
    """Checkpoints, blobs and writes. The transaction's lock is the saver's: both wait for it."""

    def __init__(self, saver: RetentionMemorySaver) -> None:
        """Read and change what this saver holds."""
        self._saver = saver

    def lock(self, tx: Transaction, thread_ids: Sequence[str]) -> list[str]:
        """All threads: the transaction that asks holds the saver's lock."""
        return list(thread_ids)

    def lock_all(self, tx: Transaction, thread_ids: Sequence[str]) -> None:
        """Nothing to wait for: the transaction that asks holds the saver's lock."""

    def next_transaction(self, tx: Transaction) -> int | None:
        """None: transactions have no numbers here."""
        return None

    def holding(self, tx: Transaction, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those that hold a checkpoint."""
        return {thread_id for thread_id in thread_ids if self._ids(thread_id)}

    def heads(self, tx: Transaction, thread_ids: Sequence[str]) -> dict[str, Head]:
        """The head of each thread; undatable with a foreign id, whose ``ts`` lies in the state."""
        heads: dict[str, Head] = {}
        for thread_id in thread_ids:
            if ids := self._ids(thread_id):
                dated = all(map(is_datable, ids))
                heads[thread_id] = (max(ids), instant_of(max(ids)) if dated else None)
        return heads

    def head_page(
        self, tx: Transaction, bounds: tuple[str, str], after: str | None, limit: int
    ) -> dict[str, str]:
        """Threads by id whose head is below or above these bounds, each with it."""
        below, above = bounds
        heads = ((t, max(self._ids(t))) for t in sorted(self._saver.storage) if self._ids(t))
        found = (
            (thread_id, head)
            for thread_id, head in heads
            if (after is None or thread_id > after) and (head < below or head > above)
        )
        return dict(islice(found, limit))

    def head_metadata(
        self, tx: Transaction, heads: Mapping[str, str], keys: Sequence[str]
    ) -> dict[str, dict[str, Scalar]]:
        """What the metadata of threads' heads says under these keys: plain values alone."""
        return {
            thread_id: {
                key: value
                for key, value in self._metadata(thread_id, head).items()
                if key in keys and isinstance(value, str | int | float)
            }
            for thread_id, head in heads.items()
        }

    def count(self, tx: Transaction) -> int:
        """Threads that hold a checkpoint."""
        return sum(1 for thread_id in list(self._saver.storage) if self._ids(thread_id))

    def interrupted(self, tx: Transaction, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an interrupt on the head of one of their namespaces."""
        return self._parked(thread_ids, INTERRUPT)

    def failed(self, tx: Transaction, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an error on the head of one of their namespaces."""
        return self._parked(thread_ids, ERROR)

    def sizes(self, tx: Transaction, thread_ids: Sequence[str]) -> dict[str, int]:
        """Stored bytes of each of these threads."""
        wanted = dict.fromkeys(thread_ids, 0)
        for (thread_id, *_), (_, blob) in self._saver.blobs.items():
            if thread_id in wanted:
                wanted[thread_id] += len(blob)
        for (thread_id, *_), some in self._saver.writes.items():
            if thread_id in wanted:
                wanted[thread_id] += sum(len(value) for _, _, (_, value), _ in some.values())
        for thread_id in wanted:
            for held in self._saver.storage.get(thread_id, {}).values():
                encoded = (part for row in held.values() for _, part in row[:2])
                wanted[thread_id] += sum(map(len, encoded))
        return wanted

    def holdings(self, tx: Transaction, thread_id: str) -> dict[str, int]:
        """How much the saver's dictionaries hold of a thread."""
        writes = (some for key, some in self._saver.writes.items() if key[0] == thread_id)
        return {
            "checkpoints": len(self._ids(thread_id)),
            "writes": sum(map(len, writes)),
            "blobs": sum(1 for key in self._saver.blobs if key[0] == thread_id),
        }

    def erase(self, tx: Transaction, thread_id: str) -> dict[str, int]:
        """Delete all that a thread holds; how much each dictionary held."""
        held = self.holdings(tx, thread_id)
        self._saver.delete_thread(thread_id)
        return held

    def delete(self, tx: Transaction, heads: Mapping[str, str]) -> set[str]:
        """Delete all that these threads hold: under the saver's lock, no head has moved."""
        for thread_id in heads:
            self._saver.delete_thread(thread_id)
        return set(heads)

    def delete_as_planned(self, tx: Transaction, heads: Mapping[str, str]) -> set[str]:
        """None: a look costs no round trip here."""
        return set()

    def remnants(self, tx: Transaction, heads: Mapping[str, str], *, whole: bool) -> set[str]:
        """Of these deleted threads, those that hold anything: nothing dead is ever walked here."""
        with_writes = {thread_id for thread_id, _, _ in self._saver.writes}
        return {t for t in heads if self._ids(t) or t in with_writes}

    def skeleton(self, tx: Transaction, thread_id: str) -> Skeleton:
        """The ids a thread holds."""
        parents = {
            (namespace, checkpoint_id): parent
            for namespace, held in self._saver.storage.get(thread_id, {}).items()
            for checkpoint_id, (_, _, parent) in held.items()
        }
        writes: Counter[Place] = Counter()
        for (holder, namespace, checkpoint_id), some in self._saver.writes.items():
            if holder == thread_id:
                writes[namespace, checkpoint_id] += len(some)
        return Skeleton(parents, dict(writes))

    def delete_dead(self, tx: Transaction, thread_id: str, dead: DeadRows) -> None:
        """Delete these rows of a thread; its blobs go with the last checkpoint."""
        for namespace, checkpoint_id in dead.checkpoints:
            del self._saver.storage[thread_id][namespace][checkpoint_id]
        for namespace, checkpoint_id in dead.writes:
            del self._saver.writes[thread_id, namespace, checkpoint_id]
        if not self._ids(thread_id) and not self.skeleton(tx, thread_id).writes:
            self._saver.delete_thread(thread_id)

    def _ids(self, thread_id: str) -> list[str]:
        held = self._saver.storage.get(thread_id, {})
        return [checkpoint_id for checkpoints in held.values() for checkpoint_id in checkpoints]

    def _metadata(self, thread_id: str, head: str) -> Mapping[str, object]:
        # What says how the checkpoint came about, not the state: a dictionary of its own.
        for held in self._saver.storage.get(thread_id, {}).values():
            if head in held:
                found: Mapping[str, object] = self._saver.serde.loads_typed(held[head][1])
                return found
        return {}

    def _parked(self, thread_ids: Sequence[str], channel: str) -> set[str]:
        """A subgraph's question is over once its root moved on."""
        found: set[str] = set()
        for thread_id in thread_ids:
            spaces = self._saver.storage.get(thread_id, {})
            root = max(spaces.get("", {}), default="")
            heads = ((namespace, max(held)) for namespace, held in spaces.items() if held)
            if any(h >= root and self._has((thread_id, ns, h), channel) for ns, h in heads):
                found.add(thread_id)
        return found

    def _has(self, place: tuple[str, str, str], channel: str) -> bool:
        writes = self._saver.writes.get(place, {})
        return any(written == channel for _, written, _, _ in writes.values())
