"""Timing contenders turn by turn, and saying how they compare."""

import json
import statistics
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do the work. ``prepare`` is not timed; ``work`` is."""

    name: str
    prepare: Callable[[], object]
    work: Callable[[], object]


def take_turns(contenders: list[Contender], rounds: int) -> dict[str, list[float]]:
    """Seconds each contender took, round by round: noise of the machine falls on all."""
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for _ in range(rounds):
        for contender in contenders:
            contender.prepare()
            began = perf_counter()
            contender.work()
            seconds[contender.name].append(perf_counter() - began)
            print(f"  {contender.name}: {seconds[contender.name][-1]:.2f} s", file=sys.stderr)
    return seconds


def report(title: str, threads: int, seconds: Mapping[str, list[float]], subject: str) -> None:
    """Print a table, and the same as JSON: rates, and the subject's rate over each other one."""
    rates = {name: threads / statistics.median(taken) for name, taken in seconds.items()}
    ratios = {name: rates[subject] / rate for name, rate in rates.items() if name != subject}
    table = Table("contender", "threads per second", f"{subject} is", title=title)
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}", f"{ratios[name]:.2f} times" if name in ratios else "")
    Console(stderr=True).print(table)
    answer: dict[str, Any] = {
        "title": title,
        "threads": threads,
        "threads_per_second": {name: round(rate, 1) for name, rate in rates.items()},
        "ratios": {name: round(ratio, 3) for name, ratio in ratios.items()},
        "seconds": {name: [round(s, 3) for s in taken] for name, taken in seconds.items()},
    }
    print(json.dumps(answer))
