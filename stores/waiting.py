"""Waiting for what another process is doing to a store."""

import time
from collections.abc import Iterator

from stores.options import StoreOptions

_PAUSE_SECONDS = 0.01


def tries(options: StoreOptions) -> Iterator[None]:
    """One try at once, and further ones for as long as a wait for a lock may last."""
    deadline = time.monotonic() + options.lock_timeout.total_seconds()
    yield
    while time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
        yield
