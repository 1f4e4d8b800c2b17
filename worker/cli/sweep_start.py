"""``retention sweep start``: a sweep on the worker pool."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retention.errors import (
    ConfigurationError,
    RetentionError,
    StoreError,
    StoreUnavailableError,
)
from retention.sweep import Sweep
from stores import Access
from stores.address import sqlite_path
from worker.cli.exit_status import ExitStatus, status_of
from worker.cli.failures import InterruptedCommandError, say
from worker.cli.invocation import Invocation, common_options, pass_invocation, sweep_options
from worker.cli.opening import opened
from worker.cli.printing import print_json, print_line
from worker.cli.progress import ProgressBar
from worker.cli.results import show_result
from worker.cli.sweep_status import live_run
from worker.settings import StoreSettings, redact

if TYPE_CHECKING:
    from worker.app import RetentionApp
    from worker.results import JsonResult

_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 10.0


@click.command()
@click.option("--wait", is_flag=True, help="Stay until the sweep is over, and answer as run does.")
@sweep_options
@common_options
@pass_invocation
def start(invocation: Invocation, wait: bool, dry_run: bool, allow_over_limit: bool) -> ExitStatus:
    """Have the workers sweep their store; print the id of the run."""
    app = _app(invocation)
    run_id = _send(invocation, app, dry_run=dry_run, allow_over_limit=allow_over_limit)
    if not wait:
        if invocation.as_json:
            print_json({"run_id": run_id})
        else:
            print_line(run_id)
        return ExitStatus.DONE
    result = _result(invocation, app, run_id)
    if invocation.as_json:
        print_json(result)
    else:
        show_result(result)
    return status_of(result["outcome"])


def _app(invocation: Invocation) -> "RetentionApp":
    # Celery is needed for this command alone.
    from worker.app import make_app

    app = make_app()
    invocation.addresses += [app.conf.broker_read_url, app.conf.result_backend or ""]
    return app


def _send(invocation: Invocation, app: "RetentionApp", **arguments: bool) -> str:
    """Send the task; the worker refuses it where it was started for another store.

    Raises:
        StoreUnavailableError: The broker, or the backend that is to tell of the result, is away.
    """
    from worker.celery_config import SWEEP_TASK
    from worker.dispatch import BROKER_ERRORS

    store = None if invocation.storage is None else _address(invocation.store())
    try:
        sent = app.send_task(SWEEP_TASK, kwargs={**arguments, "store": store})
    except BROKER_ERRORS as error:
        broker = redact(app.conf.broker_read_url)
        raise StoreUnavailableError(f"the broker {broker} cannot be reached: {error}") from error
    except RuntimeError as error:
        # So Celery tells a lost result backend; its advice is for a worker.
        backend = redact(app.conf.result_backend)
        raise StoreUnavailableError(f"the result backend {backend} cannot be reached") from error
    return str(sent.id)


def _address(store: StoreSettings) -> str:
    """The address as a worker in another folder reads it, without its password."""
    if store.provider == "sqlite":
        return str(Path(sqlite_path(store.address)).absolute())
    return redact(store.address)


def _result(invocation: Invocation, app: "RetentionApp", run_id: str) -> dict[str, Any]:
    try:
        with _follower(invocation, run_id) as follow:
            _wait(invocation, app.AsyncResult(run_id), follow)
        return _answer(app.AsyncResult(run_id))
    except KeyboardInterrupt:
        raise InterruptedCommandError(
            f"interrupted; run {run_id} goes on: `retention sweep status` shows how far it is"
        ) from None


def _wait(invocation: Invocation, result: "JsonResult", follow: Callable[[], None]) -> None:
    patient_until: float | None = time.monotonic() + _PATIENCE_SECONDS
    while not result.ready():
        follow()
        time.sleep(_POLL_SECONDS)
        if patient_until is not None and time.monotonic() > patient_until:
            patient_until = None
            if result.state == "PENDING":
                say("no worker has taken the sweep up yet; still waiting", invocation)


def _answer(result: "JsonResult") -> dict[str, Any]:
    """The result of the run.

    Raises:
        RetentionError: What ended the task.
    """
    value = result.result
    if isinstance(value, dict):
        return value
    if isinstance(value, RetentionError):
        raise value
    raise RetentionError(f"the task ended as {result.state}: {value}")


@contextmanager
def _follower(invocation: Invocation, run_id: str) -> Iterator[Callable[[], None]]:
    """Give what looks how far the run is; nothing where the pool's store is out of reach here."""
    with ExitStack() as stack:
        try:
            sweep = stack.enter_context(opened(invocation, Access.READ))
        except RetentionError:
            yield lambda: None
            return
        is_shown = sys.stderr.isatty()
        bar = ProgressBar("threads", f"waiting for run {run_id}") if is_shown else None
        yield _Follower(sweep, run_id, bar and stack.enter_context(bar)).look


@dataclass(slots=True)
class _Follower:
    sweep: Sweep
    run_id: str
    bar: ProgressBar | None
    is_known: bool = False

    def look(self) -> None:
        """Show how far the run is.

        Raises:
            StoreError: Its record is gone, so that nobody will tell how it ended.
        """
        with suppress(StoreUnavailableError, ConfigurationError):
            run = self.sweep.store.runs.get(self.run_id)
            if run is None and self.is_known:
                raise StoreError(
                    f"the record of run {self.run_id!r} is gone: the store was emptied, or lost "
                    "data, under it"
                )
            self.is_known = run is not None
            if self.bar is not None and run is not None and run.closed_at is None:
                done = live_run(self.sweep, run).done
                self.bar.show(f"run {self.run_id}: {run.state}", done, run.planned or None)
