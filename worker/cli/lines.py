"""Text that is fit for a person's terminal: one line, no control characters, no password."""

import re
from collections.abc import Iterable
from urllib.parse import unquote

from worker.settings import redact

_MASK = "***"
_ADDRESS_WITH_USER = re.compile(r"[A-Za-z][\w+.-]*://[^\s'\"]*@[^\s'\"]*")
# Shorter ones are words of every message: masking them would tell more than it hides.
_SHORTEST_SECRET = 4
# What our own messages show as a right address.
_EXAMPLE = "://user:password@host"


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
        for secret in _secrets(address):
            text = text.replace(secret, _MASK)
    return _ADDRESS_WITH_USER.sub(_redacted, text)


def _redacted(found: re.Match[str]) -> str:
    return found[0] if _EXAMPLE in found[0] else redact(found[0])


def _secrets(address: str) -> list[str]:
    """The password of an address, as written and as meant, the longest form first.

    A driver that reads an unescaped one takes it apart at its special characters.
    """
    user_info = address.partition("://")[2].rpartition("@")[0]
    written = user_info.partition(":")[2]
    forms = {written, *re.split(r"[@/?#:]", written)}
    forms |= {unquote(form) for form in forms}
    return sorted((f for f in forms if len(f) >= _SHORTEST_SECRET), key=len, reverse=True)


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
