"""Text that is fit for a person's terminal: one line, no control characters, no password."""

from worker.settings.redaction import scrub

__all__ = ["one_line", "printable", "scrub", "span"]


def printable(text: str) -> str:
    """The text with everything that would move a cursor or end a line written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """The text on one line, blanks joined and control characters escaped."""
    return printable(" ".join(text.split()))


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
