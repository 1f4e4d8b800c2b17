"""What an owner asks of a LangGraph graph: whether it keeps checkpoints, and where a run stands."""

from collections.abc import Sequence
from typing import Any, Protocol

#: The errors by which LangGraph pauses what runs around a graph: it will be run again.
_PAUSES = {"GraphInterrupt", "GraphDrained"}


class Task(Protocol):
    """A node that was to run when the graph stopped."""

    @property
    def error(self) -> Exception | None:
        """What it failed with, if it did."""

    @property
    def interrupts(self) -> Sequence[object]:
        """Its questions that nobody has answered."""


class State(Protocol):
    """Where a thread stands; LangGraph's ``StateSnapshot``."""

    @property
    def next(self) -> Sequence[str]:
        """The nodes that are still to run; none once the graph has reached its end."""

    @property
    def tasks(self) -> Sequence[Task]:
        """The same nodes, with what became of them so far."""


class Graph(Protocol):
    """A compiled graph."""

    def get_state(self, config: Any, /) -> State:
        """The state of the thread that the config names."""

    async def aget_state(self, config: Any, /) -> State:
        """Async twin of ``get_state``."""


def keeps_checkpoints(graph: Graph) -> bool:
    """Whether the graph was compiled with a checkpointer.

    A graph that cannot say, such as one that runs elsewhere, is taken to keep checkpoints.
    """
    # A graph on another machine has no such attribute.
    return getattr(graph, "checkpointer", True) not in (None, False)


def is_pause(error: BaseException | None) -> bool:
    """Whether an error pauses the graph around a run, rather than ending the run."""
    # By name: LangGraph is the application's, and is not imported here.
    return any(kind.__name__ in _PAUSES for kind in type(error).__mro__)


def is_parked(state: State, error: BaseException | None) -> bool:
    """Whether a run stands where somebody may continue it.

    ``interrupt_before`` and ``interrupt_after`` leave nothing but a node that is still to run, and
    so does a stream whose reader went away: without an error both count as parked.

    Args:
        state: Where the thread stands after the run.
        error: What the run ended with, if it raised.
    """
    # An open question outlives what went wrong beside it: it can still be answered.
    asking = [task for task in state.tasks if task.interrupts]
    if any(task.error is None for task in asking):
        return True
    # A node that asked and failed shows the same in either order: only a raised error tells that
    # the answer came first.
    if error is not None and not isinstance(error, GeneratorExit):
        return False
    # The caller may have let a node's error pass: the state still knows it.
    failed = any(task.error is not None for task in state.tasks)
    return bool(asking) or (bool(state.next) and not failed)
