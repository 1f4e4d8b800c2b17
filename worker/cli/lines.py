"""Text that is fit for a person's terminal: one line, no control characters, no password."""

import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from worker.settings import redact

_MASK = "***"
_ADDRESS_WITH_USER = re.compile(r"[A-Za-z][\w+.-]*://[^\s'\"]*@[^\s'\"]*")
# Shorter ones are words of every message: masking them would tell more than it hides.
_SHORTEST_PASSWORD = 4


def printable(text: str) -> str:
    """The text with everything that would move a cursor or end a line written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """The text on one line, blanks joined and control characters escaped."""
    return printable(" ".join(text.split()))


def scrub(text: str, addresses: Iterable[str]) -> str:
    """The text without the passwords of these addresses, and of any other address in it."""
    for address in filter(None, addresses):
        text = text.replace(address, redact(address))
        for password in _passwords(address):
            text = text.replace(password, _MASK)
    return _ADDRESS_WITH_USER.sub(lambda found: redact(found[0]), text)


def _passwords(address: str) -> list[str]:
    """What follows the user's name, as written and as meant."""
    user_info = address.partition("://")[2].rpartition("@")[0]
    try:
        parsed = urlsplit(address).password
    except ValueError:
        parsed = None
    written = {user_info.partition(":")[2], parsed or ""}
    return sorted(
        {p for text in written for p in (text, unquote(text)) if len(p) >= _SHORTEST_PASSWORD},
        key=len,
        reverse=True,
    )


def span(seconds: float) -> str:
    """A time in words, as ``2 d 3 h``, ``5 min 10 s`` or ``0.4 s``."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    parts = []
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(int(seconds), size)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2])
