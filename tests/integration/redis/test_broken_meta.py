"""Junk in a thread's meta or in an index ends a sweep in order, and is named."""

from typing import Any

import pytest

from retention.errors import StoreError
from retention.runs import RunOutcome
from retention.sweep import open_run
from stores.redis.layout import bucket_of, keys_of
from tests.integration.redis.parts import Parts

JUNK = b"\xffjunk"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, JUNK) for name in ("st", "mk", "due", "at", "dw", "df", "head", "ow")),
        ("due", b"99999999999999999999999"),
        ("dw", b"-5"),
    ],
)
def test_a_meta_that_cannot_be_read_is_named_and_no_run_stays_open(
    parts: Parts, client: Any, field: str, value: bytes
) -> None:
    parts.seed_due("broken", "whole")
    client.hset(keys_of("broken")[0], field, value)
    with pytest.raises(StoreError, match=r"'lgr:\{b\d+\}:m:broken' says .* cannot be read"):
        parts.threads.facts(["broken"])
    result = open_run(parts.sweep(), "r", allow_over_limit=False)
    assert result is not None
    assert result.outcome is RunOutcome.FAILED
    assert "thread 'broken' cannot be read" in str(result.reason)
    assert parts.runs.live() is None
    client.delete(keys_of("broken")[0])
    assert parts.run().outcome is RunOutcome.COMPLETED
    assert not client.exists(*keys_of("whole"))


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
