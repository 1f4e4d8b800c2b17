"""Log lines of the command: on stderr, one line each."""

import logging
import sys

from worker.cli.invocation import Invocation
from worker.cli.lines import one_line, scrub

_OURS = ("retention", "stores", "worker")


class _Handler(logging.Handler):
    """Writes to what stderr is at that moment: a progress bar stands in for it."""

    def __init__(self, invocation: Invocation) -> None:
        super().__init__()
        self._invocation = invocation

    def filter(self, record: logging.LogRecord) -> bool:
        """Let libraries speak only where it was asked for: what they fail at is said anyway."""
        return self._invocation.debug or record.name.partition(".")[0] in _OURS

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; its traceback only where it was asked for."""
        try:
            text = one_line(record.getMessage())
            if self._invocation.debug and record.exc_info:
                text += "\n" + logging.Formatter().formatException(record.exc_info)
            text = scrub(text, self._invocation.addresses)
            sys.stderr.write(f"{record.levelname} {text}\n")
        except OSError:
            self.handleError(record)


def log_to_stderr(invocation: Invocation) -> None:
    """Send warnings and errors to stderr; with ``--debug`` also what is merely told."""
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h, _Handler)]:
        root.removeHandler(handler)
    root.addHandler(_Handler(invocation))
    logging.getLogger("retention").setLevel(logging.INFO if invocation.debug else logging.WARNING)
