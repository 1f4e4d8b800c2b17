"""Who marks a thread finished, in real runs: an agent, a flow, a conversation."""

import asyncio
from typing import Any

import pytest
from langgraph.types import Command, interrupt

from retention import ThreadRetention
from retention.errors import ThreadRetentionError
from retention.owners import agent_run, conversation, flow_run
from tests.integration import graphs
from tests.integration.graphs import NOTHING, Update, agent_on, question, series, step
from tests.integration.owning import World, fresh
from tests.integration.places import Place, later
from tests.integration.sweeping import sweep

OWNED = "agent-{flow_run_id}"


def fails(state: graphs.State) -> Update:
    """A node that fails."""
    raise ValueError("out of order")


def stops(state: graphs.State) -> Update:
    """A node that meets Ctrl-C."""
    raise KeyboardInterrupt


def unopened() -> Any:
    """In the place of a ledger that must not be opened."""
    raise AssertionError("a store was opened")


def ending_in(node: graphs.Node) -> Any:
    """A graph whose second node is this one."""
    return series(("first", step("first")), ("second", node))


def agent(here: World, graph: Any, **options: Any) -> Any:
    """An agent run on a thread of its own, or on the caller's."""
    return agent_run(ledger=here.store.ledger, graph=graph, **options)


def turn(here: World, graph: Any, **options: Any) -> Any:
    """A turn of a conversation."""
    return conversation(ledger=here.store.ledger, graph=graph, **options)


def flow(here: World, graph: Any, flow_run_id: str, **options: Any) -> Any:
    """A flow run that owns one session thread, all in one store."""
    ledger = here.store.ledger
    return flow_run(
        ledger=ledger,
        deployment_ledger=ledger,
        graph=graph,
        flow_run_id=flow_run_id,
        **{"owned": [OWNED], **options},
    )


def flow_graph(here: World, flow_run_id: str, *nodes: tuple[str, Any], **options: Any) -> Any:
    """A flow whose first node runs an agent on the owned session thread."""
    inner = here.compile(graphs.chain())
    thread_id = OWNED.format(flow_run_id=flow_run_id)

    def work(state: graphs.State) -> Update:
        with agent(here, inner, thread_id=thread_id) as run:
            inner.invoke(NOTHING, run.config)
        return {"log": ["agent"], "count": 1}

    async def awork(state: graphs.State) -> Update:
        async with agent(here, inner, thread_id=thread_id) as run:
            await inner.ainvoke(NOTHING, run.config)
        return {"log": ["agent"], "count": 1}

    first = work if here.loop is None else awork
    return here.compile(series(("agent", first), *nodes), **options)


def marked(here: World, flow_run_id: str) -> tuple[bool, bool]:
    """Whether a flow's session thread and its owned thread are in the finished set."""
    owned = OWNED.format(flow_run_id=flow_run_id)
    assert here.holds(flow_run_id)
    assert here.holds(owned)
    return here.is_marked(flow_run_id), here.is_marked(owned)


# A flow run marks its own session thread and every session thread it owns at its terminal.


def test_flow_at_success_its_session_thread_and_its_owned_threads_are_marked(
    here: World, durability: str
) -> None:
    name = fresh("flow")
    graph = flow_graph(here, name, ("last", step("last")))
    run = here.run(flow(here, graph, name), graph, durability=durability)
    assert (run.thread_id, run.flow_run_id) == (name, name)
    assert run.session_thread(OWNED) == f"agent-{name}"
    assert marked(here, name) == (True, True)
    assert here.entry(name).owner == here.entry(f"agent-{name}").owner == "flow_run"


def test_flow_at_error_all_its_threads_are_marked(here: World) -> None:
    name = fresh("flow")
    graph = flow_graph(here, name, ("bad", fails))
    with pytest.raises(ValueError, match="out of order"):
        here.run(flow(here, graph, name), graph)
    assert marked(here, name) == (True, True)


def test_flow_at_stop_all_its_threads_are_marked_a_paused_one_too(here: World) -> None:
    name = fresh("flow")
    graph = flow_graph(here, name, ("ask", question("ask")))
    here.run(flow(here, graph, name), graph, then=lambda run: run.stop())
    assert marked(here, name) == (True, True)


