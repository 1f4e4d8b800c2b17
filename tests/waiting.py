"""Waiting for something that can be seen, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")


def eventually(look: Callable[[], Seen | None], what: str, seconds: float = 30) -> Seen:
    """Look until there is something true to see, and give it; fail once the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} seconds: {what}")
        time.sleep(0.05)
