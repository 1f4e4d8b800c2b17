"""Log records as lines: key=value or JSON, whatever a record holds."""

import json
import logging
import traceback
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from retention.events import Event, key_values, plain
from worker.settings.redaction import scrub

#: Gives the fields of a record that is no event of ours, with the event's name; None knows it not.
Reader = Callable[[logging.LogRecord], Mapping[str, object] | None]

# Ids stay as they are, or nobody could look for them: a password that is a common word would be
# masked out of each. No address with a password gets there.
_EXACT = frozenset(
    {"time", "level", "event", "logger", "run", "batch", "thread", "task", "task_id", "live_run"}
)

# A line is to be read; a message that long holds a whole document.
_LONGEST_TEXT = 8192


class LineFormatter(logging.Formatter):
    """Writes each record as one line without control characters and without passwords."""

    def __init__(
        self, kind: str, addresses: Iterable[str] = (), readers: Iterable[Reader] = ()
    ) -> None:
        """Write lines of a kind.

        Args:
            kind: ``kv`` or ``json``.
            addresses: Those whose passwords must not be shown.
            readers: Asked in turn for what a library's record says and what it belongs to.
        """
        super().__init__()
        self._as_json = kind == "json"
        self._addresses = addresses
        self._readers = tuple(readers)

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        fields = {name: self._shown(name, value) for name, value in self._fields(record).items()}
        return json.dumps(fields) if self._as_json else key_values(fields)

    def _fields(self, record: logging.LogRecord) -> dict[str, object]:
        said: dict[str, object] = {}
        if isinstance(record.msg, Event):
            said |= {"event": record.msg.name, **record.msg.fields}
        for reader in self._readers:
            found = reader(record) or {}
            said |= {name: value for name, value in found.items() if name not in said}
        if "event" not in said:
            said = {"event": "log", "message": _message(record), **said}
        instant = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        head = {"time": instant.replace("+00:00", "Z"), "level": record.levelname}
        return {**head, **said, **head, "logger": record.name, **_error(record, said)}

    def _shown(self, name: str, value: object) -> str | int | float | None:
        shown = plain(value)
        if not isinstance(shown, str):
            return shown
        # Cut after masking: a cut made first could part a password from what gives it away.
        text = shown if name in _EXACT else scrub(shown, self._addresses)
        return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):
        # A library's template does not fit its arguments: that is no reason to lose the line.
        return str(record.msg)


def _error(record: logging.LogRecord, said: Mapping[str, object]) -> dict[str, object]:
    """The exception of a record; its traceback only where somebody looks for a fault."""
    if not record.exc_info or record.exc_info[1] is None:
        return {}
    error: dict[str, object] = {} if "error" in said else {"error": record.exc_info[1]}
    if not logging.getLogger(record.name).isEnabledFor(logging.DEBUG):
        return error
    return {**error, "traceback": "".join(traceback.format_exception(record.exc_info[1]))}
