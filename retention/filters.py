"""Live-thread filters: asked before a delete; a thread one of them claims is spared."""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Protocol

from retention.asks import holds_asks
from retention.errors import ConfigurationError, LiveThreadFilterError, StoreUnavailableError
from retention.ports import CheckpointStore
from retention.shipped_filters import AgentsFilter, FlowsEngineFilter, Grace, InteractionsFilter

__all__ = [
    "AgentsFilter",
    "FilterFactory",
    "FilterRegistry",
    "FlowsEngineFilter",
    "Grace",
    "InteractionsFilter",
    "LiveThreadFilter",
    "UnaskedFilter",
    "ask",
    "default_owners",
]


class LiveThreadFilter(Protocol):
    """Says which of some threads somebody still needs."""

    @property
    def owner(self) -> str:
        """The name spared threads are counted under."""

    def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
        """Of these threads, those still needed. Raising fails the sweep."""


@dataclass(frozen=True, slots=True)
class UnaskedFilter:
    """Stands for a filter that cannot be asked, and says why; no sweep may go on without it."""

    owner: str
    reason: str

    def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
        """Never answer.

        Raises:
            LiveThreadFilterError: Always.
        """
        raise LiveThreadFilterError(self.owner, f"it cannot be asked: {self.reason}")


#: Makes a filter for an opened store.
FilterFactory = Callable[[CheckpointStore], LiveThreadFilter]


class FilterRegistry:
    """Filters by owner; the order of a selection decides who a thread counts for."""

    def __init__(self, grace: Grace | None = None) -> None:
        """Start with the filters this project ships; ``grace`` is that of ``flows-engine``."""
        self._factories: dict[str, FilterFactory] = {
            InteractionsFilter.owner: InteractionsFilter,
            AgentsFilter.owner: AgentsFilter,
            FlowsEngineFilter.owner: partial(FlowsEngineFilter, grace=grace),
        }

    @property
    def owners(self) -> list[str]:
        """The owners that have a filter, in the order of the alphabet."""
        return sorted(self._factories)

    def register(self, owner: str, factory: FilterFactory) -> None:
        """Add a filter.

        Raises:
            ConfigurationError: The owner is empty or has a filter already.
        """
        if not owner.strip():
            raise ConfigurationError("a live-thread filter needs an owner's name")
        if owner in self._factories:
            raise ConfigurationError(f"a live-thread filter of owner {owner!r} is registered twice")
        self._factories[owner] = factory

    def select(self, owners: Iterable[str], store: CheckpointStore) -> list[LiveThreadFilter]:
        """Make the filters of these owners for a store, in this order.

        Raises:
            ConfigurationError: An owner is unknown or named twice.
        """
        chosen: dict[str, LiveThreadFilter] = {}
        for owner in owners:
            if owner not in self._factories:
                known = ", ".join(self.owners)
                raise ConfigurationError(
                    f"no live-thread filter of owner {owner!r}; known are: {known}"
                )
            if owner in chosen:
                raise ConfigurationError(f"live-thread filter {owner!r} is named twice")
            chosen[owner] = self._factories[owner](store)
        return list(chosen.values())


def default_owners(store: CheckpointStore) -> tuple[str, ...]:
    """The owners of the shipped filters that can work on a store, in the order they are asked."""
    if holds_asks(store):
        # The most telling first: a barrier has an open ask, and mostly an interrupt beside it.
        return AgentsFilter.owner, InteractionsFilter.owner, FlowsEngineFilter.owner
    return (FlowsEngineFilter.owner,)


def ask(
    filters: Sequence[LiveThreadFilter],
    thread_ids: Sequence[str],
    timeout: timedelta | None = None,
) -> dict[str, str]:
    """Ask every filter once about all the threads; the first to claim one is its owner.

    Each has ``timeout`` to answer in, where one is given.

    Raises:
        LiveThreadFilterError: A filter raised, did not answer in time, or answered anything but
            thread ids. Nothing may be deleted then.
    """
    owners: dict[str, str] = {}
    asked = set(thread_ids)
    for live_filter in filters:
        for thread_id in _in_time(live_filter, thread_ids, timeout):
            if thread_id in asked:
                owners.setdefault(thread_id, live_filter.owner)
    return owners


def _in_time(
    live_filter: LiveThreadFilter, thread_ids: Sequence[str], timeout: timedelta | None
) -> list[str]:
    if timeout is None:
        return _answer(live_filter, thread_ids)
    answered: Future[list[str]] = Future()

    def work() -> None:
        try:
            answered.set_result(_answer(live_filter, thread_ids))
        except BaseException as error:  # noqa: BLE001 - handed on to whoever waits for the answer
            answered.set_exception(error)

    # A thread of its own, which nobody waits for at the end: what hangs cannot be ended.
    name = f"filter {live_filter.owner}"
    threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True).start()
    try:
        return answered.result(timeout.total_seconds())
    except TimeoutError as error:
        reason = f"it did not answer within {timeout.total_seconds():g} seconds"
        raise LiveThreadFilterError(live_filter.owner, reason) from error


def _answer(live_filter: LiveThreadFilter, thread_ids: Sequence[str]) -> list[str]:
    try:
        answer = live_filter.claims(thread_ids)
        claimed = [] if isinstance(answer, str | bytes) else list(answer)
    except (StoreUnavailableError, LiveThreadFilterError):
        raise  # the store's outage, for which the batch is tried again; or one that was not asked
    except Exception as error:  # a filter is foreign code: whatever it raises fails the sweep
        raise LiveThreadFilterError(
            live_filter.owner, f"{type(error).__name__}: {error}"
        ) from error
    if isinstance(answer, str | bytes) or not all(isinstance(c, str) for c in claimed):
        raise LiveThreadFilterError(live_filter.owner, "its answer is not a list of thread ids")
    return claimed
