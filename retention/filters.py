"""Live-thread filters: asked before a delete; a thread one of them claims is spared."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from retention.errors import ConfigurationError, LiveThreadFilterError, StoreUnavailableError
from retention.ports import CheckpointStore, SupportsPendingInterrupts


class LiveThreadFilter(Protocol):
    """Says which of some threads somebody still needs."""

    @property
    def owner(self) -> str:
        """The name spared threads are counted under."""

    def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
        """Of these threads, those still needed. Raising fails the sweep."""


#: Makes a filter for an opened store.
FilterFactory = Callable[[CheckpointStore], LiveThreadFilter]


class FlowsEngineFilter:
    """Claims a thread with a pending interrupt on its newest checkpoint, in any namespace."""

    owner = "flows-engine"

    def __init__(self, store: CheckpointStore) -> None:
        """Bind the filter to a store.

        Raises:
            ConfigurationError: The store cannot tell parked threads.
        """
        threads = store.threads
        if not isinstance(threads, SupportsPendingInterrupts):
            raise ConfigurationError(
                f"filter {self.owner!r} needs a store that can tell pending interrupts; "
                f"{store.provider} cannot"
            )
        self._threads = threads

    def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
        """Threads parked on an interrupt, one of two answered included."""
        return self._threads.pending_interrupts(thread_ids)


class FilterRegistry:
    """Filters by owner; the order of a selection decides who a thread counts for."""

    def __init__(self) -> None:
        """Start with the filters this project ships."""
        self._factories: dict[str, FilterFactory] = {FlowsEngineFilter.owner: FlowsEngineFilter}

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


def ask(filters: Sequence[LiveThreadFilter], thread_ids: Sequence[str]) -> dict[str, str]:
    """Ask every filter once about all the threads; the first to claim one is its owner.

    Raises:
        LiveThreadFilterError: A filter raised, or answered anything but thread ids. Nothing
            may be deleted then.
    """
    owners: dict[str, str] = {}
    asked = set(thread_ids)
    for live_filter in filters:
        for thread_id in _answer(live_filter, thread_ids):
            if thread_id in asked:
                owners.setdefault(thread_id, live_filter.owner)
    return owners


def _answer(live_filter: LiveThreadFilter, thread_ids: Sequence[str]) -> list[str]:
    try:
        answer = live_filter.claims(thread_ids)
        claimed = [] if isinstance(answer, str | bytes) else list(answer)
    except StoreUnavailableError:
        raise  # the store's outage, not the filter's answer: the batch is tried again
    except Exception as error:  # a filter is foreign code: whatever it raises fails the sweep
        raise LiveThreadFilterError(
            live_filter.owner, f"{type(error).__name__}: {error}"
        ) from error
    if isinstance(answer, str | bytes) or not all(isinstance(c, str) for c in claimed):
        raise LiveThreadFilterError(live_filter.owner, "its answer is not a list of thread ids")
    return claimed