def test_flow_paused_long_since_is_marked_when_it_is_stopped(here: World) -> None:
    name = fresh("flow")
    graph = flow_graph(here, name, ("ask", question("ask")))
    here.run(flow(here, graph, name), graph)
    assert marked(here, name) == (False, False)
    here.only(flow(here, graph, name), lambda run: run.stop())
    assert marked(here, name) == (True, True)


def test_flow_at_abort_all_its_threads_are_marked(owner_address: str, durability: str) -> None:
    with World.of(owner_address, "sync") as here:
        abort_flow(here, durability)


def abort_flow(here: World, durability: str) -> None:
    """Run a flow that meets Ctrl-C; async code is cancelled instead."""
    name = fresh("flow")
    graph = flow_graph(here, name, ("last", stops))
    with pytest.raises(KeyboardInterrupt):
        here.run(flow(here, graph, name), graph, durability=durability)
    assert marked(here, name) == (True, True)


@pytest.mark.parametrize("kind", ["agent", "flow"])
def test_a_cancelled_run_is_marked_and_still_cancelled(owner_address: str, kind: str) -> None:
    async def run() -> None:
        begun = asyncio.Event()

        async def endless(state: graphs.State) -> Update:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        async with World.opened(owner_address) as here:
            graph = here.compile(series(("first", step("first")), ("endless", endless)))
            runs = {"agent": agent(here, graph), "flow": flow(here, graph, fresh("flow"))}
            seen: list[str] = []

            async def work() -> None:
                async with runs[kind] as run:
                    seen.append(run.thread_id)
                    await graph.ainvoke(NOTHING, run.config)

            task = asyncio.create_task(work())
            await begun.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            assert here.is_marked(seen[0])

    asyncio.run(run())


PAUSES = {
    "interrupt": ([("ask", question("ask"))], {}),
    "interrupt in a subgraph": ([("inner", graphs.asking().compile())], {}),
    "interrupt two subgraphs down": ([("outer", graphs.asking_within().compile())], {}),
    "interrupt_before": ([("last", step("last"))], {"interrupt_before": ["last"]}),
    "interrupt_after": (
        [("middle", step("middle")), ("last", step("last"))],
        {"interrupt_after": ["middle"]},
    ),
    "interrupt_before in a subgraph": (
        [("inner", graphs.chain().compile(interrupt_before=["second"]))],
        {},
    ),
}


@pytest.mark.parametrize("pause", PAUSES)
def test_flow_at_a_pause_none_of_its_threads_is_marked(
    here: World, pause: str, durability: str
) -> None:
    name = fresh("flow")
    nodes, options = PAUSES[pause]
    graph = flow_graph(here, name, *nodes, **options)
    here.run(flow(here, graph, name), graph, durability=durability)
    assert marked(here, name) == (False, False)
    answers: list[Any] = [None] if "_" in pause else [Command(resume="yes")]
    here.run(flow(here, graph, name), graph, *answers, durability=durability)
    assert marked(here, name) == (True, True)


# It takes all of them out of the finished set when a run starts on the session.


@pytest.mark.parametrize("how", ["fresh", "restart", "resume", "step"])
def test_flow_takes_all_its_threads_out_of_the_finished_set_at_a(how: str, here: World) -> None:
    name = fresh("flow")
    graph = flow_graph(here, name, ("ask", question("ask")), ("last", step("last")))
    here.run(flow(here, graph, name), graph)
    here.store.ledger.mark_finished([name, f"agent-{name}"])
    assert marked(here, name) == (True, True)
    given: dict[str, list[Any]] = {
        "fresh": [NOTHING],
        "restart": [None],
        "resume": [Command(resume="yes")],
        "step": [None],
    }
    seen: list[tuple[bool, bool]] = []
    # Looked at within the run: what is marked at its end says nothing of its start.
    here.run(
        flow(here, graph, name),
        graph,
        *given[how],
        before=lambda run: seen.append(marked(here, name)),
    )
    assert seen == [(False, False)]
    assert marked(here, name) == ((True, True) if how == "resume" else (False, False))


