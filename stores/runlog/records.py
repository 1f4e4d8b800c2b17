"""Records of the run log as what they say. One that somebody broke must not stop every sweep."""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from retention.errors import ConfigurationError, StoreError
from retention.events import event
from retention.policy import RetentionPolicy
from retention.runs import (
    Batch,
    BatchKind,
    Candidate,
    Counts,
    Run,
    RunOutcome,
    RunState,
    Source,
    ThreadOutcome,
)
from stores.runlog.encoding import load_candidates, load_counts, load_outcomes
from stores.texts import is_text, literal, text_of

log = logging.getLogger("retention.sweep")

#: The columns of a record as its store returns them, in the order named below.
Row = Sequence[Any]
#: Reads an instant as a store returns it.
Instants = Callable[[Any], datetime | None]

_KINDS = frozenset(map(str, BatchKind))

RUN_COLUMNS = (
    "run_id, state, outcome, reason, waiting_minutes, finished_minutes, allow_over_limit, "
    "started_at, lease_until, planned, counts, closed_at, published_at"
)
BATCH_COLUMNS = (
    "run_id, number, kind, source_run, source_number, candidates, outcomes, attempts, "
    "claimed_until, done_at"
)


def with_columns(sql: str) -> str:
    """A statement that reads ``{run}`` or ``{batch}`` with the columns of a record."""
    return sql.replace("{run}", RUN_COLUMNS).replace("{batch}", BATCH_COLUMNS)


def run_of(row: Row, instant: Instants, where: str, remedy: str = "mend or delete it") -> Run:
    """A run from its record; ``where`` says where it lies, ``remedy`` what to do about it.

    Raises:
        StoreError: The record cannot be read; the message names the run.
    """
    run_id, state, outcome, reason, waiting, finished, allow = row[:7]
    started, lease, planned, counts, closed, published = row[7:]
    try:
        return Run(
            text_of(run_id) or "",
            RetentionPolicy(int(waiting), int(finished)),
            _known(instant(started)),
            _known(instant(lease)),
            RunState(state),
            RunOutcome(outcome) if outcome else None,
            text_of(reason),
            bool(int(allow)),
            int(planned),
            counts_of(counts, run_id),
            instant(closed),
            instant(published),
        )
    except (ConfigurationError, StoreError, TypeError, ValueError) as error:
        raise StoreError(
            f"the record of run {run_id!r} in {where} cannot be read ({error}): {remedy}"
        ) from error


def readable(rows: Sequence[Row], read: Callable[[Any], Run]) -> tuple[list[Run], list[StoreError]]:
    """The runs that can be read, and why each of the others cannot."""
    runs: list[Run] = []
    broken: list[StoreError] = []
    for row in rows:
        try:
            runs.append(read(row))
        except StoreError as error:
            broken.append(error)
    return runs, broken


def batch_of(row: Row, instant: Instants) -> Batch:
    """A batch from its row; one that cannot be read names no thread, and is said in the log."""
    run_id, number, kind, source_run, source_number, candidates, outcomes = row[:7]
    attempts, claimed_until, done_at = row[7:]
    named, became = _threads(run_id, number, candidates, outcomes)
    claimed, done = (_instant(run_id, number, instant, at) for at in (claimed_until, done_at))
    return Batch(
        run_id,
        number,
        named,
        BatchKind(kind) if kind in _KINDS else BatchKind.SWEEP,
        None if source_run is None else _source(source_run, source_number),
        became,
        attempts,
        claimed,
        done,
    )


def _source(run_id: Any, number: Any) -> Source | None:
    return next(iter(sources_of([(run_id, number)])), None)


def sources_of(rows: Iterable[Row]) -> list[Source]:
    """Batches from their runs and numbers; what names none is said in the log."""
    found: list[Source] = []
    for run_id, number in rows:
        if is_text(run_id) and isinstance(number, int):
            found.append(Source(run_id, number))
        else:
            run, batch = (v if is_text(v) else literal(v) for v in (run_id, number))
            error = "it names no batch"
            event(log, logging.ERROR, "batch_unreadable", run=run, batch=batch, error=error)
    return found


def counts_of(text: str, run_id: str) -> Counts:
    """Counts as they were written; none, and a line in the log, where they cannot be read."""
    try:
        return load_counts(text)
    except StoreError as error:
        event(log, logging.ERROR, "counts_unreadable", run=run_id, error=error)
        return Counts()


def _threads(
    run_id: str, number: int, candidates: str, outcomes: str
) -> tuple[list[Candidate], dict[int, ThreadOutcome]]:
    try:
        return load_candidates(candidates), load_outcomes(outcomes)
    except StoreError as error:
        event(log, logging.ERROR, "batch_unreadable", run=run_id, batch=number, error=error)
        return [], {}


def _instant(run_id: str, number: int, instant: Instants, at: Any) -> datetime | None:
    try:
        return instant(at)
    except StoreError as error:
        event(log, logging.ERROR, "batch_unreadable", run=run_id, batch=number, error=error)
        return None


def _known(instant: datetime | None) -> datetime:
    if instant is None:
        raise ValueError("an instant is missing")
    return instant
