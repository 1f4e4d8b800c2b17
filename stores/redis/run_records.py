"""Runs and batches as the scripts of the run log answer with them."""

from collections.abc import Iterator, Sequence
from typing import Any

from retention.errors import StoreError
from retention.runs import Batch, Run, Source
from stores.redis.layout import LOG, instant, text
from stores.runlog.records import batch_of, run_of


def log_run_key(run_id: str) -> str:
    """The key of a run's record, as an operator finds it."""
    return f"{text(LOG)}r:{run_id}"


def runs_of(rows: Sequence[Any]) -> list[Run]:
    """Runs from ids and rows, one after the other.

    Raises:
        StoreError: A record cannot be read; the message names the run.
    """
    return [run_from(text(run_id), row) for run_id, row in zip(rows[::2], rows[1::2], strict=True)]


def run_from(run_id: str, row: Sequence[bytes | None]) -> Run:
    """A run from its row. Raises StoreError if that cannot be read."""
    state, outcome, reason, *numbers = row
    waiting, finished, allow, started, lease, planned, counts, closed, published = numbers
    record = (
        *(run_id, _text(state), _text(outcome), _text(reason), waiting, finished, allow),
        *(started, lease, planned, _text(counts), closed, published),
    )
    return run_of(record, instant, log_run_key(run_id))


def batch_from(run_id: str, rows: Sequence[Any]) -> Batch:
    """A batch from its number, its row and that of its source, if it has one.

    What cannot be read names no thread, and is said in the log.
    """
    number, row, source_row = rows
    batch = _batch(run_id, int(number), row)
    if batch.source is not None:
        source = Source(batch.source.run_id, batch.source.number)
        origin = source_row and _batch(source.run_id, source.number, source_row)
        batch.candidates = origin.deleted() if origin else []
        batch.outcomes = dict(_known(batch))
    return batch


def _batch(run_id: str, number: int, row: Sequence[bytes | None]) -> Batch:
    kind, source_run, source_number, candidates, outcomes, attempts, until, done = row
    record = (
        *(run_id, number, _text(kind), _text(source_run), int(source_number or 0)),
        *(_text(candidates), _text(outcomes), int(attempts or 0), until, done),
    )
    batch = batch_of(record, instant)
    if batch.source is None:
        batch.outcomes = dict(_known(batch))
    return batch


def _known(batch: Batch) -> Iterator[tuple[int, Any]]:
    """Outcomes of candidates: what names none would count a thread that is not there."""
    return ((i, o) for i, o in batch.outcomes.items() if 0 <= i < len(batch.candidates))


def series_of(reply: Sequence[bytes]) -> dict[str, int]:
    """The totals by their series.

    Raises:
        StoreError: One of them is no number.
    """
    try:
        return {text(name): int(value) for name, value in zip(reply[::2], reply[1::2], strict=True)}
    except ValueError as error:
        raise StoreError(
            f"the totals in {text(LOG)}totals cannot be read ({error}): mend that field"
        ) from error


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else text(stored)
