"""What a command answers with on stdout: a table for people, or one JSON object."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from worker.cli.lines import printable

# Wide enough that nothing is folded where no terminal sets a width: another program reads that.
_WIDTH_OF_A_FILE = 10_000


def stdout() -> Console:
    """The console that people's tables go to."""
    width = None if sys.stdout.isatty() else _WIDTH_OF_A_FILE
    return Console(file=sys.stdout, width=width, highlight=False, markup=False)


def print_json(answer: Mapping[str, Any]) -> None:
    """Print the one JSON object of a command."""
    sys.stdout.write(json.dumps(answer) + "\n")


def print_line(text: str = "") -> None:
    """Print one line for people; what it holds of others' text is made harmless."""
    stdout().print(Text(printable(text)), soft_wrap=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; long cells are folded, never cut."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable("-" if cell is None else str(cell))) for cell in row))
    stdout().print(table)


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Print names and values, one pair a line; pairs without a value are left out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold")
    for name, value in facts:
        if value is not None:
            grid.add_row(Text(name), Text(printable(str(value))))
    stdout().print(grid)
