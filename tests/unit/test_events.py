"""Whatever a field holds, an event is one line that says what it said."""

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retention.events import Event, event, quoted
from retention.runs import RunOutcome
from tests.logs import read_line

log = logging.getLogger("retention.tests")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("order-1001", "order-1001"),
        ("naïve-線", "naïve-線"),
        ("", '""'),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ("it's", '"it\'s"'),
        ('say "no"', r'"say \"no\""'),
        ("back\\slash", r'"back\\slash"'),
        ("a\nlevel=ERROR event=forged", r'"a\nlevel=ERROR event=forged"'),
        ("a\r\x1b[2J\x00", r'"a\r\u001b[2J\u0000"'),
        ("\u2028\u0085\u202e", r'"\u2028\u0085\u202e"'),
        ("\ud800", r'"\ud800"'),
        ("\U000e0001", r'"\udb40\udc01"'),
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (0.5, "0.5"),
        (RunOutcome.PARTIAL, "partial"),
        (ValueError("too\nmuch"), r'"ValueError: too\nmuch"'),
        (ValueError(), "ValueError"),
    ],
)
def test_each_value_is_written_so_that_it_can_be_read_back(value: object, written: str) -> None:
    assert quoted(value) == written


@given(st.text(), st.text())
def test_any_text_stays_one_line_and_comes_back_whole(first: str, second: str) -> None:
    line = str(Event("thread_spared", {"thread": first, "owner": second}))
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    name, _, fields = line.partition(" ")
    assert (name, read_line(fields)) == ("thread_spared", {"thread": first, "owner": second})


def test_an_application_without_our_formatter_reads_the_same_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, log.name):
        event(log, logging.WARNING, "thread_spared", run="r", thread="a b")
        event(log, logging.INFO, "bare")
    assert caplog.messages == ['thread_spared run=r thread="a b"', "bare"]
    assert [(r.levelname, r.exc_info, r.funcName) for r in caplog.records] == [
        ("WARNING", None, "test_an_application_without_our_formatter_reads_the_same_words"),
        ("INFO", None, "test_an_application_without_our_formatter_reads_the_same_words"),
    ]


def test_a_traceback_is_kept_for_whoever_looks_for_a_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = ValueError("broken")
    event(log, logging.ERROR, "run_failed", trace=error, error=error)
    (record,) = caplog.records
    assert record.getMessage() == 'run_failed error="ValueError: broken"'
    assert record.exc_info is not None
    assert record.exc_info[1] is error


def test_a_quoted_value_is_json() -> None:
    text = "".join(map(chr, range(0x300)))
    assert json.loads(quoted(text)) == text
