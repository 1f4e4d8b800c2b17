"""Parked LangGraph runs and a real worker pool: swept past, again and again, and resumed."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import langgraph.checkpoint.base.id  # noqa: F401 - a name in its package hides the module
import pytest
from pytest_celery import CeleryTestSetup

from stores import StoreOptions, open_store
from tests.acceptance.deployment import Deployment
from tests.acceptance.places import StorePlace
from tests.integration import graphs
from tests.integration.graphs import NOTHING, SyncAgent, answer
from tests.seeding import config_of, seed_threads

#: The graph's thread by who spares it, at first and once one of its two questions is answered.
OWNERS = {"interrupts": "flows-engine", "asks": "interactions", "barrier": "agents"}


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """Sets the time at which LangGraph mints the ids of checkpoints."""
    minting = sys.modules["langgraph.checkpoint.base.id"]

    def set_time(instant: datetime) -> None:
        nanoseconds = int(instant.timestamp() * 1_000_000_000)
        monkeypatch.setattr(minting, "time", SimpleNamespace(time_ns=lambda: nanoseconds))
        monkeypatch.setattr(minting, "_last_v6_timestamp", None)

    return set_time


@pytest.mark.parametrize("broker", ["filesystem"], indirect=True)
@pytest.mark.parametrize(
    ("place", "horizon"), [("postgres", "waiting"), ("redis", "finished")], indirect=["place"]
)
def test_parked_runs_outlive_the_sweeps_of_a_pool_and_resume(
    celery_setup: CeleryTestSetup,
    deployment: Deployment,
    place: StorePlace,
    horizon: str,
    long_ago: datetime,
    at: Callable[[datetime], None],
) -> None:
    """One of two questions is answered in between; what nobody waits for goes meanwhile."""
    past = StoreOptions(clock=lambda: long_ago + timedelta(hours=1))
    with open_store(place.address, settings=past) as then, deployment.opened() as store:
        agent = SyncAgent(graphs.asking_twice(), store.saver)
        at(long_ago)
        for thread_id in OWNERS:
            agent.run(NOTHING, config_of(thread_id))
        due = seed_threads(store.saver, "due", 3, long_ago)
        if horizon == "finished":
            then.ledger.mark_finished([*OWNERS, *due])
        deadline = datetime.now(UTC) + timedelta(days=1)
        for thread_id in ("asks", "barrier"):
            for question in ("left", "right"):
                store.asks.open_ask(thread_id, question, deadline)
        store.asks.open_barrier("barrier", "both", ["left", "right"], deadline)

        expected = [{"horizon": horizon, "owner": o, "thread_id": t} for t, o in OWNERS.items()]
        swept = set()
        for round_ in range(3):
            states = {t: agent.state(config_of(t)) for t in OWNERS}
            result = deployment.result(deployment.call())
            assert by_thread(result["spared"]) == by_thread(expected)
            swept |= {*result["finished_swept"], *result["waiting_swept"]}
            assert {t: agent.state(config_of(t)) for t in OWNERS} == states
            if round_ == 0:
                # The head stays where it was: its other question is still pending.
                for thread_id in OWNERS:
                    answer(agent, config_of(thread_id), "left")
                    store.asks.answer(thread_id, "left")
        assert swept == set(due)

        assert store.asks.answer("barrier", "right").barriers[0].is_complete
        for thread_id in OWNERS:
            final = answer(agent, config_of(thread_id), "right")
            assert sorted(final["log"][:2]) == ["left=yes", "right=yes"]
            assert final["log"][2:] == ["join"]
    logged = [line for line in deployment.logs().splitlines() if "thread_spared" in line]
    assert len(logged) == 9
    assert all("level=WARNING" in line for line in logged)


def by_thread(spared: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Spared threads in an order of their own."""
    return sorted(spared, key=lambda found: str(found["thread_id"]))
