"""The log of the worker and of the command, line by line."""

import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery, signals
from celery.app import trace
from celery.apps import worker as celery_worker

from retention.events import Event
from tests.logs import read_line, read_log
from worker.logs.lines import LineFormatter
from worker.logs.pool import task_at_work, task_said, write_lines

BOTH = pytest.mark.parametrize("kind", ["kv", "json"])
ADDRESS = "redis://:geheim@host:6379/0"


def record(message: object, *args: object, **more: Any) -> logging.LogRecord:
    """A record of a library that is not set to DEBUG."""
    made = logging.LogRecord("lib", logging.WARNING, __file__, 1, message, args, None)
    made.created = 1_700_000_000.25
    made.__dict__.update(more)
    return made


def raised() -> tuple[Any, Any, Any]:
    """What a handler of an exception is given."""
    try:
        raise ValueError(f"no\nanswer from {ADDRESS}")
    except ValueError:
        return sys.exc_info()


@BOTH
def test_an_event_begins_with_its_time_level_and_name(kind: str) -> None:
    line = LineFormatter(kind).format(record(Event("thread_spared", {"run": "r", "batch": 0})))
    fields = read_line(line)
    assert list(fields) == ["time", "level", "event", "run", "batch", "logger"]
    assert {name: str(value) for name, value in fields.items()} == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "WARNING",
        "event": "thread_spared",
        "run": "r",
        "batch": "0",
        "logger": "lib",
    }


@BOTH
@pytest.mark.parametrize(
    "thread",
    [
        'x\ntime=2026-01-01T00:00:00.000Z level=ERROR event=thread_failed thread="y"',
        '"} \n{"time": "2026", "level": "ERROR", "event": "forged"}',
        "x event=forged",
        "\u2028\x85\x1b[31m\ud800",
    ],
)
def test_a_thread_id_forges_no_event(kind: str, thread: str) -> None:
    line = LineFormatter(kind).format(record(Event("thread_spared", {"thread": thread})))
    (fields,) = read_log(line)
    assert (fields["event"], fields["thread"]) == ("thread_spared", thread)
    assert line.isprintable()


def test_no_field_of_an_event_stands_in_for_its_time_or_level() -> None:
    odd = Event("x", {"time": "never", "level": "NONE", "logger": "nobody"})
    fields = read_line(LineFormatter("kv").format(record(odd)))
    assert (fields["time"][:4], fields["level"], fields["logger"]) == ("2023", "WARNING", "lib")


@BOTH
def test_a_librarys_words_are_a_message_without_passwords(kind: str) -> None:
    formatter = LineFormatter(kind, [ADDRESS])
    fields = read_line(formatter.format(record("a %s\nb %s", "geheim", "amqp://u:other@h//")))
    assert (fields["event"], fields["message"]) == ("log", "a ***\nb amqp://u:***@h//")


def test_ids_are_exact_even_where_a_password_is_a_word_of_theirs() -> None:
    formatter = LineFormatter("kv", ["postgresql://u:order@h/db"])
    line = formatter.format(record(Event("x", {"thread": "order-1", "error": "order refused"})))
    fields = read_line(line)
    assert (fields["thread"], fields["error"]) == ("order-1", "*** refused")


def test_a_template_that_does_not_fit_loses_no_line() -> None:
    assert read_line(LineFormatter("kv").format(record("%d and %d", 1)))["message"] == "%d and %d"


def test_a_long_text_is_cut() -> None:
    message = read_line(LineFormatter("kv").format(record("x" * 100_000)))["message"]
    assert (len(message), message[-1]) == (8193, "…")


@BOTH
@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_an_exception_is_one_line_and_its_traceback_is_for_debug(kind: str, level: int) -> None:
    logging.getLogger("lib").setLevel(level)
    fields = read_line(LineFormatter(kind, [ADDRESS]).format(record("died", exc_info=raised())))
    assert fields["error"] == "ValueError: no\nanswer from redis://:***@host:6379/0"
    assert ("traceback" in fields) == (level == logging.DEBUG)
    assert "geheim" not in str(fields)
    assert "Traceback" in fields.get("traceback", "Traceback")


