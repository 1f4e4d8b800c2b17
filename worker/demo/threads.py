"""The threads of the demonstration, what is to become of each, and how they are written."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from retention import ThreadRetention
from retention.policy import RetentionPolicy
from stores import StoreOptions, adopt_store, open_store
from stores.options import now
from worker.demo.clock import past
from worker.demo.graph import build, config_of, run

_DAY, _HOUR = timedelta(days=1), timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class DemoThread:
    """One thread: its past, and the list of the sweep's result that must name it.

    ``listed`` is None for a thread that no list may name: it is not due. Times are counted back
    from now; ``started`` and ``finished`` are calls of the owner's to the ledger.
    """

    thread_id: str
    story: str
    why: str
    idle: timedelta
    listed: str | None = None
    finished: timedelta | None = None
    started: timedelta | None = None
    declared: ThreadRetention | None = None
    is_parked: bool = False
    has_foreign_ids: bool = False

    @property
    def goes(self) -> bool:
        """Whether the sweep is to delete the thread."""
        return self.listed in ("finished_swept", "waiting_swept")


THREADS = (
    DemoThread(
        "order-1001",
        "its owner marked it finished 3 days ago",
        "finished, and past its due time",
        3 * _DAY,
        "finished_swept",
        finished=3 * _DAY,
    ),
    DemoThread(
        "order-1002",
        "its owner marked it finished 2 hours ago",
        "finished, but due only a day after the mark",
        2 * _HOUR,
        finished=2 * _HOUR,
    ),
    DemoThread(
        "chat-ana",
        "idle for 30 days",
        "past the waiting horizon of 7 days",
        30 * _DAY,
        "waiting_swept",
    ),
    DemoThread("chat-ben", "idle for 2 days", "within the waiting horizon of 7 days", 2 * _DAY),
    DemoThread(
        "chat-cleo",
        "idle for 30 days, started again by its owner an hour ago",
        "a start counts as activity",
        30 * _DAY,
        started=_HOUR,
    ),
    DemoThread(
        "guest-17",
        "idle for 3 hours, its owner declared a retention of 1 hour",
        "past the waiting retention declared for it",
        3 * _HOUR,
        "waiting_swept",
        started=3 * _HOUR,
        declared=ThreadRetention(waiting_minutes=60),
    ),
    DemoThread(
        "approval-7",
        "waits for a person's approval since 30 days",
        "spared by flows-engine: an interrupt is pending",
        30 * _DAY,
        "spared",
        is_parked=True,
    ),
    DemoThread(
        "import-3",
        "written by a program that numbers its checkpoints",
        "of unknown age: never deleted on a guess",
        timedelta(),
        "undatable",
        has_foreign_ids=True,
    ),
)


@contextmanager
def stock_saver(path: Path) -> Iterator[SqliteSaver]:
    """LangGraph's own saver for SQLite; nothing of this project."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


def write_threads(path: Path) -> None:
    """Run the graph for each thread, back then, and tell the ledger what its owner did."""
    with stock_saver(path) as saver:
        graph = build(saver)
        for thread in THREADS:
            if thread.has_foreign_ids:
                _import(saver, thread.thread_id)
                continue
            with past(thread.idle):
                run(graph, thread.thread_id, needs_approval=thread.is_parked)
    # A store that stock savers wrote is taken over once, as `retention store adopt --yes` does.
    adopt_store(str(path), settings=_options(timedelta()), compresses=False)
    for thread in THREADS:
        _tell_ledger(path, thread)


def count_checkpoints(path: Path) -> dict[str, int]:
    """How many checkpoints the stock saver finds of each thread."""
    with stock_saver(path) as saver:
        return {t.thread_id: len(list(saver.list(config_of(t.thread_id)))) for t in THREADS}


def _import(saver: SqliteSaver, thread_id: str) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["id"] = "step-0001"
    config = config_of(thread_id)
    config["configurable"]["checkpoint_ns"] = ""
    saver.put(config, checkpoint, {"source": "input", "step": 0, "parents": {}}, {})


def _tell_ledger(path: Path, thread: DemoThread) -> None:
    if thread.started is not None:
        with open_store(str(path), settings=_options(thread.started)) as store:
            store.ledger.start([thread.thread_id], thread.declared)
    if thread.finished is not None:
        with open_store(str(path), settings=_options(thread.finished)) as store:
            store.ledger.mark_finished([thread.thread_id])


def _options(ago: timedelta) -> StoreOptions:
    # The default horizons, whatever this machine's environment sets for other stores.
    return StoreOptions(policy=RetentionPolicy(), clock=lambda: now() - ago)
