"""Real graphs, swept: finished threads go whole, all others keep everything."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig

from retention import ThreadRetention
from retention.runs import RunOutcome
from tests.integration import graphs
from tests.integration.graphs import NOTHING, agent_on
from tests.integration.places import Place, later
from tests.integration.sweeping import sweep
from tests.seeding import config_of

CHAIN = ["first", "second", "third"]


def test_a_finished_graph_past_its_horizon_goes_whole_and_its_neighbours_lose_nothing(
    place: Place, who: str, mode: str, durability: str
) -> None:
    with agent_on(place, graphs.branching(), who, mode) as agent, place.store(at=later()) as store:
        for thread_id in ("old", "older", "started"):
            agent.run(NOTHING, config_of(thread_id), durability)
        before = agent.state(config_of("started")), place.rows("started")
        store.ledger.start(["started"])
        result = sweep(store)
        assert result.outcome is RunOutcome.COMPLETED
        assert sorted(result.to_json()["waiting_swept"]) == ["old", "older"]
        assert place.threads() == {"started"}
        after = agent.state(config_of("started")), place.rows("started")
        assert after[0] == before[0]
        assert after[1] == {**before[1], "retention_threads": 1}
        assert agent.state(config_of("old")).values == {}


def test_a_thread_marked_finished_goes_after_the_finished_retention(place: Place) -> None:
    with agent_on(place, graphs.chain()) as agent, place.store() as store:
        for thread_id in ("done", "open"):
            agent.run(NOTHING, config_of(thread_id))
        store.ledger.mark_finished(["done", "never-seen"])
        assert sweep(store, later(0.9)).counts.everything() == 0
        result = sweep(store, later(1.1)).to_json()
        assert result["finished_swept"] == ["done"]
        assert place.threads() == {"open"}


def test_a_thread_restarted_after_its_mark_is_kept_and_continues(place: Place, who: str) -> None:
    with agent_on(place, graphs.chain(), who) as agent:
        agent.run(NOTHING, config_of("again"))
        with place.store() as store:
            store.ledger.mark_finished(["again"])
        with place.store(at=later()) as store:
            store.ledger.start(["again"])
            assert sweep(store).counts.everything() == 0
        result = agent.run(NOTHING, config_of("again"))
        assert result == {"log": CHAIN * 2, "count": 6}


def test_a_declared_retention_lets_a_thread_go_earlier(place: Place) -> None:
    with agent_on(place, graphs.chain()) as agent, place.store() as store:
        for thread_id in ("short", "default"):
            agent.run(NOTHING, config_of(thread_id))
        store.ledger.start(["short"], ThreadRetention(waiting_minutes=60))
        assert sweep(store, later(0.1)).to_json()["waiting_swept"] == ["short"]
        assert place.threads() == {"default"}


@pytest.mark.parametrize("writer", ["stock", "ours"])
def test_stock_savers_and_ours_continue_each_others_threads(
    place: Place, writer: str, mode: str, durability: str
) -> None:
    reader = {"stock": "ours", "ours": "stock"}[writer]
    config = config_of("shared")
    with agent_on(place, graphs.chain(), writer, mode) as agent:
        agent.run(NOTHING, config, durability)
        written = agent.history(config)
    with agent_on(place, graphs.chain(), reader, mode) as agent:
        assert agent.history(config) == written
        assert agent.run(NOTHING, config, durability)["count"] == 6
        newest = agent.state(config)
    with agent_on(place, graphs.chain(), writer, mode) as agent:
        assert agent.state(config) == newest


def everything(agent: Any, config: RunnableConfig, durability: str) -> list[Any]:
    """Runs, forks, replays and edits on one thread; what each leaves in the state."""
    seen = [agent.run(NOTHING, config, durability)]
    seen.append(agent.run({"log": ["more"], "count": 1}, config, durability))
    states = agent.history(config)
    oldest, middle = states[-1], states[len(states) // 2]
    seen.append(agent.run(None, middle.config, durability))
    seen.append(agent.run({"log": ["fork"], "count": 1}, oldest.config, durability))
    forked = agent.update(middle.config, {"log": ["edit"], "count": 1})
    seen.append(agent.run(None, forked, durability))
    agent.update(config, {"log": ["end"], "count": 1})
    seen.append(agent.run(None, config, durability))
    return [*seen, len(agent.history(config))]


def test_our_saver_takes_every_legitimate_put(place: Place, mode: str, durability: str) -> None:
    for build in (graphs.chain, graphs.branching):
        with agent_on(place, build(), "stock", mode) as agent:
            wanted = everything(agent, config_of(f"{build.__name__}-stock"), durability)
        with agent_on(place, build(), "ours", mode) as agent:
            assert everything(agent, config_of(f"{build.__name__}-ours"), durability) == wanted


@pytest.mark.parametrize("who", ["stock", "ours"])
def test_a_cancelled_run_can_continue_and_goes_whole_once_it_is_old(place: Place, who: str) -> None:
    begun = asyncio.Event()

    async def endless(state: graphs.State) -> graphs.Update:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    graph = graphs.series(("first", graphs.step("first")), ("endless", endless))
    config = config_of("cancelled")
    with agent_on(place, graph, who, "async") as agent:
        agent.cancel_when(NOTHING, config, begun)
        assert agent.state(config).next == ("endless",)
        agent.update(config, {"log": ["skipped"], "count": 1})
        assert agent.state(config).values["log"] == ["first", "skipped"]
        with place.store() as store:
            assert sweep(store, later(6)).counts.everything() == 0
            assert agent.state(config).values["log"] == ["first", "skipped"]
            assert sweep(store).to_json()["waiting_swept"] == ["cancelled"]
    assert place.threads() == set()


def test_a_thread_of_two_namespaces_is_as_young_as_its_newest_checkpoint(place: Place) -> None:
    with agent_on(place, graphs.asking_within()) as agent, place.store() as store:
        agent.run(NOTHING, config_of("young"))
        head = max(row[0] for row in place.query("SELECT checkpoint_id FROM checkpoints"))
        spaces = place.query(
            f"SELECT checkpoint_ns FROM checkpoints WHERE checkpoint_id = '{head}'"
        )
        assert spaces[0][0] != ""
        facts = store.threads.facts(["young"])["young"]
        assert facts.head == head
        assert facts.head_at is not None
        just_before = facts.head_at + timedelta(days=7) - timedelta(seconds=1)
        assert sweep(store, just_before, filters=()).counts.everything() == 0
        just_after = facts.head_at + timedelta(days=7, seconds=1)
        assert sweep(store, just_after, filters=()).to_json()["swept_count"] == 1
