"""What the official Redis saver does: ``python -m bench.official_redis --threads N``.

It needs the extra `bench`. It prints one line of JSON: checkpoints put a second (each with its
three writes), threads deleted a second, and bytes of the server's memory a thread, while the
threads are there and after they were deleted.
"""

import argparse
import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any

import redis

from bench.redis_servers import official_server
from bench.subjects import write_thread
from tests.servers.redis import RedisServer

_LONG_AGO = datetime.now(UTC) - timedelta(days=30)


@contextmanager
def official_saver(server: RedisServer) -> Iterator[Any]:
    """The official saver on a server, over its TCP port, with its indexes made.

    Raises:
        SystemExit: The package of the saver is not installed.
    """
    try:
        from langgraph.checkpoint.redis import RedisSaver
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error.name} is not installed: it is in the extra bench") from None
    with RedisSaver.from_conn_string(server.url()) as saver:
        saver.setup()
        yield saver


def measure(saver: Any, server: RedisServer, threads: int, checkpoints: int) -> dict[str, float]:
    """Write threads one after the other, then delete them in a loop."""
    ids = [f"bench-{number:08}" for number in range(threads)]
    empty = used_memory(server)
    written = seconds(lambda id_: write_thread(saver, id_, checkpoints, _LONG_AGO), ids)
    full = used_memory(server)
    deleted = seconds(saver.delete_thread, ids)
    return {
        "threads": threads,
        "checkpoints": checkpoints,
        "checkpoints_put_per_second": round(threads * checkpoints / written, 1),
        "threads_deleted_per_second": round(threads / deleted, 1),
        "bytes_per_thread": round((full - empty) / threads),
        "bytes_per_thread_left": round((used_memory(server) - empty) / threads),
        "keys_left": keys(server),
    }


def seconds(work: Callable[[str], object], thread_ids: Sequence[str]) -> float:
    """How long something takes with each of the threads in turn."""
    began = perf_counter()
    for thread_id in thread_ids:
        work(thread_id)
    return perf_counter() - began


def used_memory(server: RedisServer) -> int:
    """Bytes that the server has allocated."""
    with contextlib.closing(redis.Redis.from_url(server.url())) as client:
        return int(client.info("memory")["used_memory"])


def keys(server: RedisServer) -> int:
    """How many keys the server holds."""
    with contextlib.closing(redis.Redis.from_url(server.url())) as client:
        return int(client.dbsize())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.official_redis")
    parser.add_argument("--threads", type=int, default=1_000)
    parser.add_argument("--checkpoints", type=int, default=5)
    args = parser.parse_args()
    with official_server() as server, official_saver(server) as saver:
        answer = measure(saver, server, args.threads, args.checkpoints)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
