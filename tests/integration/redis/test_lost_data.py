"""A server that lost its data under a store that is open: what goes on, and what can be opened."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from retention.errors import StoreError
from retention.runs import RunOutcome
from retention.sweep import LocalDispatch, run_sweep
from stores import Store, aopen_store, open_store
from tests.integration.redis.parts import Parts
from tests.seeding import config_of, seed_thread


def put(store: Store, parts: Parts) -> None:
    seed_thread(store.saver, "t", parts.clock.now, 1)


def put_writes(store: Store, _: Parts) -> None:
    store.saver.put_writes(config_of("t", "", "1"), [("a", 1)], "task")


def start(store: Store, _: Parts) -> None:
    store.ledger.start(["t", "u", "v"])


@pytest.mark.parametrize("write", [put, put_writes, start])
def test_what_is_written_after_data_was_lost_can_be_opened(
    redis_store_url: str, client: Any, parts: Parts, write: Callable[[Store, Parts], None]
) -> None:
    with open_store(redis_store_url) as store:
        client.flushdb()
        write(store, parts)
    with open_store(redis_store_url) as store:
        assert store.runs.live() is None


def test_an_async_saver_records_the_format_anew_too(
    redis_store_url: str, client: Any, parts: Parts
) -> None:
    async def write() -> None:
        async with aopen_store(redis_store_url) as store:
            client.flushdb()
            await asyncio.to_thread(put, store, parts)

    asyncio.run(write())
    with open_store(redis_store_url) as store:
        assert store.threads.count_threads() == 1


def test_a_sweep_whose_record_was_lost_says_so(parts: Parts, client: Any) -> None:
    parts.seed_due("a", "b")
    local = LocalDispatch()
    with pytest.raises(StoreError, match="record of run 'lost' is gone"):
        run_sweep(
            parts.sweep(local, batch_size=1),
            local,
            "lost",
            progress=lambda run_id, left: client.flushdb(),
        )
    assert parts.run("next").outcome is RunOutcome.COMPLETED
