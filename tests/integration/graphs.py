"""Real LangGraph graphs, and an agent that runs one through a sync or an async saver."""

import asyncio
import operator
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Protocol, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, StateSnapshot, interrupt

from tests.integration.places import Place


class State(TypedDict):
    """What the graphs remember: a list, which PostgreSQL keeps as a blob, and an inline number."""

    log: Annotated[list[str], operator.add]
    count: Annotated[int, operator.add]


Update = dict[str, Any]
Node = Callable[[State], Update]
Builder = Callable[[], Any]


def step(name: str) -> Node:
    """A node that notes its name."""
    return lambda state: {"log": [name], "count": 1}


def question(name: str) -> Node:
    """A node that parks the run until it is answered, and notes the answer."""
    return lambda state: {"log": [f"{name}={interrupt(name)}"], "count": 1}


def series(*nodes: tuple[str, Any]) -> Any:
    """A graph of nodes, one after the other."""
    graph: Any = StateGraph(State)
    before = START
    for name, node in nodes:
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    return graph


def chain() -> Any:
    """Three steps."""
    return series(*((name, step(name)) for name in ("first", "second", "third")))


def asking() -> Any:
    """Parks in the middle."""
    return series(("first", step("first")), ("ask", question("ask")), ("last", step("last")))


def asking_within() -> Any:
    """Parks inside a subgraph."""
    return series(("first", step("first")), ("inner", asking().compile()), ("last", step("last")))


def asking_deep_within() -> Any:
    """Parks inside a subgraph of a subgraph."""
    return series(("outer", asking_within().compile()), ("last", step("last")))


def asking_within_memory() -> Any:
    """Parks inside a subgraph that keeps its own state over calls."""
    inner = asking().compile(checkpointer=True)
    return series(("first", step("first")), ("inner", inner), ("last", step("last")))


def branching(left: Node | None = None, right: Node | None = None) -> Any:
    """Two parallel branches that join."""
    graph: Any = StateGraph(State)
    graph.add_node("left", left or step("left"))
    graph.add_node("right", right or step("right"))
    graph.add_node("join", step("join"))
    graph.add_edge(START, "left")
    graph.add_edge(START, "right")
    graph.add_edge(["left", "right"], "join")
    return graph


def asking_twice() -> Any:
    """Two parallel branches that both park."""
    return branching(question("left"), question("right"))


class Agent(Protocol):
    """A compiled graph on a saver, run by whichever of its two APIs fits the saver."""

    saver: BaseCheckpointSaver[Any]

    def run(self, given: Any, config: RunnableConfig, durability: str = "async") -> Any:
        """Invoke the graph."""

    def state(self, config: RunnableConfig) -> StateSnapshot:
        """The state of a thread."""

    def history(self, config: RunnableConfig) -> list[StateSnapshot]:
        """All states of a thread, newest first."""

    def update(self, config: RunnableConfig, values: Update) -> RunnableConfig:
        """Edit the state of a thread."""


class SyncAgent:
    """A graph on a sync saver."""

    def __init__(self, graph: Any, saver: BaseCheckpointSaver[Any]) -> None:
        self.saver = saver
        self.graph = graph.compile(checkpointer=saver)

    def run(self, given: Any, config: RunnableConfig, durability: str = "async") -> Any:
        return self.graph.invoke(given, config, durability=durability)

    def state(self, config: RunnableConfig) -> StateSnapshot:
        found: StateSnapshot = self.graph.get_state(config, subgraphs=True)
        return found

    def history(self, config: RunnableConfig) -> list[StateSnapshot]:
        return list(self.graph.get_state_history(config))

    def update(self, config: RunnableConfig, values: Update) -> RunnableConfig:
        changed: RunnableConfig = self.graph.update_state(config, values)
        return changed


class AsyncAgent:
    """A graph on an async saver."""

    def __init__(self, graph: Any, saver: BaseCheckpointSaver[Any], loop: asyncio.Runner) -> None:
        self.saver = saver
        self.graph = graph.compile(checkpointer=saver)
        self.loop = loop

    def run(self, given: Any, config: RunnableConfig, durability: str = "async") -> Any:
        return self.wait(self.graph.ainvoke(given, config, durability=durability))

    def state(self, config: RunnableConfig) -> StateSnapshot:
        found: StateSnapshot = self.wait(self.graph.aget_state(config, subgraphs=True))
        return found

    def history(self, config: RunnableConfig) -> list[StateSnapshot]:
        async def read() -> list[StateSnapshot]:
            return [state async for state in self.graph.aget_state_history(config)]

        found: list[StateSnapshot] = self.wait(read())
        return found

    def update(self, config: RunnableConfig, values: Update) -> RunnableConfig:
        changed: RunnableConfig = self.wait(self.graph.aupdate_state(config, values))
        return changed

    def cancel_when(self, given: Any, config: RunnableConfig, begun: asyncio.Event) -> None:
        """Start a run, and cancel it once an event is set."""

        async def run() -> None:
            task = asyncio.create_task(self.graph.ainvoke(given, config))
            await begun.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()

        self.wait(run())

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run something async to its end."""
        return self.loop.run(work)


@contextmanager
def agent_on(place: Place, graph: Any, who: str = "ours", mode: str = "sync") -> Iterator[Any]:
    """An agent whose saver is ``stock`` or ``ours``, ``sync`` or ``async``."""
    if mode == "sync":
        with place.saver(who) as saver:
            yield SyncAgent(graph, saver)
        return
    with asyncio.Runner() as loop:
        opened = place.asaver(who)
        saver = loop.run(_enter(opened))
        try:
            yield AsyncAgent(graph, saver, loop)
        finally:
            loop.run(_leave(opened))


async def _enter(opened: Any) -> BaseCheckpointSaver[Any]:
    saver: BaseCheckpointSaver[Any] = await opened.__aenter__()
    return saver


async def _leave(opened: Any) -> None:
    await opened.__aexit__(None, None, None)


def answer(agent: Agent, config: RunnableConfig, which: str, durability: str = "async") -> Any:
    """Answer one open question of a thread with yes."""
    state = agent.state(config)
    found = next(question for question in state.interrupts if question.value == which)
    return agent.run(Command(resume={found.id: "yes"}), config, durability)


NOTHING: Update = {"log": [], "count": 0}
