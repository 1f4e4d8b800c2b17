"""Running a graph in the past."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace
from unittest import mock

from langgraph.checkpoint.base import id as minting


@contextmanager
def past(ago: timedelta) -> Iterator[None]:
    """Let LangGraph mint its checkpoint ids as it would have some time ago.

    A checkpoint's age is the time in its id, so a graph that runs in here leaves an old thread,
    exactly as one that really ran then.
    """
    shift = ago // timedelta(microseconds=1) * 1000
    clock = SimpleNamespace(time_ns=lambda: time.time_ns() - shift)
    # The module lets no id be older than the last one it minted, and remembers that one.
    with mock.patch.multiple(minting, time=clock, _last_v6_timestamp=None):
        yield
