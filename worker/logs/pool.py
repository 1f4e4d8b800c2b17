"""The log of Celery's own programs: the worker, its pool and beat."""

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from celery import signals
from celery._state import get_current_task
from celery.app import trace
from celery.apps import worker as celery_worker
from celery.apps.beat import Beat
from celery.apps.worker import Worker
from celery.utils.log import get_multiprocessing_logger

from retention.events import event
from worker.logs.lines import LineFormatter
from worker.settings import redact

log = logging.getLogger(__name__)

_STDERR = 2


class LoggedWorker(Worker):
    """Celery's worker, which says in one line of the log what its banner says."""

    # The stubs leave these out.
    app: Any
    hostname: str
    pool_cls: type
    concurrency: int

    def emit_banner(self) -> None:
        """Say what is started."""
        event(
            log,
            logging.INFO,
            "worker_starting",
            worker=self.hostname,
            version=version("langgraph-retention"),
            celery=version("celery"),
            broker=redact(self.app.conf.broker_read_url),
            queues=",".join(self.app.amqp.queues),
            pool=self.pool_cls.__module__.rpartition(".")[2],
            concurrency=self.concurrency,
        )


class LoggedBeat(Beat):
    """Celery's beat without its banner, which says what the log says after it."""

    def __init__(self, **options: Any) -> None:
        """Take Celery's own options."""
        super().__init__(**{**options, "quiet": True})


def write_lines(kind: str, addresses: Callable[[], Iterable[str]]) -> None:
    """Have Celery's programs in this process write their log as lines.

    Args:
        kind: ``kv`` or ``json``.
        addresses: Gives those whose passwords must not be shown, once the log is set up.
    """

    def begin(**_: object) -> None:
        # Celery takes this handler away when it sets its own up; it warns of root before that.
        early = logging.StreamHandler()
        early.setFormatter(LineFormatter(kind, tuple(addresses())))
        logging.getLogger().addHandler(early)
        logging.captureWarnings(True)

    def format_all(logger: logging.Logger, **_: object) -> None:
        formatter = LineFormatter(kind, tuple(addresses()), (task_said, task_at_work))
        pool = get_multiprocessing_logger()
        for handler in [*logger.handlers, *(pool.handlers if pool else ())]:
            handler.setFormatter(formatter)
        _say_in_lines(formatter)

    signals.celeryd_init.connect(begin, weak=False)
    # Celery itself chooses level and file; only the form of a line is ours.
    signals.after_setup_logger.connect(format_all, weak=False)
    signals.after_setup_task_logger.connect(format_all, weak=False)


def task_said(record: logging.LogRecord) -> Mapping[str, object] | None:
    """What Celery says of a task: its arguments and results are in the run log, not here."""
    data = getattr(record, "data", None)
    if not isinstance(data, dict) or not isinstance(record.msg, str):
        return None
    ids = {"task": data.get("name"), "task_id": data.get("id")}
    name = _task_events().get(record.msg.strip())
    if name is None:
        return ids
    told: dict[str, object] = {"event": name, **ids}
    if "runtime" in data:
        told["seconds"] = round(data["runtime"], 3)
    if "exc" in data:
        told["error"] = data["exc"]
    return told


def task_at_work(_: logging.LogRecord) -> Mapping[str, object] | None:
    """The task that this thread works on."""
    task: Any = get_current_task()
    if task is None or task.request.id is None:
        return None
    return {"task": task.name, "task_id": task.request.id}


def _task_events() -> dict[str, str]:
    """The name of each template of Celery's."""
    templates = {
        trace.LOG_RECEIVED: "task_received",
        trace.LOG_SUCCESS: "task_succeeded",
        trace.LOG_FAILURE: "task_failed",
        trace.LOG_IGNORED: "task_ignored",
        trace.LOG_REJECTED: "task_rejected",
        trace.LOG_RETRY: "task_retried",
    }
    return {template.strip(): name for template, name in templates.items()}


def _say_in_lines(formatter: logging.Formatter) -> None:
    """Have what Celery writes past the log, when it is told to end, written as a line as well."""

    def say(message: str, _stream: object = None) -> None:
        record = logging.LogRecord(
            celery_worker.__name__, logging.WARNING, __file__, 0, message, None, None
        )
        # Not through a handler: the signal may have come while this thread held its lock.
        with suppress(OSError):
            os.write(_STDERR, f"{formatter.format(record)}\n".encode())

    celery_worker.safe_say = say  # type: ignore[attr-defined] # the stubs leave it out