def test_an_error_that_an_event_names_is_not_said_twice() -> None:
    said = record(Event("run_failed", {"error": "why"}), exc_info=raised())
    assert read_line(LineFormatter("kv").format(said))["error"] == "why"
    assert "error" not in read_line(LineFormatter("kv").format(record("x", exc_info=(None,) * 3)))


@pytest.mark.parametrize(
    ("template", "name", "data", "more"),
    [
        (trace.LOG_RECEIVED, "task_received", {}, {}),
        (trace.LOG_SUCCESS, "task_succeeded", {"runtime": 1.23456}, {"seconds": 1.235}),
        (trace.LOG_FAILURE.strip(), "task_failed", {"exc": "KeyError()"}, {"error": "KeyError()"}),
    ],
)
def test_what_celery_says_of_a_task_is_an_event(
    template: str, name: str, data: dict[str, object], more: dict[str, object]
) -> None:
    told = {"id": "t-1", "name": "retention.sweep", "args": "secret", "return_value": "secret"}
    found = task_said(record(template, data=told | data))
    assert found == {"event": name, "task": "retention.sweep", "task_id": "t-1", **more}


def test_other_words_about_a_task_keep_its_ids() -> None:
    assert task_said(record("x")) is None
    assert task_said(record("x", data={"id": "t", "name": "n"})) == {"task": "n", "task_id": "t"}


def test_a_line_within_a_task_has_its_name_and_id() -> None:
    app = Celery("tests", set_as_current=False)
    seen: list[dict[str, Any]] = []

    @app.task(name="tests.work")
    def work() -> None:
        formatter = LineFormatter("kv", (), (task_said, task_at_work))
        seen.append(read_line(formatter.format(record(Event("batch_done", {"run": "r"})))))

    task_id = work.apply().id
    assert (seen[0]["task"], seen[0]["task_id"]) == ("tests.work", task_id)
    assert task_at_work(record("x")) is None


def own_logger() -> logging.Logger:
    """A logger that pytest's handlers know nothing of."""
    logger = logging.Logger("celery")  # noqa: LOG001 - a test of forms must not change pytest's
    logger.addHandler(logging.StreamHandler())
    return logger


@pytest.fixture
def pool_log(monkeypatch: pytest.MonkeyPatch) -> logging.Logger:
    """What the processes of a pool write to."""
    logger = own_logger()
    monkeypatch.setattr("worker.logs.pool.get_multiprocessing_logger", lambda: logger)
    return logger


@pytest.fixture
def celery_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """A logger as Celery has set it up, told of our form."""
    monkeypatch.setattr(celery_worker, "safe_say", None)
    for signal in (signals.celeryd_init, signals.after_setup_logger):
        monkeypatch.setattr(signal, "receivers", [])
    monkeypatch.setattr(signals.after_setup_task_logger, "receivers", [])
    write_lines("json", lambda: [ADDRESS])
    yield own_logger()
    logging.captureWarnings(False)


def test_celery_writes_lines_from_its_start_to_its_end(
    celery_log: logging.Logger, pool_log: logging.Logger, capfd: pytest.CaptureFixture[str]
) -> None:
    signals.celeryd_init.send(sender="w")
    early = logging.getLogger().handlers.pop()
    assert read_line(early.format(record("root?\nno")))["message"] == "root?\nno"
    signals.after_setup_logger.send(sender=None, logger=celery_log)
    for handler in [*celery_log.handlers, *pool_log.handlers]:
        fields = read_line(handler.format(record("at %s", ADDRESS)))
        assert fields["message"] == "at redis://:***@host:6379/0"
    say("worker: Warm shutdown", sys.__stdout__)
    (fields,) = read_log(capfd.readouterr().err)
    assert (fields["event"], fields["message"]) == ("log", "worker: Warm shutdown")


def test_a_last_word_that_cannot_be_written_ends_nothing(
    celery_log: logging.Logger, pool_log: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    signals.after_setup_task_logger.send(sender=None, logger=celery_log)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        say("worker: Warm shutdown")


def say(*words: object) -> None:
    """What Celery calls in the handler of a signal."""
    celery_worker.safe_say(*words)  # type: ignore[attr-defined] # the stubs leave it out
