"""The rules of owners that need no store: templates, parks, and how a run is entered."""

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from langgraph.errors import GraphDrained, GraphInterrupt, ParentCommand
from langgraph.func import entrypoint, task
from langgraph.types import Command, interrupt

from retention.errors import ConfigurationError
from retention.owners import agent_run, conversation, flow_run
from retention.owners.graph import is_parked, is_pause, keeps_checkpoints
from retention.owners.templates import owned_threads
from retention.ports import Ledger
from stores import Store, open_store
from tests.integration.graphs import NOTHING, chain


class Task(NamedTuple):
    """A node that was to run."""

    error: Exception | None = None
    interrupts: tuple[str, ...] = ()


class State(NamedTuple):
    """Where a thread stands."""

    next: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()


DONE = State()
READY = State(("b",), (Task(),))
ASKS = State(("b",), (Task(None, ("q",)),))
FAILED = State(("b",), (Task(ValueError()),))
ASKED_AND_FAILED = State(("b",), (Task(ValueError(), ("q",)),))
ASKS_BESIDE_FAILED = State(("b", "c"), (Task(None, ("q",)), Task(ValueError())))
ERROR = ValueError("x")


@pytest.fixture
def store() -> Iterator[Store]:
    """An open store."""
    with open_store("memory://") as opened:
        yield opened


@pytest.mark.parametrize(
    ("state", "without_error", "with_error"),
    [
        (DONE, False, False),
        (READY, True, False),
        (ASKS, True, True),
        (FAILED, False, False),
        (ASKED_AND_FAILED, True, False),
        (ASKS_BESIDE_FAILED, True, True),
    ],
)
def test_the_state_says_whether_a_run_is_parked(
    state: State, without_error: bool, with_error: bool
) -> None:
    assert is_parked(state, None) is without_error
    assert is_parked(state, GeneratorExit()) is without_error
    assert is_parked(state, ERROR) is with_error
    assert is_parked(state, KeyboardInterrupt()) is with_error
    assert is_parked(state, asyncio.CancelledError()) is with_error


def test_what_pauses_the_graph_around_a_run_is_no_end() -> None:
    assert is_pause(GraphInterrupt(()))
    assert is_pause(GraphDrained("stopping"))
    assert not is_pause(ParentCommand(Command()))
    assert not is_pause(ERROR)
    assert not is_pause(None)


def test_a_run_within_a_paused_node_is_not_marked(store: Store) -> None:
    graph = chain().compile(checkpointer=store.saver)
    with (
        pytest.raises(GraphInterrupt),
        agent_run(ledger=store.ledger, graph=graph) as run,
    ):
        pause_after(graph, run)
    assert store.ledger.entries([run.thread_id])[run.thread_id].marked_at is None


def pause_after(graph: Any, run: Any) -> None:
    """Run a graph, and pause the one around it."""
    graph.invoke(NOTHING, run.config)
    raise GraphInterrupt(())


def test_a_graph_keeps_checkpoints_unless_it_says_that_it_does_not(store: Store) -> None:
    class Elsewhere:
        """A graph on another machine."""

        def get_state(self, config: Any, /) -> State:
            return DONE

        async def aget_state(self, config: Any, /) -> State:
            return DONE

    assert keeps_checkpoints(Elsewhere())
    assert keeps_checkpoints(chain().compile(checkpointer=store.saver))
    assert not keeps_checkpoints(chain().compile())
    assert not keeps_checkpoints(chain().compile(checkpointer=False))


def test_a_workflow_of_functions_is_a_graph_too(store: Store) -> None:
    @task
    def ask(text: str) -> str:
        answer: str = interrupt(text)
        return answer

    @entrypoint(checkpointer=store.saver)
    def workflow(text: str) -> str:
        return ask(text).result()

    runs = []
    inputs: list[Any] = ["may I?", Command(resume="yes")]
    for given in inputs:
        with flow_run(ledger=store.ledger, graph=workflow, flow_run_id="w") as run:
            workflow.invoke(given, run.config)
        runs.append(store.ledger.entries(["w"])["w"].marked_at is not None)
    assert runs == [False, True]