def test_flow_known_by_its_session_alone_owns_the_same_threads_each_time(here: World) -> None:
    session = fresh("session")
    graph = here.compile(graphs.chain())
    options: Any = {"ledger": here.store.ledger, "deployment_ledger": here.store.ledger}
    runs = [
        here.run(flow_run(graph=graph, session_thread_id=session, owned=[OWNED], **options), graph)
        for _ in range(2)
    ]
    assert {run.session_thread(OWNED) for run in runs} == {f"agent-{session}"}
    assert {run.thread_id for run in runs} == {run.flow_run_id for run in runs} == {session}


def test_flow_and_session_may_have_ids_of_their_own_or_a_new_one(here: World) -> None:
    graph, ledger = here.compile(graphs.chain()), here.store.ledger
    runs: list[Any] = []
    given = {"session_thread_id": 7, "flow_run_id": "f"}
    for ids in (given, {}, {}):
        here.only(flow_run(ledger=ledger, graph=graph, **ids), runs.append)  # type: ignore[arg-type]
    both, one, other = [(run.thread_id, run.flow_run_id) for run in runs]
    assert both == ("7", "f")
    assert one[0] == one[1] != other[0] == other[1]


# An agent run with no thread_id mints its thread and marks it when it ends without a park.


def test_agent_at_its_end_the_thread_it_minted_is_marked(here: World) -> None:
    graph = here.compile(graphs.chain())
    run = here.run(agent(here, graph), graph)
    assert here.holds(run.thread_id)
    assert here.entry(run.thread_id).owner == "agent_run"
    assert here.entry(run.thread_id).started_at is not None
    other = here.run(agent(here, graph, owner="billing"), graph)
    assert other.thread_id != run.thread_id
    assert here.entry(other.thread_id).owner == "billing"
    swept = sweep(here.store, later(1.1)).to_json()["finished_swept"]
    assert {run.thread_id, other.thread_id} <= set(swept)


def test_agent_at_an_error_the_thread_it_minted_is_marked(here: World, durability: str) -> None:
    graph = here.compile(ending_in(fails))
    seen: list[Any] = []
    with pytest.raises(ValueError, match="out of order"):
        here.run(agent(here, graph), graph, durability=durability, before=seen.append)
    assert here.holds(seen[0].thread_id)
    assert here.is_marked(seen[0].thread_id)


def test_agent_whose_failed_node_the_caller_let_pass_is_marked(here: World) -> None:
    graph = here.compile(ending_in(fails))
    run = here.run(agent(here, graph), graph, suppress=ValueError)
    assert here.holds(run.thread_id)
    assert here.is_marked(run.thread_id)


def test_agent_that_is_stopped_is_marked(here: World) -> None:
    graph = here.compile(graphs.chain(), interrupt_before=["second"])
    run = here.run(agent(here, graph), graph, then=lambda run: run.stop())
    assert here.is_marked(run.thread_id)


@pytest.mark.parametrize(
    "build",
    [
        graphs.asking,
        graphs.asking_within,
        graphs.asking_deep_within,
        graphs.asking_within_memory,
        graphs.asking_twice,
    ],
)
def test_agent_that_parks_leaves_its_thread_to_the_waiting_horizon(
    here: World, build: graphs.Builder, durability: str
) -> None:
    graph = here.compile(build())
    run = here.run(agent(here, graph), graph, durability=durability)
    assert here.holds(run.thread_id)
    assert not here.is_marked(run.thread_id)
    assert run.thread_id not in sweep(here.store, later(1.1)).to_json()["finished_swept"]
    assert here.holds(run.thread_id)


def test_agent_parked_and_then_hit_by_an_error_of_its_caller_is_still_parked(here: World) -> None:
    def trip(run: Any) -> None:
        seen.append(run.thread_id)
        raise LookupError("nobody to ask")

    graph = here.compile(graphs.asking())
    seen: list[str] = []
    with pytest.raises(LookupError):
        here.run(agent(here, graph), graph, then=trip)
    assert not here.is_marked(seen[0])


