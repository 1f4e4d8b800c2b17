"""Naming the key that somebody replaced by one of another type: Redis itself names none.

An index of a bucket, or a key of the run log, that holds something else stops every script that
reads it. What the server says then is WRONGTYPE and no more, so the keys are looked at.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from retention.errors import StoreError
from stores.redis.connection import AsyncConnection, Connection
from stores.redis.errors import translated
from stores.redis.layout import LOG, text
from stores.redis.requests import Call

_SAID = "WRONGTYPE"

#: What each index of a bucket, and each key that the run log has once, is kept as.
_INDEXES = dict.fromkeys((b"live", b"expiry", b"marks", b"holds", b"asks"), b"zset")
_OF_LOG = {
    **dict.fromkeys((b"runs", b"unpublished", b"forgettable"), b"zset"),
    **dict.fromkeys((b"late0", b"late1", b"undelivered"), b"zset"),
    **dict.fromkeys((b"live", b"pause"), b"string"),
    b"totals": b"hash",
}
_NAMES = {b"zset": "sorted set"}

_MEND_INDEX = (
    "delete that key: each thread of this bucket is listed there again from its next write or mark "
    "on, and goes by its keys' time to live until then"
)
_MEND_LOG = "put what it held back, or delete it"


class NamingConnection(Connection):
    """A sync connection that says which key is of the wrong type."""

    def send(self, calls: Sequence[Call]) -> list[Any]:
        """Send calls together; their replies in order."""
        try:
            return super().send(calls)
        except StoreError as error:
            suspects, types = [*_suspects(calls, error)], list[bytes]()
            with suppress(StoreError), translated():
                types = [self.client.type(key) for key, _ in suspects]
            named = _named(suspects, types)
            if named is None:
                raise
            raise named from error


class AsyncNamingConnection(AsyncConnection):
    """The same for an async client."""

    async def send(self, calls: Sequence[Call]) -> list[Any]:
        """Send calls together; their replies in order."""
        try:
            return await super().send(calls)
        except StoreError as error:
            suspects, types = [*_suspects(calls, error)], list[bytes]()
            with suppress(StoreError), translated():
                types = [await self.client.type(key) for key, _ in suspects]
            named = _named(suspects, types)
            if named is None:
                raise
            raise named from error


def _suspects(calls: Sequence[Call], error: StoreError) -> Iterator[tuple[bytes, bytes]]:
    """The keys that these calls may have met, each with the type that it is to have.

    None where the error is another one.
    """
    starts = dict.fromkeys(call.start for call in calls) if _SAID in str(error) else ()
    for start in starts:
        for name, kind in (_OF_LOG if start == LOG else _INDEXES).items():
            yield start + name, kind


def _named(suspects: Sequence[tuple[bytes, bytes]], types: Sequence[bytes]) -> StoreError | None:
    """The error that names the first key of a wrong type, if one is."""
    for (key, wanted), found in zip(suspects, types, strict=False):
        if found in (wanted, b"none"):
            continue
        mend = _MEND_LOG if key.startswith(LOG) else _MEND_INDEX
        return StoreError(
            f"Redis: {_SAID}: the key {text(key)} holds a {_kind(found)} and must be a "
            f"{_kind(wanted)}: {mend}"
        )
    return None


def _kind(found: bytes) -> str:
    return _NAMES.get(found, text(found))
