"""The sweep of this process: its store is opened at the first task, and closed with the process."""

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime
from functools import cached_property

from retention.errors import ConfigurationError
from retention.sweep import Dispatch, Sweep, check_manager, check_strain
from worker.settings import StoreSettings, SweepSettings, load_store_settings
from worker.wiring import opened_sweep

#: Opens the store of some settings and puts its sweep together; `worker.wiring.opened_sweep`.
Opener = Callable[[StoreSettings, SweepSettings, Dispatch], AbstractContextManager[Sweep]]


class ProcessSweep:
    """One sweep for each process of a worker, whatever its pool.

    Connections do not survive a fork, so a child opens its own. Where opening fails, the next
    task tries again.
    """

    def __init__(
        self, settings: SweepSettings, dispatch: Dispatch, opener: Opener = opened_sweep
    ) -> None:
        """Open nothing yet."""
        self._settings = settings
        self._dispatch = dispatch
        self._opener = opener
        self._lock = threading.Lock()
        self._open: tuple[int, ExitStack, Sweep] | None = None

    @cached_property
    def store(self) -> StoreSettings:
        """The store's settings, read once: a worker's children use what it was started with.

        Raises:
            ConfigurationError: One is wrong, or the store cannot be shared by several processes.
        """
        settings = load_store_settings()
        if settings.provider == "memory":
            raise ConfigurationError(
                "LLM_PROVIDER_CHECKPOINT='memory' is refused: a store in memory is seen by its own "
                "process alone, so no worker can sweep it; use redis, postgres or sqlite, or run "
                "the sweep inside the application"
            )
        return settings

    def check(self) -> None:
        """Open the store once and close it again.

        Raises:
            ConfigurationError: A setting is wrong, or the store is none, or not to be swept.
            StoreError: The store cannot be reached, or refuses.
        """
        with self._opener(self.store, self._settings, self._dispatch) as sweep:
            check_manager(sweep)
            check_strain(sweep)

    def closed(self, instant: datetime) -> str | None:
        """Why a scheduled sweep may not start at an instant, or None where it may."""
        return self._settings.closed(instant)

    def get(self) -> Sweep:
        """The sweep of this process, opened where it is not yet.

        Raises:
            ConfigurationError: A setting is wrong, or the store is none.
            StoreError: The store cannot be reached, or refuses.
        """
        with self._lock:
            if self._open is None or self._open[0] != os.getpid():
                stack = ExitStack()
                opener = self._opener(self.store, self._settings, self._dispatch)
                self._open = (os.getpid(), stack, stack.enter_context(opener))
            return self._open[2]

    def close(self) -> None:
        """Close the store, if this process opened it."""
        with self._lock:
            opened, self._open = self._open, None
            if opened is not None and opened[0] == os.getpid():
                opened[1].close()
