"""A flow run: a node's agent has a thread that the flow owns; both are marked once it is over."""
# ruff: noqa: T201 - it prints what it did

import uuid
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableLambda
from langgraph.types import Command

from examples import letters
from retention.owners import FlowRun, RunContext, agent_run, flow_run
from stores import Store, aopen_store, open_store

#: Contains {flow_run_id}: the flow owns the thread.
WRITER = "writer-{flow_run_id}"


def run(address: str) -> None:
    """A flow that pauses on a question, and is resumed."""
    with open_store(address) as store:
        flow_run_id = str(uuid.uuid4())
        graph = flow_of(store, flow_run_id)
        with start(store, graph, flow_run_id) as paused:
            graph.invoke({"lines": ["Dear boss"]}, paused.config)
        tell(store, paused)
        with start(store, graph, flow_run_id) as resumed:
            graph.invoke(Command(resume="yes"), resumed.config)
        tell(store, resumed)


async def arun(address: str) -> None:
    """The same with ``async with``."""
    async with aopen_store(address) as store:
        flow_run_id = str(uuid.uuid4())
        graph = flow_of(store, flow_run_id)
        async with start(store, graph, flow_run_id) as paused:
            await graph.ainvoke({"lines": ["Dear boss"]}, paused.config)
        tell(store, paused)
        async with start(store, graph, flow_run_id) as resumed:
            await graph.ainvoke(Command(resume="yes"), resumed.config)
        tell(store, resumed)


def start(store: Store, graph: Any, flow_run_id: str) -> RunContext[FlowRun]:
    """The flow's next run: fresh or resumed, it is asked for in the same way."""
    return flow_run(
        ledger=store.ledger,
        deployment_ledger=store.ledger,
        graph=graph,
        flow_run_id=flow_run_id,
        owned=[WRITER],
        graph_id="letters",
        graph_version="1",
    )


def flow_of(store: Store, flow_run_id: str) -> Any:
    """A flow whose first node runs an agent on the thread that the flow owns."""
    agent = letters.series(store.saver, write=letters.write)
    thread_id = WRITER.format(flow_run_id=flow_run_id)

    def work(state: letters.Letter) -> dict[str, Any]:
        with agent_run(ledger=store.ledger, graph=agent, thread_id=thread_id) as inner:
            written = agent.invoke(state, inner.config)
        return {"lines": written["lines"][-1:]}

    async def awork(state: letters.Letter) -> dict[str, Any]:
        async with agent_run(ledger=store.ledger, graph=agent, thread_id=thread_id) as inner:
            written = await agent.ainvoke(state, inner.config)
        return {"lines": written["lines"][-1:]}

    return letters.series(store.saver, agent=RunnableLambda(work, awork), approve=letters.approve)


def tell(store: Store, flow: FlowRun) -> None:
    """Say whether the flow's threads are marked."""
    threads = [flow.thread_id, flow.session_thread(WRITER)]
    for thread_id, entry in store.ledger.entries(threads).items():
        print(f"{thread_id}: {'waits' if entry.marked_at is None else 'finished'}")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example."""
    letters.main(run, arun, argv)


if __name__ == "__main__":
    main()
