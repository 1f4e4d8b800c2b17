"""Every thread of a run and what became of it, written as it is read: there may be millions."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import click

from retention.runs import Batch, BatchKind, Outcome, Run
from retention.sweep import Sweep
from worker.cli.lines import printable


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a thread stands in a run; as text, the cursor of a listing."""

    batch: int
    index: int

    def __str__(self) -> str:
        return f"{self.batch}.{self.index}"

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Read a cursor.

        Raises:
            UsageError: It is none.
        """
        found = re.fullmatch(r"([0-9]{1,9})\.([0-9]{1,9})", text)
        if found is None:
            raise click.UsageError(f"--after {text[:40]!r} is no cursor of a list of threads")
        return cls(int(found[1]), int(found[2]))


Listed = tuple[Place, dict[str, Any]]


def list_threads(
    sweep: Sweep, run: Run, as_json: bool, after: Place | None, limit: int | None
) -> None:
    """Print the threads of a run that come after a place, up to a limit."""
    threads = _threads(sweep, run, after)
    if as_json:
        _write_json(run, threads, limit)
    else:
        _write_lines(threads, limit)


def _threads(sweep: Sweep, run: Run, after: Place | None) -> Iterator[Listed]:
    for batch in sweep.store.runs.batches(run.run_id):
        for index in _indexes(batch):
            place = Place(batch.number, index)
            if after is None or place > after:
                yield place, _thread(batch, index)


def _indexes(batch: Batch) -> Iterable[int]:
    """A look for late writes has something to say of those threads only that had some."""
    return sorted(batch.outcomes) if batch.kind is BatchKind.LATE else range(len(batch.candidates))


def _thread(batch: Batch, index: int) -> dict[str, Any]:
    candidate, thread = batch.candidates[index], batch.outcomes.get(index)
    is_spared = thread is not None and thread.outcome is Outcome.SPARED
    detail = None if thread is None else thread.detail
    return {
        "thread_id": candidate.thread_id,
        "horizon": str(candidate.horizon),
        "outcome": None if thread is None else str(thread.outcome),
        "owner": detail if is_spared else None,
        "error": None if is_spared else detail,
        "batch": batch.number,
    }


def _write_json(run: Run, threads: Iterator[Listed], limit: int | None) -> None:
    write, separator = sys.stdout.write, ""
    last: Place | None = None
    write(f'{{"run_id": {json.dumps(run.run_id)}, "threads": [')
    for place, thread in islice(threads, limit):
        last = place
        write(separator + json.dumps(thread))
        separator = ", "
    write(f'], "next_cursor": {json.dumps(_cursor(last, threads))}}}\n')


def _write_lines(threads: Iterator[Listed], limit: int | None) -> None:
    """Columns of a fixed width, since the longest id is known only at the end."""
    write = sys.stdout.write
    last: Place | None = None
    write(_line("outcome", "horizon", "thread", "owner or error"))
    for place, thread in islice(threads, limit):
        last = place
        detail = thread["owner"] or thread["error"] or ""
        write(_line(thread["outcome"], thread["horizon"], thread["thread_id"], detail))
    cursor = _cursor(last, threads)
    if cursor is not None:
        write(f"more: --after {cursor}\n")


def _cursor(last: Place | None, rest: Iterator[Listed]) -> str | None:
    more = last is not None and next(rest, None) is not None
    return str(last) if more else None


def _line(outcome: str | None, horizon: str, thread_id: str, detail: str) -> str:
    cells = f"{outcome or 'open':<10} {horizon:<9} {printable(thread_id):<36} {printable(detail)}"
    return f"{cells.rstrip()}\n"
