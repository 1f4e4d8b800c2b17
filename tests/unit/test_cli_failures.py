"""The ways out of the command that a person seldom meets."""

import io
import json
import logging
import sys
from pathlib import Path
from typing import Any

import click
import pytest

import worker.cli
from retention.errors import StoreUnavailableError
from tests.commands import command_on, retention_command
from tests.logs import read_log
from worker.cli.failures import guarded
from worker.cli.invocation import Invocation
from worker.cli.logs import log_to_stderr
from worker.demo import Outcome


@pytest.mark.parametrize(
    ("error", "line", "status"),
    [
        (StoreUnavailableError("it is away"), "it is away", 1),
        (click.Abort(), "interrupted", 130),
        (click.ClickException("no such\nfile"), "no such file", 1),
        (OSError(28, "No space left on device"), "output: No space left on device", 1),
        (PermissionError(13, "Permission denied", ".env"), ".env: Permission denied", 1),
    ],
)
def test_each_error_has_its_line_and_status(
    error: Exception, line: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> int:
        raise error

    assert guarded(fails, Invocation()) == status
    assert capsys.readouterr() == ("", f"retention: {line}\n")


def test_a_reader_that_is_gone_is_no_error_worth_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Gone(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Gone())
    assert guarded(lambda: 0, Invocation()) == 1
    assert capsys.readouterr().err == ""


def test_a_log_line_is_one_line_without_a_password(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log_to_stderr(Invocation(addresses=["redis://:geheim@host"]))
    logging.getLogger("retention.sweep").warning("first %s\nsecond", "geheim")
    logging.getLogger("celery.redirected").error("a library's own word")
    (fields,) = read_log(capsys.readouterr().err)
    assert (fields["level"], fields["message"]) == ("WARNING", "first ***\nsecond")
    assert fields["logger"] == "retention.sweep"


def test_log_lines_are_json_where_that_is_set(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEP_LOG_FORMAT", "json")
    log_to_stderr(Invocation())
    logging.getLogger("retention.sweep").warning("said")
    assert json.loads(capsys.readouterr().err)["message"] == "said"


def test_a_wrong_format_loses_no_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that reads the settings refuses it; until then the default holds."""
    monkeypatch.setenv("SWEEP_LOG_FORMAT", "xml")
    log_to_stderr(Invocation())
    logging.getLogger("retention.sweep").warning("said")
    assert read_log(capsys.readouterr().err)[0]["message"] == "said"
    refused = command_on(folder / "a.db", "sweep", "status").err
    assert "SWEEP_LOG_FORMAT='xml' is refused: kv (key=value) or json is needed" in refused


def test_a_log_line_that_cannot_be_written_ends_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    log_to_stderr(Invocation())
    monkeypatch.setattr(logging, "raiseExceptions", False)
    monkeypatch.setattr(sys, "stderr", Full())
    logging.getLogger("retention.sweep").warning("lost")


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "worker.cli.program", None)
    with pytest.raises(SystemExit) as left:
        worker.cli.main()
    assert left.value.code == 2
    assert "pip install 'langgraph-retention[worker]'" in capsys.readouterr().err


def test_an_interrupt_while_it_starts_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("worker.cli.program.retention", interrupted)
    with pytest.raises(SystemExit) as left:
        worker.cli.main()
    assert left.value.code == 130
    assert capsys.readouterr().err == "retention: interrupted\n"


def test_the_demo_without_its_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "worker.demo", None)
    ran = retention_command("demo")
    assert ran.status == 2
    assert "langgraph-retention[all,demo]" in ran.err


def test_a_demo_that_went_wrong_says_what_and_leaves_with_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def went_wrong(_: object) -> Outcome:
        result: dict[str, Any] = {"outcome": "partial"}
        return Outcome(result, [], ["drafted"], ["chat-ana was kept"])

    monkeypatch.setattr("worker.demo.run_demo", went_wrong)
    ran = retention_command("demo", "--json")
    assert (ran.status, ran.answer["problems"]) == (1, ["chat-ana was kept"])
    assert "the demo went wrong: chat-ana was kept" in ran.err


def test_help_and_version_leave_with_0() -> None:
    assert retention_command("--help").status == 0
    assert retention_command("sweep", "run", "--help").out.startswith("Usage: retention sweep run")
    assert "0." in retention_command("--version").out
    assert retention_command().status == 2
