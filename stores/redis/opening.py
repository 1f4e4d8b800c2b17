"""Opening a Redis store: what it lies on and how it is laid out are checked first."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from retention.errors import ConfigurationError
from stores.codec import FaithfulCodec
from stores.formats import checked_format
from stores.inspection import Inspection
from stores.opened import Store
from stores.options import StoreOptions
from stores.redis.asks import RedisAsks
from stores.redis.client import aconnected, connected
from stores.redis.connection import Connection
from stores.redis.deleter import RedisDeleter
from stores.redis.formats import Formats
from stores.redis.ledger import RedisLedger
from stores.redis.runs import RedisRunLog
from stores.redis.saver import AsyncRedisRetentionSaver, RedisRetentionSaver
from stores.redis.server_checks import check_servers
from stores.redis.threads import RedisThreads
from stores.redis_address import RedisPlace, parse

_WAITING_SKIPPED = (
    "Redis drops a waiting thread by itself: its waiting retention is its keys' time to live"
)


@contextmanager
def open_store(address: str, options: StoreOptions) -> Iterator[Store]:
    """Open a store.

    Raises:
        ConfigurationError: The address is wrong, or the server refuses it, evicts keys, is too old
            or is a replica that is to be written to.
        CheckpointStoreFormatError: The store is of another format, or holds checkpoints of none.
        StoreUnavailableError: The server cannot be reached.
    """
    with _opened(parse(address), options) as (connection, codec):
        yield _assembled(
            connection,
            options,
            lambda: RedisRetentionSaver(connection, codec, options, keeps_format=True),
        )


@asynccontextmanager
async def aopen_store(address: str, options: StoreOptions) -> AsyncIterator[Store]:
    """Open a store whose saver is the async one; its other ports work in threads."""
    place = parse(address)
    opened = _opened(place, options)
    connection, codec = await asyncio.to_thread(opened.__enter__)
    try:
        async with aconnected(place, options) as own:
            saver = AsyncRedisRetentionSaver(own, codec, options, keeps_format=True)
            yield _assembled(connection, options, lambda: saver)
    finally:
        await asyncio.to_thread(opened.__exit__, None, None, None)


def init(address: str, options: StoreOptions) -> None:
    """Record the format of an empty store; there are no tables to make. Raises as opening does."""
    with _opened(parse(address), options):
        pass


def adopt(address: str, options: StoreOptions, compresses: bool | None) -> Inspection:
    """Refuse: what other savers keep on Redis has nothing in common with this store.

    Raises:
        ConfigurationError: Always.
    """
    raise ConfigurationError(
        "Redis: there is nothing to adopt: other savers lay out their keys in another way; "
        "`retention store init` records the format of an empty store"
    )


def ddl() -> list[str]:
    """Refuse: there are no tables.

    Raises:
        ConfigurationError: Always.
    """
    raise ConfigurationError(
        "Redis: a store there has no tables and no SQL; `retention store init` records its format"
    )


@contextmanager
def _opened(place: RedisPlace, options: StoreOptions) -> Iterator[tuple[Connection, FaithfulCodec]]:
    with connected(place, options) as connection:
        check_servers(connection, options.access)
        compresses = checked_format(Formats(connection), lambda: None, options)
        compress_above = options.compress_above if compresses else None
        yield connection, FaithfulCodec(options.allowed_modules, compress_above)


def _assembled(
    connection: Connection,
    options: StoreOptions,
    make_saver: Callable[[], BaseCheckpointSaver[Any]],
) -> Store:
    threads, runs = RedisThreads(connection, options.metadata_keys), RedisRunLog(connection)
    ledger = RedisLedger(connection, options, keeps_format=True)
    deleter = RedisDeleter(connection, threads, runs, options)
    asks = RedisAsks(connection, options)
    return Store("redis", ledger, threads, deleter, runs, make_saver, _WAITING_SKIPPED, asks=asks)
