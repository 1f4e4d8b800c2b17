"""The app of `celery -A worker`: made when it is asked for, and silent about tracebacks."""

import subprocess
import sys
from pathlib import Path

import pytest
from kombu.exceptions import OperationalError

import worker
from retention.errors import ConfigurationError, StoreUnavailableError
from worker import app as worker_app

ROOT = Path(__file__).resolve().parents[2]


def test_importing_the_wiring_reads_and_builds_nothing(tmp_path: Path) -> None:
    """The `retention` command needs no broker."""
    code = (
        "import sys, worker, worker.wiring\n"
        "assert not {'worker.app', 'celery.app.base'} & set(sys.modules), 'the app was built'"
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, check=True
    )


def test_a_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        getattr(worker, "nonsense")  # noqa: B009 - mypy knows that it is not there


@pytest.mark.parametrize(
    ("error", "status"), [(ConfigurationError("wrong\nvalue"), 2), (StoreUnavailableError("x"), 1)]
)
def test_an_error_of_ours_ends_a_command_with_one_line(
    error: Exception,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(worker_app, "make_app", fail)
    with pytest.raises(SystemExit) as ended:
        worker_app.command_app()
    assert ended.value.code == status
    assert capsys.readouterr().err == f"retention: {' '.join(str(error).split())}\n"


def caused(error: Exception, cause: Exception) -> Exception:
    """An error that another one led to."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ConfigurationError("dry_run"), "retention: dry_run\n"),
        (
            caused(RuntimeError("retry limit"), ConnectionRefusedError("refused")),
            "retention: no answer from the broker or the result backend: refused\n",
        ),
        (
            OperationalError("shut"),
            "retention: no answer from the broker or the result backend: shut\n",
        ),
    ],
)
def test_what_a_person_can_mend_is_reported_in_one_line(
    error: Exception, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    worker_app._report(type(error), error, None)
    assert capsys.readouterr().err == line


def test_a_fault_of_ours_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    worker_app._report(ZeroDivisionError, ZeroDivisionError("oh"), None)
    assert "ZeroDivisionError: oh" in capsys.readouterr().err
