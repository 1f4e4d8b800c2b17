"""The format record of a Redis store, a hash beside the run log."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from stores.formats import GENERATION, FormatRecord
from stores.redis.connection import Connection
from stores.redis.layout import BUCKETS, LOG, bucket
from stores.redis.requests import Call, Steps, one
from stores.redis.scripts import script

_FIELDS = ("generation", "compression", "buckets")


class Formats(FormatRecord):
    """The format record of a Redis store."""

    remedy = (
        f"bring the key {(LOG + b'format').decode()} back from a backup, or reset the checkpoint "
        "store before starting this version"
    )
    reads = f"generation {GENERATION} with {BUCKETS} buckets"
    expected: Mapping[str, str] = {"generation": str(GENERATION), "buckets": str(BUCKETS)}

    def __init__(self, connection: Connection) -> None:
        """Keep the record on this server."""
        super().__init__("Redis")
        self._connection = connection

    def _read(self) -> Mapping[str, object] | None:
        found = self._connection.run(one(script("format_read"), LOG))
        values = [(value or b"").decode(errors="replace") for value in found]
        return dict(zip(_FIELDS, values, strict=True)) if values else None

    def _record(self, now: datetime, compression: str) -> None:
        self._connection.run(record_format(now, compression))

    def _holds_any(self) -> bool:
        return self._connection.run(_holds_any())


def record_format(now: datetime, compression: str = "on") -> Steps[Any]:
    """Record the format of a store that holds nothing yet; a record that is there stays.

    Whoever writes the first thread of a bucket does so too: a server that lost its data while the
    store was open would else hold threads that nobody may open.
    """
    args = (str(GENERATION), compression, str(BUCKETS), now.isoformat())
    return one(script("format_record"), LOG, *args)


def _holds_any() -> Steps[bool]:
    found = yield [Call(script("holds_any"), bucket(number)) for number in range(BUCKETS)]
    return any(found)
