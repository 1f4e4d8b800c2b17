"""What a live agent's ``put`` takes, alone and beside a sweep at full speed."""

import json
import multiprocessing
import statistics
from collections.abc import Callable
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from multiprocessing.synchronize import Event
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from bench.subjects import Subject, steps
from bench.sweep import LONG_AGO, sweep_once
from stores import open_saver

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

#: An agent thinks between two steps; it does not write as fast as the store lets it.
_THINKS_SECONDS = 0.002
_ALONE_SECONDS = 4.0
_AGENT_CHECKPOINTS = 5

Latencies = list[float]


def compare_live(subject: Subject, threads: int, checkpoints: int, rounds: int) -> None:
    """The 99th percentile of a live agent's put, without a sweep and with one."""
    alone: Latencies = []
    beside: Latencies = []
    for number in range(rounds):
        subject.seed(threads, checkpoints, LONG_AGO)
        with _agent(subject.address, f"alone-{number}", alone):
            sleep(_ALONE_SECONDS)
        with _agent(subject.address, f"beside-{number}", beside):
            sweep_once(subject.address, expected=threads)
    _report(threads, alone, beside)


def _report(threads: int, alone: Latencies, beside: Latencies) -> None:
    table = Table("put of a live agent", "puts", "median ms", "p99 ms", "longest ms")
    figures = {}
    for name, latencies in (("alone", alone), (f"beside a sweep of {threads:,}", beside)):
        ms = {
            "median": 1000 * statistics.median(latencies),
            "p99": 1000 * statistics.quantiles(latencies, n=100)[98],
            "longest": 1000 * max(latencies),
        }
        table.add_row(name, f"{len(latencies):,}", *(f"{value:.2f}" for value in ms.values()))
        figures[name] = {key: round(value, 3) for key, value in ms.items()}
    ratio = statistics.quantiles(beside, n=100)[98] / statistics.quantiles(alone, n=100)[98]
    Console(stderr=True).print(table)
    Console(stderr=True).print(f"p99 beside the sweep is {ratio:.2f} times that alone")
    print(json.dumps({"milliseconds": figures, "p99_ratio": round(ratio, 3)}))


@contextmanager
def _agent(address: str, name: str, latencies: Latencies) -> Any:
    """An agent in a process of its own; what its puts took is added to the latencies."""
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Event(), context.Event()
    results: Queue[Latencies | str] = context.Queue()
    process = context.Process(target=_write, args=(address, name, ready, stop, results))
    process.start()
    try:
        ready.wait(60)
        yield
    finally:
        stop.set()
        found = results.get(timeout=60)
        process.join(60)
    if isinstance(found, str):
        raise SystemExit(f"the agent could not write: {found}")
    latencies += found


def _write(
    address: str, name: str, ready: Event, stop: Event, results: "Queue[Latencies | str]"
) -> None:
    """Write threads until told to stop."""
    taken: Latencies = []
    try:
        with open_saver(address) as saver:
            for number in count():
                made = steps(saver, f"{name}-{number:06}", _AGENT_CHECKPOINTS, datetime.now(UTC))
                for put, put_writes in made:
                    taken.append(_timed(lambda put=put: saver.put(*put)))  # type: ignore[misc]
                    saver.put_writes(*put_writes)
                    ready.set()
                    sleep(_THINKS_SECONDS)
                if stop.is_set():
                    break
        results.put(taken)
    except Exception as error:  # noqa: BLE001 - said by the process that waits for it
        ready.set()
        results.put(repr(error))


def _timed(call: Callable[[], object]) -> float:
    began = perf_counter()
    call()
    return perf_counter() - began
