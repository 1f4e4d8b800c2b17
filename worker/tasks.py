"""The Celery tasks. Each checks its arguments and calls one step of `retention.sweep`."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from celery import Celery, Task
from celery.exceptions import Ignore

from retention.erasing import erase
from retention.errors import ConfigurationError, StoreUnavailableError
from retention.events import event
from retention.runs import Run, RunState
from retention.sweep import Sweep, dry_run, finish, open_run, refuse, repair, result_of, work_on
from stores.options import now
from worker.arguments import FLAG, NUMBER, OPTIONAL_TEXT, TEXT, Signature, refuse_other_store
from worker.celery_config import BATCH_TASK, ERASE_TASK, FINISH_TASK, SWEEP_TASK
from worker.dispatch import BROKER_ERRORS
from worker.process import ProcessSweep

log = logging.getLogger(__name__)


class StoreTask(Task[..., Any]):
    """A task that works on the process's store, and is tried again while that is unavailable."""

    # The answer to wrong arguments is ours, not a TypeError in the sender's process.
    typing = False
    # Logged in one line instead of with a traceback: trying again cannot help.
    throws = (ConfigurationError,)
    autoretry_for = (StoreUnavailableError,)
    max_retries = 8
    retry_backoff = True
    retry_backoff_max = 60
    retry_jitter = True
    signature_of_arguments: ClassVar[Signature]

    def __init__(self, process: ProcessSweep) -> None:
        """Work on the store of this process."""
        self.process = process

    @property
    def sweep(self) -> Sweep:
        """The sweep of this process."""
        return self.process.get()

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name.

        Raises:
            ConfigurationError: One is unknown, missing or of the wrong kind.
        """
        return self.signature_of_arguments.bind(args, kwargs)

    def again_at(self, instant: datetime, task_id: str | None = None) -> None:
        """Send this very call once more, for just after an instant at which a claim runs out."""
        wait = max(0.0, (instant - now()).total_seconds()) + 1
        event(log, logging.INFO, "called_again", task_id=self.request.id, seconds=round(wait))
        args, kwargs = tuple(self.request.args or ()), dict(self.request.kwargs or {})
        try:
            self.apply_async(args, kwargs, countdown=wait, task_id=task_id)
        except BROKER_ERRORS as error:
            event(log, logging.WARNING, "not_called_again", task_id=self.request.id, error=error)


class SweepTask(StoreTask):
    """``retention.sweep``: repairs the live run, then opens one under its own Celery id.

    Whoever closes the run stores its result under that id; the task itself ends before.
    """

    name = SWEEP_TASK
    # Planning a large store takes as long as it takes, renewing the run's lease at each step.
    soft_time_limit = 86_400
    signature_of_arguments = Signature(
        SWEEP_TASK,
        {"dry_run": FLAG, "store": OPTIONAL_TEXT, "allow_over_limit": FLAG},
        {"dry_run": False, "store": None, "allow_over_limit": False},
    )

    def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Answer with the result where the sweep is over at once."""
        asked = self.arguments(args, kwargs)
        refuse_other_store(self.process.store, asked["store"])
        run_id, over = str(self.request.id), asked["allow_over_limit"]
        event(log, logging.INFO, "sweep_asked_for", run=run_id, dry_run=asked["dry_run"])
        if asked["dry_run"]:
            return dry_run(self.sweep, run_id, allow_over_limit=over).to_json()
        repair(self.sweep)
        closed = self.process.closed(self.sweep.clock()) if self._is_scheduled else None
        if closed is not None:
            return refuse(self.sweep, run_id, closed).to_json()
        result = open_run(self.sweep, run_id, allow_over_limit=over)
        return result.to_json() if result is not None else self._opened(run_id)

    @property
    def _is_scheduled(self) -> bool:
        """Whether beat asked for this sweep: Celery says so in a header of its message."""
        return bool((self.request.headers or {}).get("celery_beat_task"))

    def _opened(self, run_id: str) -> dict[str, Any]:
        """End without a result, unless this is a redelivery and the run is over by now."""
        run = self.sweep.store.runs.get(run_id)
        if run is not None and run.state is RunState.CLOSED:
            return result_of(self.sweep, run).to_json()
        if run is not None and run.state is RunState.PLANNING:
            self._plan_later(run)
        raise Ignore

    def _plan_later(self, run: Run) -> None:
        """Somebody plans this run, or died planning it: the plan can be made again after that."""
        self.again_at(run.lease_until, run.run_id)


class BatchTask(StoreTask):
    """``retention.sweep_batch``: works on one batch of a run."""

    name = BATCH_TASK
    ignore_result = True
    signature_of_arguments = Signature(BATCH_TASK, {"run_id": TEXT, "number": NUMBER})

    def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Work on the batch; one that a dead worker may hold is tried once its claim ran out.

        The answer is not stored: it is what a monitor shows.
        """
        asked = self.arguments(args, kwargs)
        report = work_on(self.sweep, asked["run_id"], asked["number"])
        event(
            log,
            logging.INFO,
            "batch_done" if report.worked else "batch_left_alone",
            run=asked["run_id"],
            batch=asked["number"],
        )
        if report.retry_at is not None:
            self.again_at(report.retry_at)
        return report.to_json()


class FinishTask(StoreTask):
    """``retention.finish_sweep``: closes a run whose batches are done."""

    name = FINISH_TASK
    ignore_result = True
    signature_of_arguments = Signature(FINISH_TASK, {"run_id": TEXT})

    def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Close the run and hand out its result; nothing happens where others did."""
        result = finish(self.sweep, self.arguments(args, kwargs)["run_id"])
        return {"closed": result is not None, "outcome": str(result.outcome) if result else None}


class EraseTask(StoreTask):
    """``retention.erase_thread``: deletes one thread now, whatever the horizons say."""

    name = ERASE_TASK
    signature_of_arguments = Signature(
        ERASE_TASK,
        {"thread_id": TEXT, "by": TEXT, "store": OPTIONAL_TEXT},
        {"store": None},
    )

    def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Answer with the receipt; one that comes twice finds nothing the second time."""
        asked = self.arguments(args, kwargs)
        refuse_other_store(self.process.store, asked["store"])
        return erase(self.sweep, asked["thread_id"], asked["by"]).to_json()


def register(app: Celery, process: ProcessSweep) -> None:
    """Give an app its tasks."""
    for task in (SweepTask, BatchTask, FinishTask, EraseTask):
        app.register_task(task(process))
