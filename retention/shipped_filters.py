"""The live-thread filters that this project ships."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from retention.asks import asks_of
from retention.errors import ConfigurationError
from retention.ports import CheckpointStore, Clock, SupportsPendingInterrupts
from retention.threads import ThreadFacts


@dataclass(frozen=True, slots=True)
class Grace:
    """How long after a thread's last activity a pending interrupt still spares it."""

    span: timedelta
    clock: Clock

    def is_over(self, facts: ThreadFacts) -> bool:
        """Whether it is; never of a thread whose head has no date."""
        if facts.head_at is None:
            return False
        started = facts.entry.started_at if facts.entry else None
        activity: datetime = max(facts.head_at, started or facts.head_at)
        return activity + self.span <= self.clock()


class InteractionsFilter:
    """Claims a thread that has an open ask, whose deadline is ahead."""

    owner = "interactions"

    def __init__(self, store: CheckpointStore) -> None:
        """Bind the filter to a store.

        Raises:
            ConfigurationError: The store can hold no asks.
        """
        self._asks = asks_of(store)

    def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
        """Threads with an open ask."""
        return self._asks.open_asks(thread_ids)


class AgentsFilter:
    """Claims a thread that has a live park barrier."""

    owner = "agents"

    def __init__(self, store: CheckpointStore) -> None:
        """Bind the filter to a store.

        Raises:
            ConfigurationError: The store can hold no barriers.
        """
        self._asks = asks_of(store)

    def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
        """Threads with a barrier whose deadline is ahead, and one of whose asks is open."""
        return self._asks.live_barriers(thread_ids)


class FlowsEngineFilter:
    """Claims a thread with a pending interrupt on its newest checkpoint, in any namespace.

    Answered interrupts count until their task is committed: only then is there a newer checkpoint.
    Nothing can run any more on a thread that an operator ended: its interrupts count no longer.
    """

    owner = "flows-engine"

    def __init__(self, store: CheckpointStore, grace: Grace | None = None) -> None:
        """Bind the filter to a store; without ``grace`` a pending interrupt spares for ever.

        Raises:
            ConfigurationError: The store cannot tell parked threads.
        """
        threads = store.threads
        if not isinstance(threads, SupportsPendingInterrupts):
            raise ConfigurationError(
                f"filter {self.owner!r} needs a store that can tell pending interrupts; "
                f"{store.provider} cannot"
            )
        self._parked = threads.pending_interrupts
        self._facts = threads.facts
        self._grace = grace

    def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
        """Threads parked on an interrupt, one of two answered included, that can still go on."""
        parked = self._parked(thread_ids)
        if not parked:
            return parked
        facts = self._facts(sorted(parked))
        return {thread_id for thread_id in parked if not self._lets_go(facts[thread_id])}

    def _lets_go(self, facts: ThreadFacts) -> bool:
        """Whether nobody can answer any more: an operator ended it, or the grace is over."""
        if facts.entry is not None and facts.entry.ended is not None:
            return True
        return self._grace is not None and self._grace.is_over(facts)
