"""How a process that sweeps stands back."""

import gc
import os
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.commands import environment
from worker.background import stand_back
from worker.settings import SweepSettings


def _niceness(wanted: int, already: int) -> tuple[int, int, int]:
    os.nice(already)
    stand_back(wanted)
    return os.getpriority(os.PRIO_PROCESS, 0), gc.get_freeze_count(), gc.get_threshold()[0]


@pytest.mark.parametrize(("wanted", "already", "found"), [(10, 0, 10), (5, 7, 7), (0, 0, 0)])
def test_a_process_stands_back_and_never_forward(wanted: int, already: int, found: int) -> None:
    """In a process of its own: only root may take a niceness back."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with get_context("spawn").Pool(1) as pool:
        nice, frozen, threshold = pool.apply(_niceness, (wanted, already))
    assert nice == min(19, max(before + already, found))
    assert frozen > 0
    assert threshold > 700


def test_where_there_is_no_niceness_the_rest_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "setpriority")
    before = gc.get_threshold()
    try:
        stand_back(10)
        assert gc.get_threshold()[0] > before[0]
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def test_ten_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SWEEP_NICE", raising=False)
    assert SweepSettings().nice == 10


def test_each_process_of_a_worker_does_so(tmp_path: Path) -> None:
    """As Celery tells it that it begins."""
    program = (
        "import gc, os; from celery import signals; from worker.app import command_app; "
        "app = command_app(); signals.worker_process_init.send(None); "
        "print(os.getpriority(os.PRIO_PROCESS, 0), gc.get_freeze_count() > 10_000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment(SWEEP_NICE="19", CELERY_BROKER_URL=f"filesystem://{tmp_path}/queue"),
        timeout=60,
    )
    assert done.stdout == "19 True\n"
