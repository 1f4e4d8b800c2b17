"""LangGraph's own conformance suite, whole, on both savers."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from stores.redis.saver import AsyncRedisRetentionSaver, RedisRetentionSaver

#: How many tests each capability has in the release that is pinned: 81.
TESTS = {
    Capability.PUT: 17,
    Capability.PUT_WRITES: 10,
    Capability.GET_TUPLE: 10,
    Capability.LIST: 16,
    Capability.DELETE_THREAD: 5,
    Capability.DELETE_FOR_RUNS: 7,
    Capability.COPY_THREAD: 8,
    Capability.PRUNE: 8,
}


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_all_81_pass(
    kind: str, saver: RedisRetentionSaver, asaver: AsyncRedisRetentionSaver
) -> None:
    async def factory() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        yield saver if kind == "sync" else asaver

    report = await validate(checkpointer_test(name="ours")(factory))
    found = {Capability(name): result for name, result in report.results.items()}
    assert {name: result.failures for name, result in found.items() if result.failures} == {}
    assert {name: result.tests_passed for name, result in found.items()} == TESTS