def test_agent_with_an_open_question_beside_a_failed_branch_is_parked(here: World) -> None:
    graph = here.compile(graphs.branching(question("left"), fails))
    run = here.run(agent(here, graph), graph, suppress=ValueError)
    assert not here.is_marked(run.thread_id)


def test_flow_that_fails_on_the_answer_is_marked(here: World) -> None:
    def refuses(state: graphs.State) -> Update:
        interrupt("ask")
        raise ValueError("wrong answer")

    name = fresh("flow")
    graph = flow_graph(here, name, ("ask", refuses))
    here.run(flow(here, graph, name), graph)
    with pytest.raises(ValueError, match="wrong answer"):
        here.run(flow(here, graph, name), graph, Command(resume="no"))
    assert marked(here, name) == (True, True)


@pytest.mark.parametrize("where", [{"interrupt_before": ["second"]}, {"interrupt_after": "first"}])
def test_agent_parked_before_a_node_lives_the_waiting_retention_from_its_last_start(
    here: World, where: Any
) -> None:
    # No filter sees this park: only its age counts.
    where = {name: [node] if isinstance(node, str) else node for name, node in where.items()}
    graph = here.compile(graphs.chain(), **where)
    run = here.run(agent(here, graph), graph)
    assert not here.is_marked(run.thread_id)
    sweep(here.store, later(6.9))
    assert here.holds(run.thread_id)
    assert here.state(graph, run).next == ("second",)
    here.run(agent(here, graph, thread_id=run.thread_id), graph, None)
    assert here.state(graph, run).values["log"] == ["first", "second", "third"]


# A caller-supplied thread_id is the caller's.


@pytest.mark.parametrize("build", [graphs.chain, graphs.asking, lambda: ending_in(fails)])
def test_agent_takes_a_callers_thread_out_of_the_finished_set_and_never_marks_it(
    here: World, build: graphs.Builder
) -> None:
    thread_id, graph = fresh("caller"), here.compile(build())
    for _ in range(2):
        here.run(agent(here, graph, thread_id=thread_id), graph, suppress=ValueError)
        assert here.holds(thread_id)
        assert not here.is_marked(thread_id)
        here.store.ledger.mark_finished([thread_id])
    here.only(agent(here, graph, thread_id=thread_id), lambda run: run.stop())
    assert not here.is_marked(thread_id)


# A conversation has no finished moment.


def test_conversation_is_never_marked_and_leaves_on_the_waiting_horizon(here: World) -> None:
    graph = here.compile(graphs.chain())
    thread_id = here.run(turn(here, graph), graph).thread_id
    assert here.run(turn(here, graph, thread_id=thread_id), graph).thread_id == thread_id
    assert not here.is_marked(thread_id)
    here.store.ledger.mark_finished([thread_id], owner="operator")
    here.run(turn(here, graph, thread_id=thread_id), graph)
    assert not here.is_marked(thread_id)
    sweep(here.store, later(6.9))
    assert here.holds(thread_id)
    swept = sweep(here.store).to_json()
    assert thread_id not in swept["finished_swept"]
    assert here.holds(thread_id) == (here.store.waiting_skipped is not None)


def test_conversations_agent_receives_its_thread_as_a_callers(here: World) -> None:
    graph = here.compile(graphs.chain())
    talk = here.run(turn(here, graph), graph)
    here.store.ledger.mark_finished([talk.thread_id])
    run = here.run(agent(here, graph, thread_id=talk.thread_id), graph)
    assert run.thread_id == talk.thread_id
    assert not here.is_marked(talk.thread_id)


# An agent that keeps no checkpoints touches no checkpoint store.


@pytest.mark.parametrize("checkpointer", [None, False])
@pytest.mark.parametrize("owner", [agent_run, conversation, flow_run])
def test_a_graph_that_keeps_no_checkpoints_opens_no_store(
    checkpointer: Any, owner: Any, here: World
) -> None:
    graph = graphs.chain().compile(checkpointer=checkpointer)
    run = here.run(owner(ledger=unopened, graph=graph), graph)
    assert not here.holds(run.thread_id)
    assert here.store.ledger.entries([run.thread_id]) == {}


