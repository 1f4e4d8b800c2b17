"""LangGraph's own conformance suite on our async savers, asserted one capability at a time."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.checkpoint.conformance.report import CapabilityResult

from stores import aopen_saver
from tests.contract.lab import REDIS

#: How many tests each capability has in the release that is pinned.
BASE = {
    Capability.PUT: 17,
    Capability.PUT_WRITES: 10,
    Capability.GET_TUPLE: 10,
    Capability.LIST: 16,
    Capability.DELETE_THREAD: 5,
}
OPTIONAL = {
    Capability.DELETE_FOR_RUNS: 7,
    Capability.COPY_THREAD: 8,
    Capability.PRUNE: 8,
}


async def result_of(address: str, capability: Capability) -> CapabilityResult:
    """What the suite says of one capability of the saver at an address."""

    async def factory() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        async with aopen_saver(address) as saver:
            yield saver

    report = await validate(
        checkpointer_test(name="ours")(factory), capabilities={capability.value}
    )
    return report.results[capability.value]


@pytest.mark.parametrize("capability", BASE)
async def test_every_base_capability_passes_whole(address: str, capability: Capability) -> None:
    result = await result_of(address, capability)
    assert result.failures == []
    assert (result.detected, result.tests_passed) == (True, BASE[capability])


@pytest.mark.parametrize("capability", OPTIONAL)
async def test_redis_has_every_optional_one_and_postgres_has_prune(
    address: str, provider: str, capability: Capability
) -> None:
    """A saver that comes to offer one more fails here, so that its number is written down."""
    result = await result_of(address, capability)
    has = provider in REDIS or (provider, capability) == ("postgres", Capability.PRUNE)
    passed = OPTIONAL[capability] if has else 0
    assert result.failures == []
    assert (result.detected, result.tests_passed) == (passed > 0, passed)