def test_templates_give_each_thread_of_a_flow() -> None:
    templates = ["{flow_run_id}", "a-{flow_run_id}-{{x}}", "{flow_run_id}/{flow_run_id}"]
    assert owned_threads(templates, "f7") == {
        "{flow_run_id}": "f7",
        "a-{flow_run_id}-{{x}}": "a-f7-{x}",
        "{flow_run_id}/{flow_run_id}": "f7/f7",
    }
    assert owned_threads("a-{flow_run_id}", "{b}") == {"a-{flow_run_id}": "a-{b}"}
    assert owned_threads((), "f7") == {}


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("user-7", "has no {flow_run_id}: the flow would not own its thread"),
        ("{{flow_run_id}}", "has no {flow_run_id}: the flow would not own its thread"),
        ("", "has no {flow_run_id}: the flow would not own its thread"),
        ("{flow_run_id}-{user}", "the placeholder {user}: only {flow_run_id} is known"),
        ("{}", "the placeholder {}: only {flow_run_id} is known"),
        ("{0}", "the placeholder {0}: only {flow_run_id} is known"),
        ("{flow_run_id.x}", "the placeholder {flow_run_id.x}: only {flow_run_id} is known"),
        ("{flow_run_id[0]}", "the placeholder {flow_run_id[0]}: only {flow_run_id} is known"),
        ("{flow_run_id!r}", "the placeholder {flow_run_id!r}: only {flow_run_id} is known"),
        ("{flow_run_id:.8}", "the placeholder {flow_run_id:.8}: only {flow_run_id} is known"),
        ("{flow_run_id", "expected '}' before end of string"),
    ],
)
def test_a_template_that_names_no_thread_of_the_flow_is_refused(
    template: str, reason: str, store: Store
) -> None:
    graph = chain().compile(checkpointer=store.saver)
    with pytest.raises(ConfigurationError) as raised:
        flow_run(
            ledger=store.ledger,
            deployment_ledger=store.ledger,
            graph=graph,
            owned=["a-{flow_run_id}", template],
        )
    line = str(raised.value)
    assert line.startswith(f"session thread template {template!r}")
    assert reason in line
    assert "\n" not in line


def test_a_flow_gives_no_thread_that_nobody_would_mark(store: Store) -> None:
    graph, ledger = chain().compile(checkpointer=store.saver), store.ledger
    with (
        flow_run(ledger=ledger, graph=graph) as run,
        pytest.raises(ConfigurationError, match=r"'a-\{flow_run_id\}' .* the flow owns: none$"),
    ):
        run.session_thread("a-{flow_run_id}")


def test_owned_threads_need_the_deployments_ledger(store: Store) -> None:
    graph = chain().compile(checkpointer=store.saver)
    with pytest.raises(ConfigurationError, match="needs deployment_ledger"):
        flow_run(ledger=store.ledger, graph=graph, owned=["a-{flow_run_id}"])


def test_one_context_serves_one_run(store: Store) -> None:
    graph = chain().compile(checkpointer=store.saver)
    context = conversation(ledger=store.ledger, graph=graph)
    with context:
        pass
    with pytest.raises(RuntimeError, match="one run"), context:
        pass


def test_a_config_can_be_changed_without_harm_to_the_next(store: Store) -> None:
    graph = chain().compile(checkpointer=store.saver)
    context = conversation(ledger=store.ledger, graph=graph, thread_id=7, graph_id="g")
    with context as run:
        run.config["configurable"]["thread_id"] = "other"
        run.config["metadata"]["graph_id"] = "other"
        assert run.config == {"configurable": {"thread_id": "7"}, "metadata": {"graph_id": "g"}}


async def test_a_ledger_may_be_opened_by_a_plain_or_an_async_function(store: Store) -> None:
    async def opening() -> Ledger:
        opened.append("async")
        return store.ledger

    def opening_now() -> Ledger:
        opened.append("sync")
        return store.ledger

    opened: list[str] = []
    graph = chain().compile(checkpointer=store.saver)
    for ledger in (opening, opening_now):
        async with agent_run(ledger=ledger, graph=graph) as run:
            await graph.ainvoke(NOTHING, run.config)
        assert store.ledger.entries([run.thread_id])[run.thread_id].marked_at is not None
    assert opened == ["async", "sync"]
    with (
        pytest.raises(ConfigurationError, match="needs `async with`"),
        agent_run(ledger=opening, graph=graph),
    ):
        pass
