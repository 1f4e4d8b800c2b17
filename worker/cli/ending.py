"""Being told to end: a service manager's SIGTERM is taken as Ctrl-C is."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Let SIGTERM raise ``KeyboardInterrupt`` within a block, so that it leaves things in order.

    Only the main thread can be told so; in any other, SIGTERM ends the process as ever.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(*_: object) -> None:
    raise KeyboardInterrupt
