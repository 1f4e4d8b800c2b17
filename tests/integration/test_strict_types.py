"""LANGGRAPH_STRICT_MSGPACK, which the library reads once for a process, leaves compression on."""

import os
import subprocess
import sys

import pytest

from tests.integration.places import Place

#: Run with an address: a graph with a type of its own in its state, and a large value.
PROGRAM = """
import sys
from dataclasses import dataclass
from typing import Any
from langgraph.graph import START, StateGraph
from stores import open_saver

@dataclass
class Plan:
    steps: list[str]

@dataclass
class State:
    plan: Any = None

@dataclass
class Typed:
    plan: Plan | None = None

def graph(state, saver):
    builder = StateGraph(state)
    builder.add_node("plan", lambda state: {"plan": Plan(["walk on"] * 20_000)})
    builder.add_edge(START, "plan")
    return builder.compile(checkpointer=saver)

config = {"configurable": {"thread_id": "t"}}
with open_saver(sys.argv[1]) as saver:
    graph(Typed, saver).invoke({}, config)
    print(type(graph(Typed, saver).get_state(config).values["plan"]).__name__)
    print(type(graph(State, saver).get_state(config).values["plan"]).__name__)
"""

TABLE = {"sqlite": "checkpoints", "postgres": "checkpoint_blobs"}


@pytest.mark.parametrize(("strict", "unlisted"), [("true", "dict"), ("false", "Plan")])
def test_types_that_a_graph_names_are_read_from_compressed_values(
    place: Place, strict: str, unlisted: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, place.address],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": strict},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["Plan", unlisted]
    stored = {row[0] for row in place.query(f"SELECT type FROM {TABLE[place.provider]}")}
    assert "zstd:msgpack" in stored
