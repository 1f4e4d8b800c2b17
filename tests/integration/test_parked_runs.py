"""A run parked on two questions outlives any number of sweeps, and then resumes as if unswept."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retention.filters import default_owners
from stores import Store, open_store
from tests.integration import graphs
from tests.integration.graphs import NOTHING, SyncAgent, answer
from tests.integration.places import later
from tests.integration.sweeping import sweep
from tests.seeding import config_of

#: When the sweeps take place: past the finished horizon, and before any deadline.
SWEPT = timedelta(days=2)


@pytest.fixture(params=["postgres", "redis"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store that can hold asks."""
    address = {"postgres": "postgres_dsn", "redis": "redis_store_url"}[request.param]
    with open_store(request.getfixturevalue(address)) as opened:
        yield opened


def swept(store: Store, times: int, thread_id: str) -> set[str | None]:
    """Who spares a thread in so many sweeps; it is spared in each, and nothing else is due."""
    owners: set[str | None] = set()
    for _ in range(times):
        result = sweep(store, datetime.now(UTC) + SWEPT, filters=default_owners(store)).to_json()
        assert [found["thread_id"] for found in result["spared"]] == [thread_id]
        assert result["swept_count"] == 0
        owners |= {found["owner"] for found in result["spared"]}
    return owners


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    first=st.sampled_from(["left", "right"]),
    durability=st.sampled_from(["sync", "async", "exit"]),
    sweeps=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    waits_for=st.sampled_from(["interrupts", "asks", "barrier"]),
)
def test_a_run_with_one_of_two_questions_answered_resumes_with_its_state_intact(
    store: Store, first: str, durability: str, sweeps: tuple[int, int], waits_for: str
) -> None:
    thread_id = uuid.uuid4().hex
    config: Any = config_of(thread_id)
    agent = SyncAgent(graphs.asking_twice(), store.saver)
    agent.run(NOTHING, config, durability)
    asks, deadline = store.asks, later(6)
    if waits_for != "interrupts":
        for question in ("left", "right"):
            asks.open_ask(thread_id, question, deadline)
    if waits_for == "barrier":
        asks.open_barrier(thread_id, "both", ["left", "right"], deadline)
    store.ledger.mark_finished([thread_id])
    owner = {"interrupts": "flows-engine", "asks": "interactions", "barrier": "agents"}[waits_for]
    second = {"left": "right", "right": "left"}[first]
    for question, times in ((first, sweeps[0]), (second, sweeps[1])):
        before = agent.state(config)
        assert swept(store, times, thread_id) == {owner}
        assert agent.state(config) == before
        taken = asks.answer(thread_id, question)
        assert [barrier.barrier_id for barrier in taken.barriers] == (
            ["both"] if waits_for == "barrier" and question == second else []
        )
        result = answer(agent, config, question, durability)
    assert sorted(result["log"][:2]) == ["left=yes", "right=yes"]
    assert result["log"][2:] == ["join"]
    # Nobody waits any more: the resumed run wrote after the mark, which is due a day after that.
    end = sweep(store, later(3), filters=default_owners(store)).to_json()
    assert (end["finished_swept"], end["spared"]) == ([thread_id], [])
    assert asks.book(thread_id).asks == {}
    assert agent.history(config) == []
