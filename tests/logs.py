"""Reading log lines back, strictly: what does not fit the form is an error."""

import json
import re
from typing import Any

_PAIR = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^\s"=\\]+)(?: |$)')


def read_line(line: str) -> dict[str, Any]:
    """The fields of one line, in either form."""
    if line.startswith("{"):
        fields: dict[str, Any] = json.loads(line)
        return fields
    found: dict[str, Any] = {}
    position = 0
    while position < len(line):
        pair = _PAIR.match(line, position)
        assert pair is not None, line[position:]
        name, value = pair[1], pair[2]
        assert name not in found, name
        found[name] = json.loads(value) if value.startswith('"') else value
        position = pair.end()
    return found


def read_log(text: str) -> list[dict[str, Any]]:
    """Every line of a log, each with its time, its level and its event."""
    lines = [read_line(line) for line in text.splitlines()]
    for fields in lines:
        assert list(fields)[:3] == ["time", "level", "event"], fields
    return lines
