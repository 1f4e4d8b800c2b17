"""Listing threads by an index of their buckets, one bucket after the other."""

from collections.abc import Sequence
from typing import NamedTuple

from retention.errors import ConfigurationError
from retention.threads import ThreadFacts
from stores.cursors import cursor_of, read_cursors
from stores.redis.facts import facts_of
from stores.redis.layout import BUCKETS, bucket, raw, text
from stores.redis.requests import Arg, Call, Steps
from stores.redis.scripts import Script

#: Buckets that are asked at once: most hold nothing of a rare kind.
_BUCKETS_A_LOOK = 32


class Listed(NamedTuple):
    """A thread of a listing, and what its script says of it besides."""

    facts: ThreadFacts
    value: bytes


class _At(NamedTuple):
    """Where a listing goes on: in which bucket, behind which score and thread."""

    bucket: int = 0
    score: bytes = b""
    thread_id: str = ""


def listing(
    script: Script, after: str | None, limit: int, name: str, *args: Arg
) -> Steps[tuple[list[Listed], str | None]]:
    """A page of a listing and its cursor, which is None at the end; ``name`` says what it lists.

    Raises:
        ConfigurationError: The cursor is none of such a listing.
    """
    at = _At() if after is None else _read(after, name)
    found: list[Listed] = []
    while at.bucket < BUCKETS:
        numbers = range(at.bucket, min(at.bucket + _BUCKETS_A_LOOK, BUCKETS))
        places = [at if number == at.bucket else _At(number) for number in numbers]
        left = limit - len(found)
        pages = yield [
            Call(script, bucket(p.bucket), (left, p.score, raw(p.thread_id), *args)) for p in places
        ]
        for place, page in zip(places, pages, strict=True):
            some = page[: 4 * (limit - len(found))]
            found += [_listed(some[i : i + 4]) for i in range(0, len(some), 4)]
            if len(found) == limit:
                return found, cursor_of(str(place.bucket), text(some[-3]), text(some[-4]))
        at = _At(numbers.stop)
    return found, None


def _listed(part: Sequence[bytes | list[bytes]]) -> Listed:
    member, _, value, row = part
    assert isinstance(member, bytes)
    assert isinstance(value, bytes)
    assert isinstance(row, list)
    return Listed(facts_of(text(member), row), value)


def _read(cursor: str, name: str) -> _At:
    number, score, thread_id = read_cursors(cursor, 3, name)
    try:
        float(score)
        return _At(int(number), raw(score), thread_id)
    except ValueError:
        raise ConfigurationError(f"{cursor[:40]!r} is no cursor of a list of {name}") from None
