"""Redis under test: our store on the packaged server, the official saver on its twin."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import redis

from bench.official_redis import official_saver
from bench.redis_servers import official_server
from bench.subjects import bench_ids, in_batches, write_thread
from stores import StoreOptions, open_store
from stores.options import now
from stores.redis.client import connected
from stores.redis.connection import Connection
from stores.redis.layout import BUCKETS, bucket, bucket_of, raw
from stores.redis.requests import Call
from stores.redis.scripts import thread_script
from stores.redis_address import parse
from tests.servers.redis import RedisServer

_TEMPLATE = "template"
#: Threads are copied so many to a round trip.
_COPIES = 200

#: What no delete of a thread given by its id can do without: its keys and its index entries.
_BARE_DELETE = """
local start, id = KEYS[1], ARGV[1]
redis.call('UNLINK', start .. 'm:' .. id, start .. 'c:' .. id, start .. 'i:' .. id,
  start .. 'b:' .. id, start .. 'w:' .. id)
redis.call('ZREM', start .. 'live', id)
redis.call('ZREM', start .. 'expiry', id)
redis.call('ZREM', start .. 'marks', id)
return 1
"""


@dataclass(slots=True)
class RedisSubject:
    """Two servers of one program: ours is plain, the official saver's has its modules loaded."""

    server: RedisServer
    official: RedisServer
    saver: Any
    #: The official saver writes each of its threads for real, which takes long: they are written
    #: once, and each round deletes another tenth of them.
    loop_share: float = 0.1
    left: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Over TCP, as the official saver is reached."""
        return self.server.url()

    def seed(self, threads: int, checkpoints: int, at: datetime) -> list[str]:
        """Write one thread through the saver, copy it under other ids, and mark them all."""
        self.server.flush()
        ids = bench_ids(threads)
        finished = at + timedelta(seconds=checkpoints)
        with open_store(self.address, settings=StoreOptions(clock=lambda: finished)) as store:
            write_thread(store.saver, _TEMPLATE, checkpoints, at)
            with connected(parse(self.address), StoreOptions()) as connection:
                _copy(connection, _TEMPLATE, ids)
            store.saver.delete_thread(_TEMPLATE)
            for some in in_batches(ids):
                store.ledger.mark_finished(some)
        return ids

    def seed_loop(self, threads: int, checkpoints: int, at: datetime) -> list[str]:
        """Have so many threads written through the official saver; some of them."""
        size = max(1, int(threads * self.loop_share))
        if len(self.left) < size:
            self.official.flush()
            self.saver.setup()
            self.left = bench_ids(threads)
            for thread_id in self.left:
                write_thread(self.saver, thread_id, checkpoints, at)
        chosen, self.left = self.left[:size], self.left[size:]
        return chosen

    def loop(self, thread_ids: Sequence[str]) -> None:
        """Delete with the official saver, thread by thread."""
        for thread_id in thread_ids:
            self.saver.delete_thread(thread_id)

    def raw(self, thread_ids: Sequence[str]) -> None:
        """Delete with one bare script a thread, 500 given ids a pipeline."""
        with closing(redis.Redis.from_url(self.address)) as client:
            digest = client.script_load(_BARE_DELETE)
            for some in in_batches(thread_ids):
                pipeline = client.pipeline(transaction=False)
                for thread_id in some:
                    pipeline.evalsha(digest, 1, bucket_of(thread_id), raw(thread_id))
                pipeline.execute()

    def scan(self) -> None:
        """Ask each bucket how much is due there."""
        due = int(now().timestamp() * 1_000_000)
        with closing(redis.Redis.from_url(self.address)) as client:
            pipeline = client.pipeline(transaction=False)
            for number in range(BUCKETS):
                pipeline.zcount(bucket(number) + b"marks", "-inf", due)
            pipeline.execute()


@contextmanager
def redis_subject() -> Iterator[RedisSubject]:
    """Start both servers.

    Raises:
        SystemExit: The extra `bench` is not installed, or has no modules for this platform.
    """
    official = official_server()
    with RedisServer() as server, official, official_saver(official) as saver:
        yield RedisSubject(server, official, saver)


def _copy(connection: Connection, source: str, thread_ids: Sequence[str]) -> None:
    reading, writing = thread_script("copy_read"), thread_script("copy_write", "places")
    (read,) = connection.send([Call(reading, bucket_of(source), [raw(source)])])
    waiting = StoreOptions().policy.waiting_minutes * 60_000
    for first in range(0, len(thread_ids), _COPIES):
        connection.send(
            [
                Call(writing, bucket_of(id_), [raw(id_), waiting, waiting, *read])
                for id_ in thread_ids[first : first + _COPIES]
            ]
        )
