"""The demonstration on a machine without any server: it works, says why, and leaves nothing."""

import re
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.commands import PROGRAM, Ran, environment, retention_process
from tests.waiting import eventually
from worker.demo.threads import THREADS


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """Where the demonstration makes its folder: a path with blanks, so that those work too."""
    path = tmp_path / "a temporary folder"
    path.mkdir()
    return path


def demo(temporary: Path, *arguments: str, **settings: str) -> Ran:
    """Run the demonstration to its end."""
    settings |= {"TMPDIR": str(temporary)}
    return retention_process("demo", *arguments, folder=temporary.parent, settings=settings)


def processes_in(folder: Path) -> list[psutil.Process]:
    """The processes that work below a folder."""
    running = psutil.process_iter(["cwd"])
    return [process for process in running if (process.info["cwd"] or "").startswith(str(folder))]


def rows(out: str) -> dict[str, list[str]]:
    """The rows of the table, by thread: the cells after the id."""
    cells = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines()]
    known = {thread.thread_id for thread in THREADS}
    return {row[0]: row[1:] for row in cells if row[0] in known and "->" in " ".join(row)}


def test_the_demo_sweeps_and_shows_what_went_what_stayed_and_why(temporary: Path) -> None:
    ran = demo(temporary)
    assert ran.status == 0, ran.err
    table = rows(ran.out)
    assert {thread_id: row[2] for thread_id, row in table.items()} == {
        "order-1001": "deleted",
        "order-1002": "kept",
        "chat-ana": "deleted",
        "chat-ben": "kept",
        "chat-cleo": "kept",
        "guest-17": "deleted",
        "approval-7": "kept",
        "import-3": "kept",
    }
    for row in table.values():
        before, after = row[1].split(" -> ")
        assert after == ("0" if row[2] == "deleted" else before)
    assert "flows-engine" in table["approval-7"][3]
    assert "was resumed after the sweep: drafted, approval: yes, sent" in ran.out
    assert re.search(r"outcome\s+completed", ran.out)
    assert "export LLM_PROVIDER_CHECKPOINT=postgres" in ran.out
    assert "celery -A worker call retention.sweep" in ran.err
    assert list(temporary.iterdir()) == []
    assert processes_in(temporary) == []


def test_two_demos_at_once_do_not_meet_whatever_the_environment_sets(temporary: Path) -> None:
    settings = {
        "TMPDIR": str(temporary),
        "LLM_PROVIDER_CHECKPOINT": "postgres",
        "LLM_PROVIDER_CHECKPOINT_RETENTION_WAITING_MINUTES": "1",
        "CELERY_BROKER_URL": "redis://nowhere.invalid",
        "SWEEP_FILTERS": "null",
    }
    started = [
        subprocess.Popen(
            [*PROGRAM, "demo", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=temporary.parent,
            env=environment(**settings),
            text=True,
        )
        for _ in range(2)
    ]
    for process in started:
        out, err = process.communicate(timeout=180)
        ran = Ran(process.returncode, out, err)
        assert ran.status == 0, err
        assert ran.answer["problems"] == []
        assert ran.answer["result"]["swept_count"] == 3
        assert all(row["as_expected"] for row in ran.answer["threads"])
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_ended_leaves_nothing_behind(
    temporary: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [*PROGRAM, "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=temporary.parent,
        env=environment(TMPDIR=str(temporary)),
        text=True,
    ) as process:
        eventually(lambda: processes_in(temporary), "a worker in the demo's folder")
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith("retention: interrupted\n")
    assert list(temporary.iterdir()) == []
    assert processes_in(temporary) == []


def test_a_worker_that_does_not_start_is_told_with_its_log(temporary: Path) -> None:
    broken = temporary.parent / "broken"
    (broken / "celery").mkdir(parents=True)
    (broken / "celery" / "__init__.py").write_text("raise SystemExit('celery is broken here')\n")
    ran = demo(temporary, PYTHONPATH=str(broken))
    assert ran.status == 1
    assert "the worker ended with status 1" in ran.err
    assert "celery is broken here" in ran.err
    assert "Traceback" not in ran.err
    assert list(temporary.iterdir()) == []
