"""A run on threads that it starts, and may mark finished once it is over."""

import logging
import uuid
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

from retention.events import event
from retention.owners.graph import Graph, is_parked, is_pause, keeps_checkpoints
from retention.owners.ledgers import LedgerThreads
from retention.owners.steps import Step, Steps, arun_steps, run_steps
from retention.policy import ThreadRetention

log = logging.getLogger(__name__)

#: A thread's id as callers have it; LangGraph and the ledger know it by its text.
ThreadId: TypeAlias = str | int | uuid.UUID


class Run:
    """What code needs to run a graph on a thread."""

    #: Whether the caller ended the run.
    stopped = False

    def __init__(
        self, thread_id: str, graph_id: str | None = None, graph_version: str | None = None
    ) -> None:
        """Name the thread, and the graph where it has a name."""
        named = {"graph_id": graph_id, "graph_version": graph_version}
        self.thread_id = thread_id
        self._metadata = {name: value for name, value in named.items() if value is not None}

    @property
    def config(self) -> Any:
        """The config to invoke the graph with, a new one each time: LangGraph's RunnableConfig.

        Its metadata says ``graph_id`` and ``graph_version`` on every checkpoint of the run.
        """
        # New dictionaries: callers add to what they get.
        configurable = {"thread_id": self.thread_id}
        return {"configurable": configurable, "metadata": dict(self._metadata)}


class StoppableRun(Run):
    """A run that its caller may end before its graph has."""

    def stop(self) -> None:
        """End the run, whatever its graph still waits for: a thread it may mark is marked."""
        self.stopped = True


RunT = TypeVar("RunT", bound=Run)


class RunContext(Generic[RunT]):
    """One run of an owner, for ``with`` or ``async with``."""

    def __init__(
        self,
        run: RunT,
        graph: Graph,
        threads: Sequence[LedgerThreads],
        retention: ThreadRetention | None,
        marked_by: str | None,
    ) -> None:
        """Start nothing yet.

        Args:
            run: What the body of the ``with`` gets.
            graph: What it runs.
            threads: The threads to start, by ledger.
            retention: What to declare for each of them.
            marked_by: The owner that marks them when the run is over; None marks none.
        """
        self._run = run
        self._graph = graph
        self._threads = threads
        self._retention = retention
        self._marked_by = marked_by
        self._is_entered = False

    def __enter__(self) -> RunT:
        """Start the run's threads.

        Raises:
            ThreadRetentionError: The declared retention is above the platform's.
            StoreUnavailableError: A ledger cannot be reached; the run must not begin then.
        """
        return run_steps(self._begin())

    async def __aenter__(self) -> RunT:
        """Async twin of ``__enter__``."""
        return await arun_steps(self._begin())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Mark the threads where the run is over; an error of the run passes through."""
        run_steps(self._end(error))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Async twin of ``__exit__``."""
        await arun_steps(self._end(error))

    def _begin(self) -> Steps[RunT]:
        if self._is_entered:
            raise RuntimeError("this serves one run: make another for the next")
        self._is_entered = True
        # Before anything runs: a thread in the finished set could be swept under its run.
        for threads in self._threads:
            yield from threads.start(self._retention)
        return self._run

    def _end(self, error: BaseException | None) -> Steps[None]:
        if self._marked_by is None or not self._threads:
            return
        if (yield from self._guarded(self._is_over(error))):
            # Each by itself: one ledger that is away keeps nothing from the other.
            for threads in self._threads:
                yield from self._guarded(threads.mark(self._marked_by))

    def _is_over(self, error: BaseException | None) -> Steps[bool]:
        """Whether nobody is to continue the run: by the graph's state, unless it was stopped."""
        if self._run.stopped:
            return True
        # The graph around this run will run its node again, from the beginning.
        if is_pause(error):
            return False
        if not keeps_checkpoints(self._graph):
            return True
        graph, config = self._graph, {"configurable": {"thread_id": self._run.thread_id}}
        state = yield Step(lambda: graph.get_state(config), lambda: graph.aget_state(config))
        return not is_parked(state, error)

    def _guarded(self, steps: Steps[bool]) -> Steps[bool]:
        """The work's answer; False, and a line in the log, where it failed."""
        try:
            return (yield from steps)
        except Exception as error:  # noqa: BLE001 - a failing store must not hide the run's own end
            event(
                log,
                logging.WARNING,
                "run_not_marked",
                thread=self._run.thread_id,
                owner=self._marked_by,
                error=error,
            )
            return False


def text_of(thread_id: ThreadId | None) -> str:
    """A thread's id as text; a new one where none is given."""
    return str(uuid.uuid4() if thread_id is None else thread_id)


def threads_of(graph: Graph, threads: LedgerThreads) -> list[LedgerThreads]:
    """The threads that a graph writes: none where it keeps no checkpoints."""
    return [threads] if keeps_checkpoints(graph) else []
