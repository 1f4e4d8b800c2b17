"""Reading threads on Redis, by the indexes of their buckets. No state is ever decoded."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from retention.abilities import ExpiringPage
from retention.ports import Page
from retention.threads import ThreadFacts
from stores.redis.buckets import chosen_of, in_rounds, on_threads, parts, streamed
from stores.redis.connection import Connection
from stores.redis.due import DueCursor, due_page
from stores.redis.facts import stream_facts
from stores.redis.head_metadata import read_metadata
from stores.redis.layout import BUCKETS, bucket, bucket_of, micros, raw
from stores.redis.listings import listing
from stores.redis.requests import Call, one
from stores.redis.scripts import thread_script

#: Threads that one call measures: every value of each is looked at.
_THREADS_A_MEASURE = 20

_MILLISECOND = timedelta(milliseconds=1)


class RedisThreads:
    """The thread index of a Redis store.

    It lists no waiting threads: Redis drops those by itself.
    """

    def __init__(self, connection: Connection, metadata_keys: Collection[str] = ()) -> None:
        """Read through this connection; facts hold what heads' metadata says under these keys."""
        self._connection = connection
        self._keys = frozenset(metadata_keys)

    def due_page(self, now: datetime, after: DueCursor | None, limit: int) -> Page:
        """Threads whose recorded due time has passed, bucket by bucket.

        So a batch made of a page touches few buckets. Within one they come by due time, then id.
        """
        page = due_page(self._connection, micros(now), after or DueCursor(), limit)
        if not self._keys:
            return page
        ids = [facts.thread_id for facts in page.facts]
        metadata = self._connection.run(read_metadata(ids, self._keys))
        facts = [known._replace(metadata=metadata.get(known.thread_id)) for known in page.facts]
        return Page(facts, page.cursor)

    def facts(self, thread_ids: Sequence[str]) -> dict[str, ThreadFacts]:
        """What there is to know of each of these threads.

        Metadata is read after the revision: where the thread changed in between, a delete that
        goes by that revision is refused.
        """
        known = stream_facts(self._connection, thread_ids)
        if not self._keys:
            return known
        metadata = self._connection.run(read_metadata(known, self._keys))
        return {
            thread_id: facts._replace(metadata=metadata.get(thread_id))
            for thread_id, facts in known.items()
        }

    def count_threads(self) -> int:
        """All threads that hold a checkpoint."""
        counting = thread_script("live_count")
        return sum(
            self._connection.run(in_rounds([Call(counting, bucket(i)) for i in range(BUCKETS)]))
        )

    def pending_interrupts(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an interrupt on the head of any of their namespaces."""
        script = thread_script("parked", "order")
        return chosen_of(streamed(self._connection, script, thread_ids))

    def failures(self, thread_ids: Sequence[str]) -> set[str]:
        """Of these threads, those with an error on the head of any of their namespaces."""
        steps = on_threads(thread_script("failed", "order", "places"), thread_ids)
        return chosen_of(self._connection.run(steps))

    def sizes(self, thread_ids: Sequence[str]) -> dict[str, int]:
        """The memory that each of these threads takes up, in bytes."""
        script = thread_script("sizes")
        chosen = [*parts(thread_ids, _THREADS_A_MEASURE)]
        calls = [Call(script, start, [*map(raw, ids)]) for start, ids in chosen]
        replies = self._connection.run(in_rounds(calls))
        sized = zip(chosen, replies, strict=True)
        return {t: size for (_, ids), sizes in sized for t, size in zip(ids, sizes, strict=True)}

    def time_left(self, thread_id: str) -> timedelta | None:
        """The time until a thread's keys expire; None where they do not, or are gone."""
        steps = one(thread_script("time_left"), bucket_of(thread_id), raw(thread_id))
        left = self._connection.run(steps)
        return timedelta(milliseconds=left) if left >= 0 else None

    def expiring_page(self, after: str | None, limit: int) -> ExpiringPage:
        """Threads whose keys expire at some time, the age of each by the server's clock.

        Raises:
            ConfigurationError: The cursor is none of such a listing.
        """
        script = thread_script("expiring_page", "row", "order")
        found, cursor = self._connection.run(listing(script, after, limit, "threads"))
        ages = [int(t.value) * _MILLISECOND if t.value else None for t in found]
        return ExpiringPage([(t.facts, a) for t, a in zip(found, ages, strict=True)], cursor)
