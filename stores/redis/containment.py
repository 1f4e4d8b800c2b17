"""Which metadata a filter of a listing matches, as PostgreSQL's ``@>`` tells it."""

from collections.abc import Mapping
from typing import Any


def contains(value: Any, wanted: Any) -> bool:
    """Whether a value contains what is wanted.

    A mapping contains one whose every key it has, with a value that contains the wanted one; a
    list contains one whose every element some element of it contains, in any order. Anything else
    contains its equal, and no number is equal to a truth value.
    """
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(
            key in value and contains(value[key], part) for key, part in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return isinstance(value, list | tuple) and all(
            any(contains(held, part) for held in value) for part in wanted
        )
    is_bool = isinstance(wanted, bool)
    return is_bool == isinstance(value, bool) and bool(value == wanted)
