"""How far a sweep is, on a terminal."""

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from worker.cli.lines import printable


class ProgressBar:
    """A bar on stderr while a block runs; nothing at all where stderr is no terminal."""

    def __init__(self, unit: str, label: str) -> None:
        """Count in this unit, such as ``batches``."""
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit),
            TimeRemainingColumn(),
        )
        self._bar = Progress(
            *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
        )
        self._task = self._bar.add_task(label, total=None)
        self._totals: dict[str, int] = {}

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._bar.stop()

    def show(self, label: str, done: int, total: int | None) -> None:
        """Show how far it is; a total of None is not known yet."""
        self._bar.update(self._task, description=printable(label), completed=done, total=total)

    def batch_done(self, run_id: str, left: int) -> None:
        """Take note of a batch that was done, and how many of its run are left."""
        total = self._totals.setdefault(run_id, left + 1)
        self.show(f"sweeping {run_id}", total - left, total)
