"""The demonstration from its beginning to its end."""

import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker.demo.graph import SENT, build, resume
from worker.demo.pool import DemoPool, Tell
from worker.demo.threads import (
    THREADS,
    DemoThread,
    count_checkpoints,
    stock_saver,
    write_threads,
)

_LISTS = ("finished_swept", "waiting_swept", "spared", "failed", "undatable")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demonstration showed.

    ``rows`` has an entry for each thread; ``problems`` says what did not come out as it should.
    """

    result: Mapping[str, Any]
    rows: list[dict[str, Any]]
    resumed: list[str]
    problems: list[str]


def run_demo(tell: Tell) -> Outcome:
    """Write threads, sweep them with a real worker, look what is left; leave nothing behind.

    Raises:
        RetentionError: The worker could not be started, or a command failed.
    """
    with (
        _ended_like_ctrl_c(),
        tempfile.TemporaryDirectory(prefix="retention-demo-", ignore_cleanup_errors=True) as name,
    ):
        folder = Path(name)
        store = folder / "checkpoints.db"
        tell("writing threads of a real graph through LangGraph's own SqliteSaver")
        tell("and taking that store over, as `retention store adopt --yes` does")
        write_threads(store)
        before = count_checkpoints(store)
        pool = DemoPool(folder, store, tell)
        with pool.running():
            result = pool.sweep()
        after = count_checkpoints(store)
        rows = [_row(t, result, before[t.thread_id], after[t.thread_id]) for t in THREADS]
        resumed = _resume_parked(store, tell)
    return Outcome(result, rows, resumed, problems_of(result, rows, resumed))


@contextmanager
def _ended_like_ctrl_c() -> Iterator[None]:
    """A terminal that closes, or a polite kill, cleans up as Ctrl-C does."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _row(thread: DemoThread, result: Mapping[str, Any], before: int, after: int) -> dict[str, Any]:
    listed = _listed(thread.thread_id, result)
    left = 0 if thread.goes else before
    return {
        "thread_id": thread.thread_id,
        "story": thread.story,
        "fate": "deleted" if after == 0 else "kept",
        "why": thread.why,
        "checkpoints_before": before,
        "checkpoints_after": after,
        "as_expected": before > 0 and after == left and listed == thread.listed,
    }


def _listed(thread_id: str, result: Mapping[str, Any]) -> str | None:
    """The list of a result that names a thread."""
    for name in _LISTS:
        for entry in result.get(name, ()):
            if thread_id == (entry["thread_id"] if isinstance(entry, dict) else entry):
                return name
    return None


def _resume_parked(store: Path, tell: Tell) -> list[str]:
    """Answer the thread that waited for a person: the sweep left all that it needs."""
    (parked,) = (thread for thread in THREADS if thread.is_parked)
    tell(f"resuming {parked.thread_id}, which waited for approval through the sweep")
    with stock_saver(store) as saver:
        return resume(build(saver), parked.thread_id)


def problems_of(
    result: Mapping[str, Any], rows: list[dict[str, Any]], resumed: list[str]
) -> list[str]:
    """What did not come out as it should: of the threads, the run and the resumed thread."""
    problems = [f"{row['thread_id']} was {row['fate']}" for row in rows if not row["as_expected"]]
    if result.get("outcome") != "completed":
        problems.append(f"the sweep ended as {result.get('outcome')}: {result.get('reason')}")
    if resumed[-1:] != [SENT]:
        problems.append(f"the resumed thread ended with {resumed}")
    return problems
