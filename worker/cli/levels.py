"""Which log lines of this project are told at all."""

import logging

#: Where the loggers of this project begin.
OURS = ("retention", "stores", "worker")


def listen(*, debug: bool) -> None:
    """Let warnings and errors through; with ``debug`` also what is merely told, and tracebacks."""
    for name in OURS:
        logging.getLogger(name).setLevel(logging.DEBUG if debug else logging.WARNING)
