"""Reading what is known of threads, in the form the scripts answer with."""

from collections.abc import Collection, Iterable
from typing import Any

from retention.errors import ConfigurationError, StoreError
from retention.policy import ThreadRetention
from retention.threads import Ended, Hold, LedgerEntry, ThreadFacts
from stores.redis.buckets import on_threads, streamed
from stores.redis.connection import Connection
from stores.redis.layout import instant, keys_of, text
from stores.redis.requests import Steps
from stores.redis.scripts import thread_script

_READ = thread_script("facts", "row")

#: What a row raises in which somebody wrote what no script does, or left a part out.
_UNREADABLE = (AttributeError, ConfigurationError, OverflowError, StoreError, ValueError)


def read_facts(thread_ids: Collection[str]) -> Steps[dict[str, ThreadFacts]]:
    """What there is to know of each of these threads."""
    return _facts_by_id((yield from on_threads(_READ, thread_ids)))


def stream_facts(connection: Connection, thread_ids: Collection[str]) -> dict[str, ThreadFacts]:
    """The same, read as a sweep does."""
    return _facts_by_id(streamed(connection, _READ, thread_ids))


def _facts_by_id(answered: Iterable[tuple[list[str], Any]]) -> dict[str, ThreadFacts]:
    return {
        thread_id: facts_of(thread_id, row)
        for ids, rows in answered
        for thread_id, row in zip(ids, rows, strict=True)
    }


def facts_of(thread_id: str, row: list[Any]) -> ThreadFacts:
    """The facts in a row of ``row.lua``; a fault that names the key where they cannot be read."""
    try:
        return _facts(thread_id, row)
    except _UNREADABLE as error:
        key = keys_of(thread_id)[0].decode(errors="backslashreplace")
        why = text(row[0]) if len(row) == 1 else error
        fault = (
            f"Redis: what {key!r} says of thread {thread_id!r} cannot be read ({why}): mend that "
            "key, or delete it, and what is left of the thread counts as gone"
        )
        return ThreadFacts(thread_id, fault=fault)


def _facts(thread_id: str, row: list[Any]) -> ThreadFacts:
    head, at, undated, started, marked = row[:5]
    entry = _entry(thread_id, row) if started or marked or row[10] else None
    revision = text(row[9]) if row[9] else None
    if head is None:
        return ThreadFacts(thread_id, None, None, entry, None, None, revision)
    head_at = None if undated else instant(at)
    return ThreadFacts(thread_id, text(head), head_at, entry, None, None, revision)


def _entry(thread_id: str, row: list[Any]) -> LedgerEntry:
    # Read twice for every thread of a sweep: all in one go, and nothing where nothing is kept.
    started, marked, due, owner, waiting, finished, _, reason, ended = row[3:12]
    return LedgerEntry(
        thread_id,
        instant(started) if started else None,
        instant(marked) if marked else None,
        instant(due) if due else None,
        _declared(waiting, finished) if waiting or finished else None,
        None if owner is None else text(owner),
        None if reason is None else _hold(reason, *row[12:15]),
        None if ended is None else _ended(ended, *row[15:]),
    )


def _declared(waiting: bytes | None, finished: bytes | None) -> ThreadRetention:
    return ThreadRetention(_minutes(waiting), _minutes(finished))


def _minutes(stored: bytes | None) -> int | None:
    return int(stored) if stored else None


def _hold(reason: bytes, until: bytes, by: bytes | None, at: bytes) -> Hold:
    return Hold(text(reason), instant(until), None if by is None else text(by), instant(at))


def _ended(at: bytes, by: bytes, reason: bytes) -> Ended | None:
    ended_at = instant(at)
    return None if ended_at is None else Ended(ended_at, text(by), text(reason))
