"""One sweep for each process, whatever the pool."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from retention.errors import ConfigurationError, StoreUnavailableError
from retention.sweep import Dispatch, Sweep, SweepOptions
from worker.process import ProcessSweep
from worker.settings import StoreSettings, SweepSettings, load_sweep_settings


class Opener:
    """Counts how often the store is opened and closed."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.opened = 0
        self.closed = 0

    @contextmanager
    def __call__(
        self, store: StoreSettings, sweep: SweepSettings, dispatch: Dispatch
    ) -> Iterator[Sweep]:
        if self.failures:
            raise self.failures.pop(0)
        self.opened += 1
        opened = SimpleNamespace(store=SimpleNamespace(managed=None), options=SweepOptions())
        yield cast(Sweep, opened)
        self.closed += 1


@pytest.fixture(autouse=True)
def store_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A store in the environment, and no `.env`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_PROVIDER_CHECKPOINT", "sqlite")
    monkeypatch.setenv("LLM_PROVIDER_CHECKPOINT_CONN_STRING", "x.db")


def process(opener: Any) -> ProcessSweep:
    """A process's sweep that has opened nothing yet."""
    return ProcessSweep(load_sweep_settings({}, None), cast(Dispatch, None), opener)


def test_all_threads_of_a_process_share_one_store() -> None:
    opener = Opener()
    shared = process(opener)
    seen: list[Sweep] = []
    threads = [threading.Thread(target=lambda: seen.append(shared.get())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert len({id(sweep) for sweep in seen}) == 1
    assert opener.opened == 1


def test_a_forked_child_opens_its_own_and_leaves_its_parents_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opener = Opener()
    shared = process(opener)
    before = shared.get()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert shared.get() is not before
    assert (opener.opened, opener.closed) == (2, 0)


def test_where_opening_fails_the_next_task_tries_again() -> None:
    opener = Opener(StoreUnavailableError("away"))
    shared = process(opener)
    with pytest.raises(StoreUnavailableError):
        shared.get()
    assert shared.get() is shared.get()


def test_closing_closes_once_and_a_later_task_opens_again() -> None:
    opener = Opener()
    shared = process(opener)
    shared.close()
    shared.get()
    shared.close()
    shared.close()
    assert (opener.opened, opener.closed) == (1, 1)
    shared.get()
    assert opener.opened == 2


def test_a_child_does_not_close_what_its_parent_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opener = Opener()
    shared = process(opener)
    shared.get()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    shared.close()
    assert opener.closed == 0


def test_the_check_at_start_leaves_nothing_open() -> None:
    opener = Opener()
    process(opener).check()
    assert (opener.opened, opener.closed) == (1, 1)


def test_settings_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that starts later must not sweep another store than its siblings."""
    shared = process(Opener())
    before = shared.store
    monkeypatch.setenv("LLM_PROVIDER_CHECKPOINT_CONN_STRING", "other.db")
    assert shared.store is before


def test_a_store_in_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_PROVIDER_CHECKPOINT", "memory")
    monkeypatch.setenv("LLM_PROVIDER_CHECKPOINT_CONN_STRING", "memory://")
    with pytest.raises(ConfigurationError, match="no worker can sweep it"):
        process(Opener()).check()
