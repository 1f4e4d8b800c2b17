"""Delta channels: what they are rebuilt from, before and after a prune."""

import json
import operator
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    empty_checkpoint,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from stores.redis.saver import AsyncRedisRetentionSaver, RedisRetentionSaver
from tests.seeding import checkpoint_id_at, config_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)
CHANNELS = ["often", "seldom", "count", "missing"]


def extended(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    """A reducer that minds the order of writes."""
    return [*state, *(part for write in writes for part in write)]


class State(TypedDict):
    """One channel with snapshots, one that never comes to have one, and a plain one."""

    often: Annotated[list[str], DeltaChannel(extended, snapshot_frequency=3)]
    seldom: Annotated[list[str], DeltaChannel(extended, snapshot_frequency=1000)]
    count: Annotated[int, operator.add]


def graph() -> Any:
    """Three parallel nodes, and one that leaves a channel alone."""
    built: Any = StateGraph(State)
    for name in ("b", "a", "c"):
        built.add_node(name, lambda _, n=name: {"often": [n], "seldom": [n], "count": 1})
        built.add_edge(START, name)
    built.add_node("last", lambda _: {"often": ["last"]})
    built.add_edge(["a", "b", "c"], "last")
    return built


class Mirrored(InMemorySaver):
    """The library's saver, which puts everything into another one too."""

    def __init__(self, other: BaseCheckpointSaver[Any]) -> None:
        super().__init__()
        self._other = other

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        self._other.put(config, checkpoint, metadata, new_versions)
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self._other.put_writes(config, writes, task_id, task_path)
        super().put_writes(config, writes, task_id, task_path)


def run_both(saver: RedisRetentionSaver, runs: int = 6) -> Mirrored:
    """Run the graph some times on one thread; what both savers hold is the same then."""
    memory = Mirrored(saver)
    agent = graph().compile(checkpointer=memory)
    for number in range(runs):
        given = {"often": [f"run {number}"], "seldom": [f"run {number}"], "count": 0}
        agent.invoke(given, config_of("t"), durability="sync")
    agent.update_state(config_of("t"), {"often": ["edit"], "seldom": ["edit"]}, as_node="last")
    return memory


def places(saver: BaseCheckpointSaver[Any]) -> list[RunnableConfig]:
    """Where the thread's checkpoints are."""
    return [item.config for item in saver.list(config_of("t"))]


def test_the_history_at_each_checkpoint_is_the_library_s(saver: RedisRetentionSaver) -> None:
    memory = run_both(saver)
    found = places(memory)
    assert len(found) > 15
    for config in [*found, config_of("t")]:
        expected = memory.get_delta_channel_history(config=config, channels=CHANNELS)
        assert saver.get_delta_channel_history(config=config, channels=CHANNELS) == expected
        walked = BaseCheckpointSaver.get_delta_channel_history(
            saver, config=config, channels=CHANNELS
        )
        assert walked == expected
    assert "seed" in expected["often"]
    assert "seed" not in expected["seldom"]
    assert saver.get_delta_channel_history(config=config_of("t"), channels=[]) == {}


def test_each_checkpoint_reads_as_from_the_library(saver: RedisRetentionSaver) -> None:
    memory = run_both(saver)
    for ours, theirs in zip(saver.list(config_of("t")), memory.list(config_of("t")), strict=True):
        assert ours._replace(metadata={}) == theirs._replace(metadata={})
        # The library's serializer makes a list of each pair of counters; ours leaves it.
        assert json.loads(json.dumps(ours.metadata)) == theirs.metadata


def test_a_checkpoint_that_is_not_there_has_no_history(saver: RedisRetentionSaver) -> None:
    run_both(saver, 1)
    nothing: dict[str, Any] = {"often": {"writes": []}}
    for config in (config_of("t", "", "missing"), config_of("other"), config_of("t", "sub")):
        found = saver.get_delta_channel_history(config=config, channels=["often"])
        assert found == nothing


async def test_a_chain_of_many_ancestors_is_walked_whole(
    saver: RedisRetentionSaver, asaver: AsyncRedisRetentionSaver
) -> None:
    parent: str | None = None
    metadata: Any = {"source": "loop", "step": 1, "parents": {}}
    for step in range(450):
        checkpoint = empty_checkpoint()
        checkpoint["id"] = checkpoint_id_at(NOW)
        checkpoint["channel_versions"] = {"often": str(step), "small": "1"}
        checkpoint["channel_values"] = {"small": 7} if step == 20 else {}
        config = saver.put(config_of("t", "", parent), checkpoint, metadata, {})
        saver.put_writes(config, [("often", [step]), ("other", step)], "task")
        parent = checkpoint["id"]
    config = config_of("t", "", parent)
    found = await asaver.aget_delta_channel_history(config=config, channels=["often", "small"])
    assert [value for _, _, value in found["often"]["writes"]] == [[step] for step in range(449)]
    assert "seed" not in found["often"]
    assert found["small"] == {"writes": [], "seed": 7}


@pytest.mark.parametrize("runs", [1, 2, 3, 4, 5])
def test_a_pruned_thread_rebuilds_the_same_state_and_goes_on(
    saver: RedisRetentionSaver, runs: int
) -> None:
    agent = graph().compile(checkpointer=saver)
    config = config_of("t")
    for number in range(runs):
        agent.invoke({"often": [f"{number}"], "seldom": [f"{number}"], "count": 0}, config)
    before = agent.get_state(config)
    saver.prune(["t"])
    assert agent.get_state(config).values == before.values
    other = InMemorySaver()
    twin = graph().compile(checkpointer=other)
    for number in [*range(runs), "next"]:
        given = {"often": [f"{number}"], "seldom": [f"{number}"], "count": 0}
        expected = twin.invoke(given, config)
    assert agent.invoke(given, config) == expected


def test_a_prune_keeps_no_more_ancestors_than_the_snapshot_demands(
    saver: RedisRetentionSaver,
) -> None:
    class Often(TypedDict):
        often: Annotated[list[str], DeltaChannel(extended, snapshot_frequency=3)]

    built: Any = StateGraph(Often)
    built.add_node("a", lambda _: {"often": ["a"]})
    built.add_edge(START, "a")
    agent = built.compile(checkpointer=saver)
    for _ in range(10):
        agent.invoke({"often": ["in"]}, config_of("t"))
    before = agent.get_state(config_of("t")).values
    assert len(places(saver)) > 20
    saver.prune(["t"])
    assert len(places(saver)) <= 4
    assert agent.get_state(config_of("t")).values == before


def test_a_run_that_later_state_is_rebuilt_from_is_not_taken_out(
    saver: RedisRetentionSaver,
) -> None:
    agent = graph().compile(checkpointer=saver)
    for number in range(2):
        config: Any = {"configurable": {"thread_id": "t", "run_id": f"run {number}"}}
        agent.invoke({"often": ["x"], "seldom": ["x"], "count": 0}, config)
    before = list(saver.list(None))
    with pytest.raises(NotImplementedError, match="rebuilds a DeltaChannel"):
        saver.delete_for_runs(["run 0"])
    assert list(saver.list(None)) == before
    saver.delete_for_runs(["run 1"])
    assert {item.metadata["run_id"] for item in saver.list(None)} == {"run 0"}
    assert agent.get_state(config_of("t")).values["seldom"] == ["x", "a", "b", "c"]
