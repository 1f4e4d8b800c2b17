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
    """One way to do the work. ``prepare`` is not timed; ``work`` is, and does ``amount`` of it."""

    name: str
    prepare: Callable[[], object]
    work: Callable[[], object]
    amount: int


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


def report(
    title: str,
    contenders: list[Contender],
    seconds: Mapping[str, list[float]],
    subject: str,
    unit: str = "threads",
) -> None:
    """Print a table, and the same as JSON: rates, and the subject's rate over each other one."""
    rates = {c.name: c.amount / statistics.median(seconds[c.name]) for c in contenders}
    ratios = {name: rates[subject] / rate for name, rate in rates.items() if name != subject}
    table = Table("contender", f"{unit} per second", f"{subject} is", title=title)
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}", f"{ratios[name]:.2f} times" if name in ratios else "")
    Console(stderr=True).print(table)
    answer: dict[str, Any] = {
        "title": title,
        unit: {contender.name: contender.amount for contender in contenders},
        f"{unit}_per_second": {name: round(rate, 1) for name, rate in rates.items()},
        "ratios": {name: round(ratio, 3) for name, ratio in ratios.items()},
        "seconds": {name: [round(s, 3) for s in taken] for name, taken in seconds.items()},
    }
    print(json.dumps(answer))