def test_flow_that_keeps_no_checkpoints_still_marks_what_its_agents_wrote(here: World) -> None:
    name = fresh("flow")
    inner = flow_graph(here, name)
    here.run(agent(here, inner, thread_id=f"agent-{name}"), inner)
    graph = graphs.chain().compile()
    here.run(
        flow_run(
            ledger=unopened,
            deployment_ledger=here.ledger,
            graph=graph,
            flow_run_id=name,
            owned=OWNED,
        ),
        graph,
    )
    assert here.is_marked(f"agent-{name}")


# What a run declares, and what its checkpoints say.


def test_a_declared_retention_is_recorded_for_all_threads_of_a_run(here: World) -> None:
    declared, name = ThreadRetention(600, 60), fresh("flow")
    graph = here.compile(graphs.chain())
    runs = [agent(here, graph, retention=declared), turn(here, graph, retention=declared)]
    threads = [here.run(run, graph).thread_id for run in runs]
    here.run(flow(here, graph, name, retention=declared), graph)
    for thread_id in (*threads, name, f"agent-{name}"):
        assert here.entry(thread_id).declared == declared


@pytest.mark.parametrize("owner", [agent, turn])
def test_a_retention_above_the_platforms_is_refused_before_the_run(here: World, owner: Any) -> None:
    graph = here.compile(graphs.chain())
    ran: list[Any] = []
    with pytest.raises(ThreadRetentionError, match=r"\b10081 .*\b10080 "):
        here.run(owner(here, graph, retention=ThreadRetention(10_081)), graph, before=ran.append)
    assert ran == []


def test_graph_id_and_graph_version_stand_in_the_metadata_of_each_checkpoint(
    here: World, durability: str
) -> None:
    graph = here.compile(graphs.asking_within())
    named = {"graph_id": "orders", "graph_version": "3"}
    name = fresh("flow")
    for context in (
        agent(here, graph, **named),
        turn(here, graph, **named),
        flow(here, graph, name, **named),
    ):
        run = here.run(context, graph, durability=durability)
        found = here.metadata(run.thread_id)
        assert found
        assert all(named.items() <= one.items() for one in found)


def test_a_run_on_a_stock_saver_is_marked_in_the_ledger_beside_it(place: Place, mode: str) -> None:
    with agent_on(place, graphs.chain(), "stock", mode) as stock, place.store() as store:
        context = agent_run(ledger=store.ledger, graph=stock.graph)
        here = World(store, getattr(stock, "loop", None))
        thread_id = here.run(context, stock.graph).thread_id
        assert here.is_marked(thread_id)
        assert sweep(store, later(1.1)).to_json()["finished_swept"] == [thread_id]
    assert place.threads() == set()


# Streams, and runs beside each other.


@pytest.mark.parametrize("how", ["to the end", "broken off", "closed by its reader"])
def test_a_streamed_run_is_marked_once_its_graph_has_ended(here: World, how: str) -> None:
    graph = here.compile(graphs.chain())
    run = here.stream(agent(here, graph), graph, how)
    assert here.holds(run.thread_id)
    assert here.is_marked(run.thread_id) == (how == "to the end")


def test_many_async_runs_at_once_each_end_their_own_way(owner_address: str) -> None:
    async def run() -> None:
        async with World.opened(owner_address) as here:
            built = [graphs.chain(), graphs.asking(), ending_in(fails)]
            compiled = [here.compile(graph) for graph in built]

            async def one(graph: Any) -> str:
                async with agent(here, graph) as run:
                    thread_id: str = run.thread_id
                    ids[thread_id] = graph
                    await graph.ainvoke(NOTHING, run.config)
                return thread_id

            ids: dict[str, Any] = {}
            done = [one(graph) for graph in compiled * 5]
            results = await asyncio.gather(*done, return_exceptions=True)
            assert sum(isinstance(result, ValueError) for result in results) == 5
            assert len(ids) == 15
            unmarked = {graph for t, graph in ids.items() if not here.is_marked(t)}
            assert unmarked == {compiled[1]}

    asyncio.run(run())
