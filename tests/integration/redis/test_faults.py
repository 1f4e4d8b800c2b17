"""A client that dies at any point leaves a thread as it was or as it would have been."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio
from langgraph.checkpoint.base import empty_checkpoint

from retention.errors import StoreUnavailableError, ThreadDeletedError
from stores.codec import FaithfulCodec
from stores.options import StoreOptions
from stores.redis.connection import AsyncConnection, Connection
from stores.redis.requests import Call
from stores.redis.saver import AsyncRedisRetentionSaver, RedisRetentionSaver
from tests.conftest import service
from tests.integration.redis.looking import thread_of
from tests.seeding import config_of, seed_thread
from tests.servers import RedisServer
from tests.servers.redis_programs import packaged_redis, redis62, valkey

NOW = datetime(2026, 6, 1, tzinfo=UTC)
METADATA: Any = {"source": "loop", "step": 1, "parents": {}, "run_id": "new"}
THREADS = ("t", "copy")

Work = Callable[[RedisRetentionSaver], None]


class DeathError(Exception):
    """The client died here."""


class Dying(Connection):
    """Dies before its n-th call is sent, or once it was carried out; calls travel one by one."""

    def __init__(self, client: Any, living: int, is_after: bool) -> None:
        super().__init__(client)
        self._living = living
        self._is_after = is_after

    def send(self, calls: Sequence[Call]) -> list[Any]:
        replies: list[Any] = []
        for call in calls:
            self._living -= 1
            if self._living == 0 and not self._is_after:
                raise DeathError
            replies += super().send([call])
            if self._living == 0:
                raise DeathError
        return replies


def prepared(saver: RedisRetentionSaver) -> list[str]:
    """A thread to work on; its ids."""
    seed_thread(saver, "t", NOW, 2, namespace="sub")
    return seed_thread(saver, "t", NOW, 3, interrupted=True)


def put(saver: RedisRetentionSaver) -> None:
    head = saver.get_tuple(config_of("t"))
    assert head is not None
    checkpoint = empty_checkpoint()
    checkpoint["id"], checkpoint["ts"] = "next", NOW.isoformat()
    checkpoint["channel_values"] = {"log": ["x"], "other": ["y"]}
    checkpoint["channel_versions"] = {"log": "7", "other": "7"}
    saver.put(head.config, checkpoint, METADATA, {"log": "7", "other": "7"})


def put_writes(saver: RedisRetentionSaver) -> None:
    saver.put_writes(config_of("t", "", "early"), [("a", 1), ("__interrupt__", 2)], "task")


def copy(saver: RedisRetentionSaver) -> None:
    saver.copy_thread("t", "copy")


def prune(saver: RedisRetentionSaver) -> None:
    saver.prune(["t"])


def delete(saver: RedisRetentionSaver) -> None:
    saver.delete_thread("t")


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("work", [put, put_writes, copy, prune, delete])
def test_a_thread_is_as_before_or_as_after(
    saver: RedisRetentionSaver, client: Any, work: Work, is_after: bool
) -> None:
    # The ids and tasks of a seeded thread are others each time, so it is kept and put back.
    prepared(saver)
    kept = {key: client.dump(key) for key in client.keys("*")}
    before = [thread_of(client, name) for name in THREADS]
    work(saver)
    after = [thread_of(client, name) for name in THREADS]
    assert after != before
    for living in range(1, 10):
        client.flushdb()
        for key, value in kept.items():
            client.restore(key, 3_600_000 if b":live" not in key else 0, value)
        dying = Dying(client, living, is_after)
        try:
            work(RedisRetentionSaver(dying, FaithfulCodec(), StoreOptions()))
        except DeathError:
            assert [thread_of(client, name) for name in THREADS] in (before, after)
        else:
            assert living > 1
            break
    else:
        pytest.fail("it never came to its end")
    assert [thread_of(client, name) for name in THREADS] == after


@pytest.mark.parametrize("work", [put, put_writes, copy, prune, delete])
def test_a_call_that_is_sent_twice_is_as_one(
    saver: RedisRetentionSaver, client: Any, work: Work
) -> None:
    prepared(saver)
    kept = {key: client.dump(key) for key in client.keys("*")}
    work(saver)
    after = [thread_of(client, name) for name in THREADS]
    client.flushdb()
    for key, value in kept.items():
        client.restore(key, 0, value)
    real = saver._connection.send

    def send(calls: Sequence[Call]) -> list[Any]:
        first = real(calls)
        # A prune that was carried out meets another revision: it looks again, at nothing to do.
        return first if calls[0].script.name == "drop" else real(calls)

    saver._connection.send = send  # type: ignore[method-assign]
    work(saver)
    assert [thread_of(client, name) for name in THREADS] == after


def test_a_prune_whose_answer_was_lost_finds_nothing_to_do(
    saver: RedisRetentionSaver, client: Any
) -> None:
    seed_thread(saver, "t", NOW, 5)
    real = saver._connection.send

    def send(calls: Sequence[Call]) -> list[Any]:
        real(calls)
        return real(calls)

    saver._connection.send = send  # type: ignore[method-assign]
    saver.prune(["t"])
    assert len(list(saver.list(config_of("t")))) == 1


def test_a_server_that_lost_its_scripts_is_given_them_again(
    saver: RedisRetentionSaver, client: Any
) -> None:
    ids = seed_thread(saver, "t", NOW, 2)
    client.script_flush()
    found = saver.get_tuple(config_of("t"))
    assert found is not None
    assert found.checkpoint["id"] == ids[-1]
    client.script_flush()
    assert len(list(saver.list(None))) == 2


async def test_the_async_saver_gives_a_server_its_scripts_again_too(
    saver: RedisRetentionSaver, asaver: AsyncRedisRetentionSaver, client: Any
) -> None:
    seed_thread(saver, "t", NOW, 2)
    client.script_flush()
    assert await asaver.aget_tuple(config_of("t")) == saver.get_tuple(config_of("t"))
    client.script_flush()
    assert [item async for item in asaver.alist(None)] == list(saver.list(None))


async def test_a_server_that_is_away_is_unavailable_sync_and_async() -> None:
    with RedisServer() as server, redis.Redis.from_url(server.url(), protocol=2) as client:
        saver = RedisRetentionSaver(Connection(client), FaithfulCodec(), StoreOptions())
        prepared(saver)
        url = server.url()
        server.stop_hard()
        with pytest.raises(StoreUnavailableError, match="Redis: "):
            saver.get_tuple(config_of("t"))
        async with redis.asyncio.Redis.from_url(url, protocol=2) as own:
            asaver = AsyncRedisRetentionSaver(AsyncConnection(own), FaithfulCodec(), StoreOptions())
            with pytest.raises(StoreUnavailableError, match="Redis: "):
                await asaver.aget_tuple(config_of("t"))
            with pytest.raises(StoreUnavailableError, match="Redis: "):
                [item async for item in asaver.alist(None)]


@pytest.mark.parametrize("program", [packaged_redis, redis62, valkey])
def test_a_full_server_refuses_a_write_and_changes_nothing(program: Callable[[], Path]) -> None:
    with service():
        server = RedisServer(program=program())
    with server, redis.Redis.from_url(server.url(), protocol=2) as client:
        saver = RedisRetentionSaver(Connection(client), FaithfulCodec(), StoreOptions())
        prepared(saver)
        before = [thread_of(client, name) for name in (*THREADS, "new")]
        client.config_set("maxmemory", 1)
        for work in (put, put_writes, copy):
            with pytest.raises(StoreUnavailableError, match="used memory"):
                work(saver)
        with pytest.raises(StoreUnavailableError):
            saver.put_writes(config_of("new", "", "early"), [("a", 1)], "task")
        checkpoint = empty_checkpoint()
        with pytest.raises(ThreadDeletedError):
            saver.put(config_of("new", "", "gone"), checkpoint, METADATA, {})
        assert [thread_of(client, name) for name in (*THREADS, "new")] == before
        assert saver.get_tuple(config_of("t")) is not None
        saver.delete_thread("t")
        assert thread_of(client, "t") == {}
