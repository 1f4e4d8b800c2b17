"""``./run bench filters``: what the live-thread filters cost a sweep, where a tenth is parked."""

import gc
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from langgraph.types import Interrupt

from bench.measure import Contender, report, take_turns
from bench.subjects import Subject, in_batches, subject
from bench.sweep import LONG_AGO, sweep_once
from retention.filters import FilterRegistry, ask, default_owners
from retention.policy import RetentionPolicy
from retention.sweep.plan import candidates
from retention.threads import Rule
from stores import Access, Store, StoreOptions, open_store

#: The stores that can hold asks.
STORES = ("postgres", "redis")

#: Of this many threads one is parked on an interrupt, one on an ask and one on a barrier.
_ROUND = 30


def compare_filters(store: str, threads: int, checkpoints: int, rounds: int) -> None:
    """A sweep that asks no filter, one that asks all of them, and the asking alone."""
    parked = sum(number % _ROUND < 3 for number in range(threads))
    gc.freeze()
    # Each spared thread is a line of the log: written as a worker does, but not to a terminal.
    logging.basicConfig(filename=os.devnull)
    with _subject(store) as made:
        ids: list[str] = []

        def prepare() -> None:
            ids[:] = made.seed(threads, checkpoints, LONG_AGO)
            with open_store(made.address) as opened:
                _park(opened, ids)
                # As a sweep asks for them, in its batches: on Redis those touch few buckets.
                rule = Rule(RetentionPolicy(), datetime.now(UTC))
                ids[:] = [c.thread_id for c in candidates(opened.threads, rule, 500)]

        def sweep(expected: int, *filters: str) -> None:
            sweep_once(made.address, expected, filters)

        shipped = ("agents", "interactions", "flows-engine")
        contenders = [
            Contender("no filters", prepare, lambda: sweep(threads), threads),
            Contender("all filters", prepare, lambda: sweep(threads - parked, *shipped), threads),
            Contender("filters alone", prepare, lambda: _ask(made, ids, parked), threads),
        ]
        seconds = take_turns(contenders, rounds)
    title = f"{threads:,} candidates of {checkpoints} checkpoints on {store}, {parked:,} parked"
    report(title, contenders, seconds, "all filters")
    bare = sum(seconds["no filters"])
    costs = {name: sum(seconds[name]) / bare for name in ("all filters", "filters alone")}
    print(json.dumps({"store": store, "seconds_over_no_filters": costs}))


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


def _park(store: Store, thread_ids: list[str]) -> None:
    """Park a tenth of the threads, each third of them in another way."""
    deadline = datetime.now(UTC) + timedelta(days=1)
    for first in range(0, len(thread_ids), _ROUND):
        interrupted, asking, waiting = [*thread_ids[first : first + 3], "", ""][:3]
        config = {"configurable": {"thread_id": interrupted, "checkpoint_ns": ""}}
        head = store.threads.facts([interrupted])[interrupted].head
        config["configurable"]["checkpoint_id"] = str(head)
        store.saver.put_writes(config, [("__interrupt__", (Interrupt(value="go on?"),))], "task")  # type: ignore[arg-type]
        for thread_id in filter(None, (asking, waiting)):
            store.asks.open_ask(thread_id, "ask", deadline)
        if waiting:
            store.asks.open_barrier(waiting, "barrier", ["ask"], deadline)


def _ask(made: Subject, thread_ids: list[str], expected: int) -> None:
    """Ask all filters about all threads, as many at a time as a batch holds."""
    claimed = 0
    with open_store(made.address, settings=StoreOptions(access=Access.WRITE)) as store:
        filters = FilterRegistry().select(default_owners(store), store)
        for some in in_batches(thread_ids):
            claimed += len(ask(filters, some, timedelta(seconds=60)))
    if claimed != expected:
        raise SystemExit(f"the filters claimed {claimed} threads instead of {expected}")
