"""The way into a Redis store: every key, as the rows of a thread or of the store itself."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from stores.redis.layout import BUCKETS, LOG, bucket, bucket_of, keys_of, raw, split, text
from tests.contract.direct import Record, Tables, in_order

_OF_THREAD = re.compile(rb"lgr:\{b\d{3}\}:([mcibw]):(.*)", re.DOTALL)
_INDEX = re.compile(rb"lgr:\{b\d{3}\}:(live|expiry|marks|holds|asks)")
_NAMES = {b"i": "ids", b"b": "blobs", b"w": "writes"}
#: What owners and operators say of a thread; the rest of its meta is the store's own.
_LEDGER = frozenset(b"st mk due ow dw df hr hu hb ha ea eb er".split())
_RUN_FIELDS = {"waiting_minutes": "waiting"}
_REVISION = frozenset({b"n", b"rev"})
_READS: dict[bytes, Callable[[Any, bytes], object]] = {
    b"hash": lambda pipeline, key: pipeline.hgetall(key),
    b"zset": lambda pipeline, key: pipeline.zrange(key, 0, -1, withscores=True),
    b"set": lambda pipeline, key: pipeline.smembers(key),
    b"list": lambda pipeline, key: pipeline.lrange(key, 0, -1),
    b"string": lambda pipeline, key: pipeline.get(key),
}


class DirectRedis:
    """A client of the tests' own: ``Redis`` or ``RedisCluster``."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def dump(self) -> Tables:
        """The keys by what they hold: a thread's fields and members are a row each."""
        tables: Tables = {"checkpoints": [], "retention_threads": []}
        for key, value in self._contents():
            for name, row in _rows(key, value):
                tables.setdefault(name, []).append(row)
        return {name: in_order(tables[name]) for name in sorted(tables)}

    def garble(self) -> None:
        for key, _ in self._of_threads(b"b"):
            self._client.hset(key, mapping=dict.fromkeys(self._client.hkeys(key), b"\xc1"))

    def break_batches(self, column: str, text: str) -> None:
        for key in self.keys():
            if key.startswith(LOG + b"b:0:"):
                self._client.hset(key, column, text)

    def break_runs(self, column: str, text: str) -> None:
        for key in self.keys():
            if key.startswith(LOG + b"r:"):
                self._client.hset(key, _RUN_FIELDS.get(column, column), text)

    def expire(self, thread_id: str) -> None:
        """Let a thread go as at its time: its keys are gone, and nobody told the indexes."""
        self._client.delete(*keys_of(thread_id))
        self._client.zadd(bucket_of(thread_id) + b"expiry", {raw(thread_id): 1})

    def minutes_left(self, thread_id: str) -> set[int]:
        """How long the keys of a thread still live, by the server's clock, in whole minutes."""
        held = [key for key in keys_of(thread_id) if self._client.exists(key)]
        return {round(self._client.pttl(key) / 60_000) for key in held}

    def age(self, thread_id: str, minutes: int) -> None:
        """Bring the end of a thread's keys nearer, as if so many minutes had passed."""
        meta = keys_of(thread_id)[0]
        second, rest = (self._client.hget(meta, "rev") or b"").split(b".", 1)
        self._client.hset(meta, "rev", b"%d.%b" % (int(second) - minutes * 60, rest))
        for key in keys_of(thread_id):
            self._client.pexpire(key, max(1, self._client.pttl(key) - minutes * 60_000))
        self._client.zincrby(bucket_of(thread_id) + b"expiry", -minutes * 60_000, raw(thread_id))

    def lose_revision(self, thread_id: str) -> None:
        """Leave nothing that tells when a thread was last changed."""
        self._client.hset(keys_of(thread_id)[0], "rev", "?")

    def declare(self, thread_id: str, minutes: int | None) -> None:
        declared = {"dw": "" if minutes is None else minutes, "rev": "by hand"}
        self._client.hset(keys_of(thread_id)[0], mapping=declared)

    @contextmanager
    def unlisted(self) -> Iterator[str]:
        names = [bucket(number) + b"marks" for number in range(BUCKETS)]
        held = [name for name in names if self._client.exists(name)]
        for name in held:
            self._client.rename(name, name + b":away")
        self._each(names, lambda pipeline, name: pipeline.set(name, "no index"))
        try:
            yield "WRONGTYPE"
        finally:
            self._each(names, lambda pipeline, name: pipeline.delete(name))
            for name in held:
                self._client.rename(name + b":away", name)

    def keys(self) -> list[bytes]:
        """The names of all keys."""
        return sorted(self._client.scan_iter(count=1_000))

    def _of_threads(self, kind: bytes) -> Iterator[tuple[bytes, str]]:
        for key in self.keys():
            found = _OF_THREAD.fullmatch(key)
            if found and found[1] == kind:
                yield key, text(found[2])

    def _contents(self) -> Iterator[tuple[bytes, Any]]:
        keys = self.keys()
        kinds = self._each(keys, lambda pipeline, key: pipeline.type(key))
        for kind, read in _READS.items():
            chosen = [key for key, its in zip(keys, kinds, strict=True) if its == kind]
            yield from zip(chosen, self._each(chosen, read), strict=True)

    def _each(self, keys: list[bytes], command: Callable[[Any, bytes], object]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            command(pipeline, key)
        return list(pipeline.execute())


def _rows(key: bytes, value: Any) -> Iterable[tuple[str, Record]]:
    if found := _OF_THREAD.fullmatch(key):
        return _thread_rows(found[1], text(found[2]), value)
    if found := _INDEX.fullmatch(key):
        name = found[1].decode()
        return [(name, {"thread_id": text(member), "score": score}) for member, score in value]
    name = "retention_totals" if key == LOG + b"totals" else key.decode(errors="replace")
    return [(name, {"value": value})]


def _thread_rows(kind: bytes, thread_id: str, value: Any) -> Iterable[tuple[str, Record]]:
    row: Record = {"thread_id": thread_id}
    if kind == b"c":
        for name, packed in value.items():
            namespace, checkpoint_id = split(name, 2)
            place = {"checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
            yield "checkpoints", {**row, **place, "row": packed}
    elif kind == b"m":
        for name, fields in (("retention_threads", _LEDGER), ("revisions", _REVISION)):
            some = {field: value.pop(field) for field in fields & value.keys()}
            if some:
                yield name, {**row, **some}
        yield "meta", {**row, **value}
    else:
        held = value.items() if isinstance(value, dict) else value
        for name, content in held:
            yield _NAMES[kind], {**row, "name": name, "row": content}
