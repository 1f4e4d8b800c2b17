"""The Celery app. Nothing is read before one of the functions here is called."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from types import TracebackType
from typing import Any

from celery import Celery, signals
from celery.apps.beat import Beat
from celery.apps.worker import Worker
from kombu.exceptions import KombuError

from retention.errors import ConfigurationError, RetentionError
from worker import brokers, tasks
from worker.background import stand_back
from worker.celery_config import celery_options
from worker.dispatch import CeleryDispatch
from worker.flower_access import check_access, flower_options
from worker.logs.pool import LoggedBeat, LoggedWorker, write_lines
from worker.process import ProcessSweep
from worker.results import JsonResult
from worker.settings import (
    BrokerSettings,
    SweepSettings,
    load_broker_settings,
    load_sweep_settings,
)

NAME = "retention"
"""The name of the app."""


class RetentionApp(Celery[Any]):
    """Celery with the tasks of this project, and the sweep that they share."""

    def __init__(self, broker: BrokerSettings, sweep: SweepSettings) -> None:
        """Make the app; nothing is connected.

        Raises:
            ConfigurationError: A folder of the filesystem broker cannot be created.
        """
        super().__init__(NAME)
        brokers.prepare(broker)
        self.conf.update(celery_options(broker, sweep))
        # Celery lets its variables win over its configuration; these were checked, they were not.
        self.conf.update(broker_read_url=broker.broker_url, broker_write_url=broker.broker_url)
        self.backend_cls = broker.result_backend
        self.log_format = sweep.log_format
        self.nice = sweep.nice
        self._gateway = sweep.pushgateway_url
        self.process = ProcessSweep(sweep, CeleryDispatch(self))
        tasks.register(self, self.process)

    @cached_property
    def Worker(self) -> type[Worker]:  # noqa: N802 - the name is Celery's
        """The class of workers."""
        made: type[Worker] = self.subclass_with_self(LoggedWorker)
        return made

    @cached_property
    def Beat(self) -> type[Beat]:  # noqa: N802 - the name is Celery's
        """The class of beats."""
        made: type[Beat] = self.subclass_with_self(LoggedBeat)
        return made

    @cached_property
    def AsyncResult(self) -> type[JsonResult]:  # noqa: N802 - the name is Celery's
        """The class of results; Celery's own, but for the text of an object."""
        result: type[JsonResult] = self.subclass_with_self(JsonResult)
        return result

    def addresses(self) -> list[str]:
        """Every address that may hold a password: no log line shows it."""
        found = [self.conf.broker_read_url, self.conf.result_backend, self._gateway]
        # Beat needs no store, and a worker has checked its own by now.
        with suppress(ConfigurationError):
            found.append(self.process.store.address)
        return [address for address in found if address]


def make_app() -> RetentionApp:
    """Make the app from the settings in force; the store's are not read.

    Raises:
        ConfigurationError: A setting of the broker or the sweep is wrong.
    """
    return RetentionApp(load_broker_settings(), load_sweep_settings())


def command_app() -> RetentionApp:
    """Make the app of a `celery -A worker` command.

    A worker that starts checks its store first. A wrong setting ends the process with status 2,
    and a store that cannot be opened with 1; each says why in one line.
    """
    with _one_line():
        app = make_app()
    write_lines(app.log_format, app.addresses)
    _check_store_at_start(app)
    _check_flower_at_start()
    # `celery call` and `celery result` let every error through to here, with its traceback.
    sys.excepthook = _report
    return app


def _check_store_at_start(app: RetentionApp) -> None:
    def check(**_: object) -> None:
        # Celery logs what a signal's receiver raises and goes on; it lets an exit pass.
        with _one_line():
            app.process.check()

    def begin(**_: object) -> None:
        stand_back(app.nice)

    def close(**_: object) -> None:
        app.process.close()

    signals.celeryd_init.connect(check, weak=False)
    signals.worker_process_init.connect(_end_in_order, weak=False)
    signals.worker_process_init.connect(begin, weak=False)
    signals.worker_process_shutdown.connect(close, weak=False)
    # In the pools that do not fork, tasks run in the worker's own process.
    signals.worker_shutdown.connect(close, weak=False)


def _end_in_order(**_: object) -> None:
    """Let a child that is told to end, in the middle of a batch, give its claim back first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def _check_flower_at_start() -> None:
    def check(**_: object) -> None:
        options = flower_options()
        if options is not None:
            with _one_line():
                check_access(options)

    # Flower has read its options by then, and listens only after.
    signals.import_modules.connect(check, weak=False)


@contextmanager
def _one_line() -> Iterator[None]:
    try:
        yield
    except RetentionError as error:
        _say(error)
        raise SystemExit(2 if isinstance(error, ConfigurationError) else 1) from None


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say in one line what a person can mend; anything else is a fault, with its traceback."""
    refused = next((cause for cause in _chain(error) if isinstance(cause, OSError)), None)
    if isinstance(error, RetentionError):
        _say(error)
    elif refused is not None or isinstance(error, KombuError):
        _say(f"no answer from the broker or the result backend: {refused or error}")
    else:
        sys.__excepthook__(kind, error, trace)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _say(what: object) -> None:
    sys.stderr.write(f"retention: {' '.join(str(what).split())}\n")
