"""Where a listing ended, as text that survives a terminal, a shell and a URL."""

from retention.errors import ConfigurationError


def cursor_of(*parts: str) -> str:
    """The cursor of these texts, whatever they hold."""
    return ".".join(part.encode("utf-8", "surrogatepass").hex() for part in parts)


def read_cursor(cursor: str, listing: str) -> str:
    """The one text of a cursor.

    Raises:
        ConfigurationError: It is no cursor; the line names what it should list.
    """
    (part,) = read_cursors(cursor, 1, listing)
    return part


def read_cursors(cursor: str, count: int, listing: str) -> list[str]:
    """The texts of a cursor that has so many.

    Raises:
        ConfigurationError: It is no such cursor; the line names what it should list.
    """
    try:
        parts = [bytes.fromhex(part).decode("utf-8", "surrogatepass") for part in cursor.split(".")]
    except ValueError:
        parts = []
    if len(parts) != count:
        raise ConfigurationError(f"{cursor[:40]!r} is no cursor of a list of {listing}")
    return parts
