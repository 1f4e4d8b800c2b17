"""Ids that are no text: SQLite keeps any bytes in a column of text, and any type."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from retention.events import event

log = logging.getLogger("retention.sweep")

#: Reads what a row holds, whatever its bytes: one broken id must not hide the others of its page.
any_text = partial(str, encoding="utf-8", errors="surrogateescape")


@contextmanager
def readable_ids(connection: sqlite3.Connection) -> Iterator[None]:
    """Let statements ask ``is_readable`` of ids; say in one line which they left out."""
    unreadable: list[str] = []
    (encoding,) = connection.execute("PRAGMA encoding").fetchone()

    def is_readable(kind: str, raw: bytes) -> bool:
        if kind == "text" and _is_encoded(raw, encoding):
            return True
        literal = f"x'{raw.hex()}'"
        unreadable.append(f"CAST({literal} AS TEXT)" if kind == "text" else literal)
        return False

    connection.create_function("is_readable", 2, is_readable)
    yield
    if unreadable:
        first = unreadable[0]
        event(log, logging.ERROR, "thread_ids_unreadable", threads=len(unreadable), first=first)


def _is_encoded(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
