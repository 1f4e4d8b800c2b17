"""Bringing a sweep's work to the pool, and its result to whoever asks for its Celery id."""

import logging
from collections.abc import Iterable
from typing import Any

from billiard.exceptions import SoftTimeLimitExceeded
from celery import Celery, states
from celery.utils.saferepr import saferepr
from kombu import Producer
from kombu.exceptions import ChannelError, KombuError

from retention.events import event
from retention.sweep import SweepResult
from worker.celery_config import BATCH_TASK, FINISH_TASK

log = logging.getLogger(__name__)

#: What sending raises once Celery's own tries are used up; the rest would be a fault of ours.
BROKER_ERRORS = (KombuError, ChannelError, OSError)

# As long as Celery lets the result in its own events be.
_EVENT_CHARACTERS = 1024


class CeleryDispatch:
    """Sends run ids and batch numbers, never more: the rest is in the store.

    A message that cannot be sent is no error: the next tick finds the run and sends it again.
    """

    def __init__(self, app: Celery) -> None:
        """Send through this app's broker and store results in its backend."""
        self._app = app

    def batches(self, run_id: str, numbers: Iterable[int]) -> None:
        """Have these batches worked on, each by a task of its own."""
        try:
            with self._app.producer_or_acquire() as producer:
                for number in numbers:
                    self._send(BATCH_TASK, (run_id, number), producer)
        except BROKER_ERRORS as error:
            event(log, logging.WARNING, "batches_not_sent", run=run_id, error=error)

    def finish(self, run_id: str) -> None:
        """Have the run closed."""
        try:
            with self._app.producer_or_acquire() as producer:
                self._send(FINISH_TASK, (run_id,), producer)
        except BROKER_ERRORS as error:
            event(log, logging.WARNING, "finish_not_sent", run=run_id, error=error)

    def publish(self, result: SweepResult) -> bool:
        """Store the result under the run's id, and tell monitors that the run succeeded.

        Returns:
            False where the result backend does not take it: the next tick tries again.
        """
        document = result.to_json()
        try:
            self._app.backend.store_result(result.run_id, document, states.SUCCESS)
        except SoftTimeLimitExceeded:
            raise
        except Exception as error:  # noqa: BLE001 - each backend has errors of its own
            event(log, logging.WARNING, "result_not_stored", run=result.run_id, error=error)
            return False
        self._announce(result, document)
        event(log, logging.INFO, "result_stored", run=result.run_id, outcome=result.outcome)
        return True

    def _send(self, task: str, args: tuple[Any, ...], producer: Producer) -> None:
        # Nobody asks for the result of a batch: its record is in the run log.
        self._app.send_task(task, args, producer=producer, ignore_result=True)

    def _announce(self, result: SweepResult, document: dict[str, Any]) -> None:
        """Send the event that Celery sends at the end of a task: this task ended before its run."""
        task = self._app.current_worker_task
        if task is None:
            return
        try:
            with self._app.events.default_dispatcher(task.request.hostname) as events:
                events.send(
                    "task-succeeded",
                    uuid=result.run_id,
                    result=saferepr(document, maxlen=_EVENT_CHARACTERS),
                    runtime=result.duration.total_seconds(),
                )
        except BROKER_ERRORS as error:
            event(log, logging.WARNING, "monitors_not_told", run=result.run_id, error=error)
