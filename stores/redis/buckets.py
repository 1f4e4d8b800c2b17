"""Calls on many threads: one for some threads of a bucket, many of them in a round trip."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stores.redis.connection import Connection
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
    chosen = [*parts(thread_ids)]
    replies = yield from in_rounds([*_calls(script, chosen, args)])
    return [(ids, reply) for (_, ids), reply in zip(chosen, replies, strict=True)]


def streamed(
    connection: Connection, script: Script, thread_ids: Iterable[str], *args: Arg
) -> Iterator[tuple[list[str], Any]]:
    """The same, part by part as the server answers: what a sweep does for all its threads."""
    chosen = [*parts(thread_ids, connection.room.looks)]
    replies = connection.stream(_calls(script, chosen, args))
    return zip((ids for _, ids in chosen), replies, strict=True)


def _calls(
    script: Script, chosen: Iterable[tuple[bytes, list[str]]], args: Sequence[Arg]
) -> Iterator[Call]:
    return (Call(script, start, (*args, *map(raw, ids))) for start, ids in chosen)


def chosen_of(answered: Iterable[tuple[list[str], Any]]) -> set[str]:
    """The threads that scripts answered with, by their positions among those they were given."""
    return {ids[position - 1] for ids, reply in answered for position in reply}
