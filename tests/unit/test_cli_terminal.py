"""The command at a terminal, in a pipe, and when somebody ends it."""

import json
import os
import pty
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from stores import open_store
from stores.options import now
from tests.commands import PROGRAM, command_on, environment, retention_process
from tests.seeding import seed_thread, seed_threads
from tests.waiting import eventually
from worker.cli.lines import one_line, scrub, span


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """A pseudo-terminal: our end, and the command's."""
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def read_all(terminal: int) -> str:
    """What was written to a terminal whose other end is closed."""
    read = b""
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # the way Linux says that the other end is gone
            return read.decode()
        if not piece:
            return read.decode()
        read += piece


def test_progress_is_shown_on_a_terminal_only(path: Path, folder: Path) -> None:
    arguments = ["sweep", "run", "--json", "--storage", str(path)]
    settings = environment(SWEEP_BATCH_SIZE="1", TERM="xterm", COLUMNS="200")
    with terminal() as (ours, theirs):
        done = subprocess.Popen(
            [*PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=theirs,
            cwd=folder,
            env=settings,
            text=True,
        )
        os.close(theirs)
        out, _ = done.communicate(timeout=60)
        shown = read_all(ours)
    assert done.returncode == 0
    assert json.loads(out)["swept_count"] == 5
    assert "sweeping" in shown
    assert "batches" in shown
    silent = retention_process(*arguments, folder=folder)
    assert "sweeping" not in silent.err


def test_a_reader_that_goes_away_is_no_error_worth_a_word(path: Path, folder: Path) -> None:
    with open_store(str(path)) as store:
        seed_threads(store.saver, "more", 3000, now() - timedelta(days=30))
    run_id = command_on(path, "sweep", "run", "--json").answer["run_id"]
    with subprocess.Popen(
        [*PROGRAM, "sweep", "history", run_id, "--threads", "--storage", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(),
    ) as history:
        assert history.stdout is not None
        assert history.stderr is not None
        history.stdout.close()
        assert history.stderr.read() == b""
    assert history.returncode == 1


def test_a_wild_thread_id_reaches_no_terminal(path: Path) -> None:
    wild = "line\n[red]\x1b[31m é"
    with open_store(str(path)) as store:
        seed_thread(store.saver, wild, now() - timedelta(days=30), interrupted=True)
    shown = command_on(path, "sweep", "run")
    assert "line\\n[red]\\x1b[31m é" in shown.out
    assert "\x1b" not in shown.out + shown.err
    listed = {t["thread_id"] for t in command_on(path, "sweep", "run", "--json").answer["spared"]}
    assert wild in listed


def test_a_sweep_in_this_process_needs_no_celery(path: Path, folder: Path) -> None:
    without = "import sys; sys.modules.update(celery=None, kombu=None); " + PROGRAM[-1]

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [*PROGRAM[:-1], without, *arguments]
        return subprocess.run(
            command, cwd=folder, env=environment(), capture_output=True, text=True, check=False
        )

    done = run("sweep", "run", "--json", "--storage", str(path))
    assert (done.returncode, json.loads(done.stdout)["swept_count"]) == (0, 5)
    start = run("sweep", "start", "--storage", str(path))
    assert start.returncode == 2
    assert "needs celery" in start.stderr


def test_sigint_ends_a_process_with_130_and_one_line(path: Path, folder: Path) -> None:
    settings = {
        "CELERY_BROKER_URL": f"filesystem://{folder / 'broker'}",
        "LLM_PROVIDER_CHECKPOINT": "sqlite",
        "LLM_PROVIDER_CHECKPOINT_CONN_STRING": str(path),
    }
    with subprocess.Popen(
        [*PROGRAM, "sweep", "start", "--wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(**settings),
        text=True,
    ) as start:
        messages = folder / "broker" / "messages"
        eventually(lambda: messages.exists() and list(messages.iterdir()), "a message")
        start.send_signal(signal.SIGINT)
        out, err = start.communicate(timeout=30)
    assert (start.returncode, out) == (130, "")
    assert err.count("\n") == 1
    assert "interrupted" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_sweep_that_is_told_to_end_leaves_nothing_for_the_next_to_wait_for(
    path: Path, folder: Path, number: signal.Signals
) -> None:
    with open_store(str(path)) as store:
        for thread in range(300):
            seed_thread(store.saver, f"more-{thread}", now() - timedelta(days=30))
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        with subprocess.Popen(
            [*PROGRAM, "sweep", "run", "--storage", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(SWEEP_BATCH_SIZE="1"),
            text=True,
        ) as run:
            count = "SELECT count(*) FROM retention_batches WHERE done_at IS NOT NULL"
            eventually(lambda: writer.execute(count).fetchone()[0] > 3, "batches at work")
            run.send_signal(number)
            out, err = run.communicate(timeout=30)
        left = writer.execute("SELECT count(DISTINCT thread_id) FROM checkpoints").fetchone()[0]
    assert left > 0, "the sweep was over before it was told to end"
    assert (run.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("retention: interrupted; what was deleted is recorded")
    assert "Traceback" not in err
    after = command_on(path, "sweep", "run", "--json")
    assert (after.status, after.answer["outcome"]) == (0, "completed")
    status = command_on(path, "sweep", "status", "--json").answer
    assert status["live"] is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0.0 s"), (0.04, "0.0 s"), (9.94, "9.9 s"), (60, "1 min"), (3_725, "1 h 2 min")],
)
def test_a_time_is_told_in_words(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_a_line_holds_no_password_however_a_driver_took_it_apart() -> None:
    address = "postgresql://user:se%63ret@/x@host/db"
    text = f"cannot reach {address}: host 'secret', part 'se%63ret', redis://:other@elsewhere/0"
    assert scrub(text, [address, ""]) == (
        "cannot reach postgresql://user:***@host/db: host '***', part '***', "
        "redis://:***@elsewhere/0"
    )
    example = "postgresql://user:password@host:5432/database is needed"
    assert scrub(example, []) == example


def test_a_line_is_one_line() -> None:
    assert one_line("a\n\tb\x1b[0m\x00") == "a b\\x1b[0m\\x00"
