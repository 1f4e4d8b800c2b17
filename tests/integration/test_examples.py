"""Each example runs on each store, sync and async, and does what it says."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from examples import agent_run, conversation, flow_run

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = {"sync": [], "async": ["--async"]}

#: What each example prints, a thread id being any.
PRINTED = {
    "agent_run": [
        r"[0-9a-f-]{36}: finished, due at \d{4}-.*",
        r"[0-9a-f-]{36}: waits, marked at None",
        r"approved: yes",
    ],
    "conversation": [rf"[0-9a-f-]{{36}}: {lines} lines, marked at None" for lines in (2, 4, 6)],
    "flow_run": [
        r"[0-9a-f-]{36}: waits",
        r"writer-[0-9a-f-]{36}: waits",
        r"[0-9a-f-]{36}: finished",
        r"writer-[0-9a-f-]{36}: finished",
    ],
}
PROGRAMS: dict[str, Callable[[list[str]], None]] = {
    "agent_run": agent_run.main,
    "conversation": conversation.main,
    "flow_run": flow_run.main,
}


def check(name: str, printed: str) -> None:
    """Hold what an example printed against what it should print, in any order of threads."""
    lines = printed.splitlines()
    assert len(lines) == len(PRINTED[name])
    for wanted in PRINTED[name]:
        assert any(re.fullmatch(wanted, line) for line in lines), (wanted, lines)


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_does_what_it_says(
    name: str, owner_address: str, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    PROGRAMS[name](["--store", owner_address, *OPTIONS[mode]])
    check(name, capsys.readouterr().out)


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_can_be_run_from_the_checkout(name: str) -> None:
    command = [sys.executable, "-m", f"examples.{name}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    check(name, done.stdout)


def test_each_kind_of_owner_has_an_example() -> None:
    shared = {"__init__", "letters"}
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} - shared == set(PROGRAMS)
