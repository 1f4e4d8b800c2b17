"""A store and a folder for tests of the command."""

import logging
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from stores import open_store
from stores.options import now
from tests.commands import environment
from tests.seeding import seed_thread, seed_threads


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, and no setting but those that a test makes."""
    monkeypatch.chdir(tmp_path)
    for name in set(os.environ) - set(environment()):
        monkeypatch.delenv(name)
    handlers = list(logging.getLogger().handlers)
    yield tmp_path
    logging.getLogger().handlers[:] = handlers


@pytest.fixture
def path(folder: Path) -> Path:
    """A store with five threads idle for long, one parked and two at work."""
    path, old = folder / "store.db", now() - timedelta(days=30)
    with open_store(str(path)) as store:
        seed_threads(store.saver, "old", 5, old)
        seed_thread(store.saver, "parked", old, interrupted=True)
        seed_threads(store.saver, "fresh", 2, now())
    return path
