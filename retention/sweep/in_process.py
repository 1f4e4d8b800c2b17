"""A whole sweep in this process, without a worker pool."""

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from retention.errors import ConfigurationError, StoreError
from retention.runs import RunOutcome
from retention.sweep.closing import finish, result_of
from retention.sweep.context import Sweep
from retention.sweep.opening import open_run
from retention.sweep.repairing import repair
from retention.sweep.result import SweepResult
from retention.sweep.working import work_on

#: Told after each batch: the run and how many batches are still to do.
Progress = Callable[[str, int], None]


@dataclass(slots=True)
class LocalDispatch:
    """Keeps the work of this process in a queue, and the last results it published.

    ``own`` are the runs opened here: whoever opened another one still waits for its result.
    ``taken`` are those whose batches came here to be worked on.
    """

    queue: deque[tuple[str, int]] = field(default_factory=deque)
    results: dict[str, SweepResult] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)

    def batches(self, run_id: str, numbers: Iterable[int]) -> None:
        """Queue these batches."""
        self.taken.add(run_id)
        self.queue.extend((run_id, number) for number in numbers)

    def finish(self, run_id: str) -> None:
        """Nothing to send: the loop closes a run after its last batch."""

    def publish(self, result: SweepResult) -> bool:
        """Keep the result for the caller; that of a pool's run stays to be handed out there."""
        self.results[result.run_id] = result
        return result.run_id in self.own


def run_sweep(
    sweep: Sweep,
    local: LocalDispatch,
    run_id: str,
    *,
    allow_over_limit: bool = False,
    progress: Progress = lambda run_id, left: None,
) -> SweepResult:
    """Sweep the store in this process; ``local`` is the dispatch of ``sweep``.

    A live run that went stale is brought to its end first. Told to end, by ``KeyboardInterrupt``
    or ``SystemExit``, it gives the run it works on back: the next sweep need not wait.

    Raises:
        StoreError: The store failed, or lost the record of the run.
    """
    try:
        repair(sweep)
        _drain(sweep, local, progress)
        local.own.add(run_id)
        result = open_run(sweep, run_id, allow_over_limit=allow_over_limit)
        if result is not None:
            return result
        held_up = _drain(sweep, local, progress)
    except (KeyboardInterrupt, SystemExit):
        _give_back(sweep, local)
        raise
    return local.results.get(run_id) or _unfinished(sweep, run_id, held_up)


def _give_back(sweep: Sweep, local: LocalDispatch) -> None:
    """End the lease of the run at work here, if the store can be told; claims are given back."""
    with suppress(StoreError, ConfigurationError):
        run = sweep.store.runs.live()
        if run is not None and run.run_id in local.own | local.taken:
            sweep.store.runs.renew(run.run_id, sweep.clock())


def _drain(sweep: Sweep, local: LocalDispatch, progress: Progress) -> str | None:
    """Work on what is queued; say what holds it up, if anything does, and leave it to others."""
    while local.queue:
        run_id, number = local.queue.popleft()
        report = work_on(sweep, run_id, number)
        if report.held_up is not None:
            local.queue.clear()
            _give_back(sweep, local)
            return report.held_up
        progress(run_id, len(local.queue))
        if not local.queue:
            finish(sweep, run_id)
    return None


def _unfinished(sweep: Sweep, run_id: str, held_up: str | None) -> SweepResult:
    """The run is held up, or another process works on a batch or closed it: say what is known."""
    run = sweep.store.runs.get(run_id)
    if run is None:
        raise StoreError(
            f"the record of run {run_id!r} is gone: the store was emptied, or lost data, under it"
        )
    if run.closed_at is None:
        run = replace(
            run,
            outcome=RunOutcome.PARTIAL,
            counts=sweep.store.runs.progress(run_id),
            reason=held_up or "another process still works on this run",
        )
    return result_of(sweep, run)
