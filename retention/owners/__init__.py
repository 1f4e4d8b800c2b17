"""Owners: who starts a LangGraph thread, and who marks it finished when its run is over.

Each of the three gives a context manager for ``with`` and for ``async with``, which serves one
run. It takes the run's threads out of the finished set first, gives what to invoke the graph with,
and at the end looks at the graph's state: a run that waits for an answer is parked and keeps its
threads unmarked. The parts can be used from any code that runs a graph: nothing here opens a
store.
"""

from retention.owners.agent import agent_run
from retention.owners.conversation import conversation
from retention.owners.flow import FlowRun, flow_run
from retention.owners.graph import Graph
from retention.owners.ledgers import LedgerSource
from retention.owners.run import Run, RunContext, StoppableRun

__all__ = [
    "FlowRun",
    "Graph",
    "LedgerSource",
    "Run",
    "RunContext",
    "StoppableRun",
    "agent_run",
    "conversation",
    "flow_run",
]
