"""Calls on many threads: one for some threads of a bucket, many of them in a round trip."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from stores.redis.layout import by_bucket, raw
from stores.redis.requests import Arg, Call, Steps
from stores.redis.scripts import Script

#: Threads a call works on at most: a script holds up its server for all of them.
THREADS_A_CALL = 100
#: Calls that travel together at most.
_CALLS_A_ROUND = 64


def parts(
    thread_ids: Iterable[str], size: int = THREADS_A_CALL
) -> Iterator[tuple[bytes, list[str]]]:
    """Threads as one call may take them: how the names of their bucket begin, and some of it."""
    for start, ids in by_bucket(thread_ids).items():
        for first in range(0, len(ids), size):
            yield start, ids[first : first + size]


def in_rounds(calls: Sequence[Call]) -> Steps[list[Any]]:
    """Send any number of calls; their replies in order."""
    replies: list[Any] = []
    for first in range(0, len(calls), _CALLS_A_ROUND):
        replies += yield calls[first : first + _CALLS_A_ROUND]
    return replies


def on_threads(
    script: Script, thread_ids: Iterable[str], *args: Arg
) -> Steps[list[tuple[list[str], Any]]]:
    """Run a script on threads, given after the other arguments; the threads of each reply."""
    chosen = _encoded(tuple(thread_ids))
    calls = [Call(script, start, (*args, *raws)) for start, _, raws in chosen]
    replies = yield from in_rounds(calls)
    return [(ids, reply) for (_, ids, _), reply in zip(chosen, replies, strict=True)]


# A sweep asks several things about the same threads, one after the other.
@lru_cache(maxsize=4)
def _encoded(thread_ids: tuple[str, ...]) -> list[tuple[bytes, list[str], list[bytes]]]:
    """Threads as calls may take them, with their ids as they are sent."""
    return [(start, ids, [raw(thread_id) for thread_id in ids]) for start, ids in parts(thread_ids)]


def chosen_of(answered: Iterable[tuple[list[str], Any]]) -> set[str]:
    """The threads that scripts answered with, by their positions among those they were given."""
    return {ids[position - 1] for ids, reply in answered for position in reply}
