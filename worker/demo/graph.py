"""The agent of the demonstration: it drafts a letter, may ask for leave, and sends it."""

from operator import add
from typing import Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt
from langsmith import tracing_context

SENT = "sent"
"""The last message of a thread whose letter went out."""

Graph = CompiledStateGraph[Any, Any, Any, Any]


class Letter(TypedDict):
    """The state of a thread."""

    messages: Annotated[list[str], add]
    needs_approval: bool


def _draft(state: Letter) -> dict[str, Any]:
    return {"messages": ["drafted"]}


def _approve(state: Letter) -> dict[str, Any]:
    answer = interrupt("may it be sent?") if state["needs_approval"] else "not needed"
    return {"messages": [f"approval: {answer}"]}


def _send(state: Letter) -> dict[str, Any]:
    return {"messages": [SENT]}


def build(saver: BaseCheckpointSaver[Any]) -> Graph:
    """Make the graph, with its threads kept by a saver."""
    graph = StateGraph(Letter)
    graph.add_node("draft", _draft)
    graph.add_node("approve", _approve)
    graph.add_node("send", _send)
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "approve")
    graph.add_edge("approve", "send")
    graph.add_edge("send", END)
    return graph.compile(checkpointer=saver)


def config_of(thread_id: str) -> RunnableConfig:
    """The config that names a thread."""
    return {"configurable": {"thread_id": thread_id}}


def run(graph: Graph, thread_id: str, *, needs_approval: bool) -> None:
    """Run a thread to its end, or until it waits for approval."""
    with tracing_context(enabled=False):
        graph.invoke({"messages": [], "needs_approval": needs_approval}, config_of(thread_id))


def resume(graph: Graph, thread_id: str) -> list[str]:
    """Answer a thread that waits for approval; all its messages."""
    with tracing_context(enabled=False):
        state = graph.invoke(Command(resume="yes"), config_of(thread_id))
    messages: list[str] = state["messages"]
    return messages
