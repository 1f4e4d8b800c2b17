"""A store as its caller holds it."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from retention.asks.port import Asks, no_asks
from retention.ports import Ledger, RunLog, ThreadDeleter, ThreadIndex


class Store:
    """An opened store: its saver and all its ports.

    ``waiting_skipped`` says why the waiting horizon is not swept here; None where it is.
    ``managed`` says what shows that another program runs the store and lets its threads go; None
    where nothing does. The saver is made when it is first asked for: a worker never needs one.
    """

    def __init__(
        self,
        provider: str,
        ledger: Ledger,
        threads: ThreadIndex,
        deleter: ThreadDeleter,
        runs: RunLog,
        make_saver: Callable[[], BaseCheckpointSaver[Any]],
        waiting_skipped: str | None = None,
        managed: str | None = None,
        asks: Asks | None = None,
    ) -> None:
        """Hold the parts of one store."""
        self.provider = provider
        self.ledger = ledger
        self.threads = threads
        self.deleter = deleter
        self.runs = runs
        self.waiting_skipped = waiting_skipped
        self.managed = managed
        self._make_saver = make_saver
        self._asks = asks

    @cached_property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The LangGraph saver."""
        return self._make_saver()

    @property
    def holds_asks(self) -> bool:
        """Whether the store can hold asks and park barriers."""
        return self._asks is not None

    @property
    def asks(self) -> Asks:
        """Asks and park barriers: what parked runs wait for.

        Raises:
            ConfigurationError: This store can hold none.
        """
        if self._asks is None:
            raise no_asks(self.provider)
        return self._asks
