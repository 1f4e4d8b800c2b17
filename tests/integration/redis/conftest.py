"""A saver of each kind on an empty Redis, and how a thread looks in there."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import redis.asyncio

from stores.codec import FaithfulCodec
from stores.options import StoreOptions
from stores.redis.connection import AsyncConnection, Connection
from stores.redis.saver import AsyncRedisRetentionSaver, RedisRetentionSaver
from tests.contract.lab import SettableClock
from tests.integration.redis.parts import Parts


@pytest.fixture
def client(redis_store_url: str) -> Iterator[Any]:
    """A client of an empty Redis that only this test uses."""
    with contextlib.closing(redis.Redis.from_url(redis_store_url, protocol=2)) as client:
        yield client


@pytest.fixture
def saver(client: Any) -> RedisRetentionSaver:
    """The sync saver."""
    return RedisRetentionSaver(Connection(client), FaithfulCodec(), StoreOptions())


@pytest.fixture
async def asaver(redis_store_url: str, client: Any) -> AsyncIterator[AsyncRedisRetentionSaver]:
    """The async saver, on the same Redis as the sync one."""
    async with redis.asyncio.Redis.from_url(redis_store_url, protocol=2) as own:
        yield AsyncRedisRetentionSaver(AsyncConnection(own), FaithfulCodec(), StoreOptions())


@pytest.fixture
def parts(client: Any) -> Parts:
    """All ports of an empty store, whose clock stands still."""
    return Parts(Connection(client), SettableClock())
