"""``./run bench filters``: what the live-thread filters cost a sweep, where a tenth is parked."""

import gc
import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any

import psycopg
from langgraph.types import Interrupt

from bench.measure import Contender, report, take_turns
from bench.subjects import PostgresSubject, Subject, subject
from bench.sweep import LONG_AGO, sweep_once
from retention.filters import FilterRegistry, LiveThreadFilter, default_owners
from retention.ports import CheckpointStore
from stores import Store, open_store

#: The stores that can hold asks.
STORES = ("postgres", "redis")

#: Of this many threads one is parked on an interrupt, one on an ask and one at a barrier.
_ROUND = 30
_COPIES = {
    "checkpoint_writes": (
        "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob"
    ),
    "retention_asks": "ask_id, deadline, opened_at, state, settled_at",
    "retention_barriers": "barrier_id, ask_ids, deadline, opened_at, state, settled_at",
}


@dataclass(slots=True)
class Asking:
    """The filters of a sweep, between two that only look at the clock."""

    seconds: float = 0
    began: float = 0

    def filters(self, store: CheckpointStore) -> list[LiveThreadFilter]:
        """All that are shipped, timed from before the first to after the last."""
        chosen = FilterRegistry().select(default_owners(store), store)
        return [_Mark("first", self._begin), *chosen, _Mark("last", self._end)]

    def _begin(self) -> None:
        self.began = perf_counter()

    def _end(self) -> None:
        self.seconds += perf_counter() - self.began


@dataclass(slots=True)
class _Mark:
    owner: str
    act: Any = field(repr=False)

    def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
        self.act()
        return ()


def compare_filters(store: str, threads: int, checkpoints: int, rounds: int) -> None:
    """A sweep that asks no filter, and one that asks all of them: how much of it the asking is."""
    parked = sum(number % _ROUND < 3 for number in range(threads))
    gc.freeze()
    # Each spared thread is a line of the log: written as a worker does, but not to a terminal.
    logging.basicConfig(filename=os.devnull)
    asking = Asking()
    with _subject(store) as made:

        def prepare() -> None:
            ids = made.seed(threads, checkpoints, LONG_AGO)
            with open_store(made.address) as opened:
                _park(opened, made, ids)

        def all_filters() -> None:
            sweep_once(made.address, threads - parked, asking.filters)

        contenders = [
            Contender(
                "no filters",
                prepare,
                lambda: sweep_once(made.address, threads, lambda _: []),
                threads,
            ),
            Contender("all filters", prepare, all_filters, threads),
        ]
        seconds = take_turns(contenders, rounds)
    title = f"{threads:,} candidates of {checkpoints} checkpoints on {store}, {parked:,} parked"
    report(title, contenders, seconds, "all filters")
    swept = sum(seconds["all filters"])
    cost = asking.seconds / (swept - asking.seconds)
    print(f"asking took {cost:.1%} of what the same sweep took without it")
    print(json.dumps({"store": store, "asking_seconds": asking.seconds, "cost": round(cost, 3)}))


@contextmanager
def _subject(store: str) -> Iterator[Subject]:
    if store != "redis":
        with subject(store) as made:
            yield made
        return
    from bench.redis_subject import RedisSubject
    from tests.servers.redis import RedisServer

    # The official saver has no part in this: its server is not needed.
    with RedisServer() as server:
        yield RedisSubject(server, server, None)


def _park(store: Store, made: Subject, thread_ids: Sequence[str]) -> None:
    """Park a tenth of the threads, each third of them in another way."""
    ways = [thread_ids[first::_ROUND] for first in range(3)]
    if not isinstance(made, PostgresSubject):
        for some in zip(*ways, strict=False):
            _park_three(store, *some)
        return
    # One of each by the store, and their rows copied: a commit for each would take minutes.
    _park_three(store, *(some[0] for some in ways))
    interrupted, asking, waiting = ways
    with psycopg.connect(made.address, autocommit=True) as connection:
        _copy(connection, "checkpoint_writes", interrupted, "AND idx = -3")
        _copy(connection, "retention_asks", asking)
        _copy(connection, "retention_asks", waiting)
        _copy(connection, "retention_barriers", waiting)
        for table in _COPIES:
            connection.execute(f"VACUUM ANALYZE {table}".encode())


def _park_three(store: Store, interrupted: str, asking: str, waiting: str) -> None:
    deadline = datetime.now(UTC) + timedelta(days=1)
    place: dict[str, Any] = {"thread_id": interrupted, "checkpoint_ns": ""}
    place["checkpoint_id"] = store.threads.facts([interrupted])[interrupted].head
    question = [("__interrupt__", (Interrupt(value="go on?"),))]
    store.saver.put_writes({"configurable": place}, question, "task")
    for thread_id in (asking, waiting):
        store.asks.open_ask(thread_id, "ask", deadline)
    store.asks.open_barrier(waiting, "barrier", ["ask"], deadline)


def _copy(connection: Any, table: str, thread_ids: Sequence[str], only: str = "") -> None:
    """Copy rows of the first thread to the others."""
    columns = _COPIES[table]
    connection.execute(
        f"INSERT INTO {table} (thread_id, {columns}) SELECT u.id, {columns}"
        f" FROM {table}, unnest(%s::text[]) AS u (id) WHERE thread_id = %s {only}",
        [list(thread_ids[1:]), thread_ids[0]],
    )
