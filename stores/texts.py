"""What a column of text holds and is none: SQLite keeps any bytes there, and any type."""

from collections.abc import Iterable
from typing import Any

from retention.errors import StoreError


def is_text(value: Any) -> bool:
    """Whether a value that was read is a text, and can be asked for again."""
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def text_of(value: Any) -> str | None:
    """A text that may be missing.

    Raises:
        StoreError: It is none; the message has it as a literal of SQL.
    """
    if value is None:
        return None
    if not is_text(value):
        raise StoreError(f"{literal(value)} is no UTF-8 text")
    return str(value)


def literal(value: Any) -> str:
    """What is no text as SQL can name it."""
    if isinstance(value, str):
        return f"CAST(x'{value.encode('utf-8', 'surrogateescape').hex()}' AS TEXT)"
    return f"x'{value.hex()}'" if isinstance(value, bytes) else str(value)


def parted(ids: Iterable[Any]) -> tuple[list[str], list[str]]:
    """Ids that are texts, in their order, and the others as literals."""
    found = list(ids)
    return [i for i in found if is_text(i)], [literal(i) for i in found if not is_text(i)]
