"""Exceptions as readable records."""

from typing import Any


class CheckpointedException(Exception):  # noqa: N818  # the documented name
    """An exception that was stored: it carries the record of the original.

    The record has exactly the keys ``id``, ``message``, ``kwargs``, ``repr_kwargs`` and ``cause``.
    """

    def __init__(self, record: dict[str, Any]) -> None:
        super().__init__(record)
        self.record = record
