"""Log lines of the command: on stderr, one line each."""

import logging
import sys
from functools import cached_property

from retention.errors import ConfigurationError
from worker.cli.invocation import Invocation
from worker.cli.levels import OURS, listen
from worker.logs.lines import LineFormatter
from worker.settings import load_sweep_settings


class _Handler(logging.Handler):
    """Writes to what stderr is at that moment: a progress bar stands in for it."""

    def __init__(self, invocation: Invocation) -> None:
        super().__init__()
        self._invocation = invocation

    @cached_property
    def _lines(self) -> LineFormatter:
        try:
            kind = load_sweep_settings().log_format
        except ConfigurationError:
            # The command that reads the settings says what is wrong with them.
            kind = "kv"
        # The very list: an address that the command comes to know later counts as well.
        return LineFormatter(kind, self._invocation.addresses)

    def filter(self, record: logging.LogRecord) -> bool:
        """Let libraries speak only where it was asked for: what they fail at is said anyway."""
        return self._invocation.debug or record.name.partition(".")[0] in OURS

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as a line."""
        try:
            sys.stderr.write(f"{self._lines.format(record)}\n")
        except OSError:
            self.handleError(record)


def log_to_stderr(invocation: Invocation) -> None:
    """Send warnings and errors to stderr; with ``--debug`` also what is merely told."""
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h, _Handler)]:
        root.removeHandler(handler)
    root.addHandler(_Handler(invocation))
    listen(debug=invocation.debug)
