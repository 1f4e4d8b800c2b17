"""``./run bench redis``: writes, memory, deletes and an idle sweep beside the official saver's."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.measure import Contender, report, take_turns
from bench.official_redis import used_memory
from bench.redis_subject import RedisSubject
from bench.subjects import Step, steps, write
from bench.sweep import compare_deletes, compare_idle
from stores import open_store
from tests.servers.redis import RedisServer

#: Of the threads that are swept, so many are written in a round: each is written for real.
_WRITTEN_SHARE = 0.02
#: Threads with a mark that is not due, for each that is swept: ten times as many.
_IDLE = 10
#: Written before anything is measured: what a server and its indexes need once is not counted.
_WARM_THREADS = 300


def compare_redis(subject: RedisSubject, threads: int, checkpoints: int, rounds: int) -> None:
    """All that this store promises beside the official one, in one run."""
    compare_writes(subject, max(1, int(threads * _WRITTEN_SHARE)), checkpoints, rounds)
    compare_deletes(subject, threads, checkpoints, rounds)
    compare_idle(subject, threads * _IDLE, checkpoints, rounds)


def compare_writes(subject: RedisSubject, threads: int, checkpoints: int, rounds: int) -> None:
    """Checkpoints put, each with its three writes, and what the threads take in memory."""
    subject.server.flush()
    subject.official.flush()
    subject.saver.setup()
    amount = threads * checkpoints
    with open_store(subject.address) as store:
        savers = {"official saver": subject.saver, "this store": store.saver}
        servers = {"official saver": subject.official, "this store": subject.server}
        for saver in savers.values():
            warm = Writer(saver, "warm", _WARM_THREADS, checkpoints)
            warm.make()
            warm.write()
        empty = {name: used_memory(server) for name, server in servers.items()}
        writers = {n: Writer(saver, "bench", threads, checkpoints) for n, saver in savers.items()}
        contenders = [Contender(n, w.make, w.write, amount) for n, w in writers.items()]
        seconds = take_turns(contenders, rounds)
        title = f"{amount:,} checkpoints of 2 KB, each with three writes"
        report(title, contenders, seconds, "this store", unit="checkpoints")
        _report_memory(empty, servers, threads * rounds)


@dataclass(slots=True)
class Writer:
    """Writes threads that were not there before; making what it writes is not the saver's work."""

    saver: Any
    name: str
    threads: int
    checkpoints: int
    made: list[Step] = field(default_factory=list)
    begun: int = 0

    def make(self) -> None:
        """Make the next threads."""
        numbers = range(self.begun, self.begun + self.threads)
        self.begun = numbers.stop
        at = datetime.now(UTC)
        self.made = [
            step
            for number in numbers
            for step in steps(self.saver, f"{self.name}-{number:08}", self.checkpoints, at)
        ]

    def write(self) -> None:
        """Write them."""
        write(self.saver, self.made)


def _report_memory(
    empty: Mapping[str, int], servers: Mapping[str, RedisServer], threads: int
) -> None:
    sizes = {n: round((used_memory(servers[n]) - empty[n]) / threads) for n in servers}
    ratio = sizes["this store"] / sizes["official saver"]
    table = Table("saver", "bytes of the server's memory per thread", "this store takes")
    table.add_row("official saver", f"{sizes['official saver']:,}", f"{ratio:.2f} of that")
    table.add_row("this store", f"{sizes['this store']:,}", "")
    Console(stderr=True).print(table)
    print(json.dumps({"bytes_per_thread": sizes, "ratio": round(ratio, 3)}))
