"""What a live agent's ``put`` takes, alone and beside a sweep at full speed."""

import json
import multiprocessing
import os
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

from bench.subjects import PostgresSubject, Subject, steps
from bench.sweep import LONG_AGO, flows_engine, sweep_once
from retention.filters import LiveThreadFilter
from retention.ports import CheckpointStore
from stores import open_saver
from worker.background import stand_back

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

#: An agent thinks between two steps; it does not write as fast as the store lets it.
_THINKS_SECONDS = 0.002
_ALONE_SECONDS = 4.0
_AGENT_CHECKPOINTS = 5
#: What SWEEP_NICE is unless it is set.
_NICE = 10

Latencies = list[float]


def compare_live(
    subject: Subject, threads: int, checkpoints: int, rounds: int, *, apart: bool
) -> None:
    """The 99th percentile of a live agent's put, without a sweep and with one.

    ``apart`` keeps the agent and the sweep on processors of their own.
    """
    alone: Latencies = []
    beside: Latencies = []
    seconds: Latencies = []
    processors = _Processors(subject, apart=apart)
    for number in range(rounds):
        subject.seed(threads, checkpoints, LONG_AGO)
        with _agent(subject.address, f"alone-{number}", alone, processors):
            sleep(_ALONE_SECONDS)
        with _worker() as worker, _agent(subject.address, f"beside-{number}", beside, processors):
            seconds.append(worker.apply(_sweep, (subject.address, threads, processors)))
    _report(threads, alone, beside, threads / statistics.median(seconds))


class _Processors:
    """One processor for an agent, one for the sweep; the server's share for each goes with it.

    They live on machines of their own, and a server has a processor for each. Where both run here,
    a kernel that packs what runs onto few processors, as those of small virtual machines do, lets
    an agent wait behind the sweep while another processor is idle: that is no store's doing.
    """

    def __init__(self, subject: Subject, *, apart: bool) -> None:
        """Only PostgreSQL serves each connection by a process of its own."""
        self._all = sorted(os.sched_getaffinity(0))
        self._apart = apart and len(self._all) > 1
        self._server = subject if isinstance(subject, PostgresSubject) else None

    def of_agent(self, agent: int) -> None:
        """Keep an agent's process, and all that serve connections by now, on the last one."""
        if self._server is not None and self._apart:
            for process in {agent, *self._server.server_processes()}:
                os.sched_setaffinity(process, {self._all[-1]})

    def of_sweep(self, store: CheckpointStore) -> list[LiveThreadFilter]:
        """Keep the sweep's process, and those that came to serve it, on the first.

        Chooses the filter.
        """
        if self._server is not None and self._apart:
            for process in {os.getpid(), *self._server.server_processes()}:
                if os.sched_getaffinity(process) == set(self._all):
                    os.sched_setaffinity(process, {self._all[0]})
        return flows_engine(store)


def _report(threads: int, alone: Latencies, beside: Latencies, rate: float) -> None:
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
    Console(stderr=True).print(f"the sweep beside the agent: {rate:,.0f} threads a second")
    answer = {"milliseconds": figures, "p99_ratio": round(ratio, 3)}
    print(json.dumps({**answer, "threads_per_second": round(rate, 1)}))


@contextmanager
def _worker() -> Any:
    """A process that stands back as a worker's does, with all that a sweep needs imported."""
    with multiprocessing.get_context("spawn").Pool(1, stand_back, (_NICE,)) as worker:
        worker.apply(_sweep, ("", 0, None))
        yield worker


def _sweep(address: str, threads: int, processors: _Processors | None) -> float:
    """Sweep; the seconds it took."""
    if processors is None:
        return 0
    began = perf_counter()
    sweep_once(address, threads, processors.of_sweep)
    return perf_counter() - began


@contextmanager
def _agent(address: str, name: str, latencies: Latencies, processors: _Processors) -> Any:
    """An agent in a process of its own; what its puts took is added to the latencies."""
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Event(), context.Event()
    results: Queue[Latencies | str] = context.Queue()
    process = context.Process(target=_write, args=(address, name, ready, stop, results))
    process.start()
    try:
        ready.wait(60)
        processors.of_agent(process.pid or 0)
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
