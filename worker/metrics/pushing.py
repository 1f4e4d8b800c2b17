"""Pushing what the run log adds up to, whenever a run has ended."""

import logging

from retention.errors import ConfigurationError, StoreError
from retention.events import event
from retention.ports import RunLog
from worker.metrics.families import Reading, registry_of
from worker.metrics.gateway import Gateway, PushError

log = logging.getLogger(__name__)

# Beyond this many, whoever changed the totals meanwhile pushes them as well.
_MOST_PUSHES = 3


class PushedMetrics:
    """Tells a Pushgateway. What it does not take is said once, and the next run makes up for it."""

    def __init__(self, gateway: Gateway, prefix: str, store: str) -> None:
        """Push to this gateway, in the group of this store."""
        self._gateway = gateway
        self._prefix = prefix
        self._store = store

    def push(self, run_id: str, runs: RunLog) -> None:
        """Push the totals, now that this run has ended; it has, whatever comes of this."""
        try:
            self._push(runs)
        except (PushError, StoreError, ConfigurationError) as error:
            event(
                log,
                logging.WARNING,
                "metrics_not_pushed",
                run=run_id,
                gateway=self._gateway.shown,
                error=str(error),
            )

    def _push(self, runs: RunLog) -> None:
        """Push until nothing has changed meanwhile.

        Else of two workers the one with the older totals could be the last: a counter that goes
        down is taken for a restart, and all it holds counted once more.
        """
        pushed = None
        for _ in range(_MOST_PUSHES):
            reading = Reading.of(runs)
            if reading == pushed:
                return
            self._gateway.put(registry_of(self._prefix, reading), self._store)
            pushed = reading
