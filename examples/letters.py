"""What the examples share: their options, and an agent that writes a letter."""

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Sequence
from operator import add
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


class Letter(TypedDict):
    """The state of a thread."""

    lines: Annotated[list[str], add]


def write(state: Letter) -> dict[str, Any]:
    """Write one more line."""
    return {"lines": [f"line {len(state['lines'])}"]}


def approve(state: Letter) -> dict[str, Any]:
    """Park the run until somebody says whether the letter may go."""
    return {"lines": [f"approved: {interrupt('may it be sent?')}"]}


def series(saver: BaseCheckpointSaver[Any], **nodes: Any) -> Any:
    """A graph of these nodes, one after the other, with its checkpoints in a store."""
    builder: Any = StateGraph(Letter)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer=saver)


def main(
    run: Callable[[str], None],
    arun: Callable[[str], Coroutine[Any, Any, None]],
    argv: Sequence[str] | None,
) -> None:
    """Run an example: ``--store ADDRESS``, and ``--async`` for its async variant."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", default="memory://", help="the store's address")
    parser.add_argument("--async", dest="use_async", action="store_true", help="run it async")
    options = parser.parse_args(argv)
    if options.use_async:
        asyncio.run(arun(options.store))
    else:
        run(options.store)
