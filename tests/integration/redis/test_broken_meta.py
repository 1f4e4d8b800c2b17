"""Junk in a thread's meta fails that thread, junk in an index the sweep; both are named."""

import re
from itertools import count, islice
from typing import Any

import pytest

from retention.errors import StoreError
from retention.runs import RunOutcome
from retention.sweep import SweepResult, open_run
from stores.redis.asks import RedisAsks
from stores.redis.layout import bucket_of, keys_of
from stores.redis.threads import RedisThreads
from tests.integration.redis.parts import Parts
from tests.seeding import park

JUNK = b"\xffjunk"


def failed(result: SweepResult) -> dict[str, str]:
    """The error of each thread that failed."""
    return {entry["thread_id"]: entry["error"] for entry in result.to_json()["failed"]}


def same_bucket(first: str, number: int) -> list[str]:
    """This thread's id, and some more that lie in its bucket."""
    others = (f"t-{i}" for i in count())
    return [first, *islice((t for t in others if bucket_of(t) == bucket_of(first)), number - 1)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, JUNK) for name in ("st", "mk", "due", "at", "dw", "df", "head", "ow")),
        ("due", b"99999999999999999999999"),
        ("dw", b"-5"),
        ("ea", b"1"),
    ],
)
def test_a_meta_that_cannot_be_read_is_named_and_the_others_go(
    parts: Parts, client: Any, field: str, value: bytes
) -> None:
    """I5"""
    parts.seed_due("broken", "whole")
    client.hset(keys_of("broken")[0], field, value)
    facts = parts.threads.facts(["broken", "whole"])
    line = r"'lgr:\{b\d+\}:m:broken' says of thread 'broken' cannot be read"
    assert re.search(line, str(facts["broken"].fault))
    assert facts["whole"].fault is None
    result = parts.run("first")
    assert failed(result) == {"broken": facts["broken"].fault}
    assert result.outcome is RunOutcome.PARTIAL
    assert not client.exists(*keys_of("whole"))
    client.delete(keys_of("broken")[0])
    assert parts.run("second").outcome is RunOutcome.COMPLETED


@pytest.mark.parametrize("part", range(5))
def test_a_key_of_another_type_fails_no_other_thread_of_its_bucket(
    parts: Parts, client: Any, part: int
) -> None:
    """I5. Of a thread whose meta can be read the rest may go, whatever has become of it."""
    names = same_bucket("broken", 3)
    heads = parts.seed_due(*names)
    for name in names:
        park(parts.saver, name, heads[name])
    parts.clock.advance(30)
    client.set(keys_of(names[0])[part], "no part of a thread")
    assert parts.threads.pending_interrupts(names) == set(names[1:])
    assert parts.threads.failures(names) == set()
    client.zadd(bucket_of(names[0]) + b"asks", {name.encode(): 1 for name in names})
    assert RedisAsks(parts.connection, parts.options).open_asks(names) == set()
    reading = RedisThreads(parts.connection, ["source"])
    assert {name: f.metadata for name, f in reading.facts(names[1:]).items()} == {
        name: {"source": "loop"} for name in names[1:]
    }
    result = parts.run()
    stays = keys_of(names[0])[0].decode() if part == 0 else None
    said = failed(result)
    assert set(said) == ({names[0]} if stays else set())
    assert all(f"{stays!r} says" in line and "WRONGTYPE" in line for line in said.values())
    assert not client.exists(*(key for name in names[1:] for key in keys_of(name)))


def test_late_writes_are_looked_for_beside_a_key_of_another_type(parts: Parts, client: Any) -> None:
    broken, other = same_bucket("broken", 2)
    parts.seed_due(broken, other)
    parts.run("first")
    client.set(keys_of(broken)[0], "no part of a thread")
    parts.clock.advance(1)
    result = parts.run("second")
    assert set(failed(result)) == {broken}


def test_a_bucket_whose_marks_are_no_index_is_named(parts: Parts, client: Any) -> None:
    parts.seed_due("whole")
    marks = bucket_of("whole") + b"marks"
    client.delete(marks)
    client.set(marks, "no index")
    with pytest.raises(StoreError, match="WRONGTYPE"):
        parts.threads.due_page(parts.clock.now, None, 10)


def test_an_index_that_names_no_text_is_said_and_no_run_stays_open(
    parts: Parts, client: Any
) -> None:
    parts.seed_due("whole")
    client.zadd(bucket_of("whole") + b"marks", {JUNK: 1})
    client.zadd(bucket_of("whole") + b"live", {JUNK: 1})
    with pytest.raises(StoreError, match=r"xffjunk' is no name that this store wrote"):
        list(parts.saver.list(None))
    result = open_run(parts.sweep(), "r", allow_over_limit=False)
    assert result is not None
    assert "is no name that this store wrote" in str(result.reason)
    assert parts.runs.live() is None
