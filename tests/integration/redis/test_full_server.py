"""On a server whose memory is full a sweep works: it is what makes room."""

from collections.abc import Iterator
from typing import Any

import pytest

from retention.errors import StoreUnavailableError
from retention.sweep import LocalDispatch, repair
from retention.threads import Hold
from tests.integration.redis.parts import Parts
from tests.seeding import config_of, seed_thread


@pytest.fixture
def fill(client: Any) -> Iterator[Any]:
    """Call it, and the server refuses all that takes memory."""
    yield lambda: client.config_set("maxmemory", 1)
    client.config_set("maxmemory", 0)


def test_a_sweep_deletes_and_keeps_its_log(parts: Parts, fill: Any) -> None:
    heads = parts.seed_due("a", "b", "c")
    seed_thread(parts.saver, "live", parts.clock.now)
    fill()
    with pytest.raises(StoreUnavailableError, match="maxmemory"):
        seed_thread(parts.saver, "new", parts.clock.now)
    result = parts.run()
    assert result.counts.values == {"deleted:finished": 3}
    assert parts.runs.totals() == {"deleted:finished": 3, "runs:completed": 1}
    assert [t for t, f in parts.threads.facts([*heads, "live", "new"]).items() if f.head] == [
        "live"
    ]


def test_late_writes_are_cleaned(parts: Parts, fill: Any) -> None:
    head = parts.seed_due("t")["t"]
    parts.run()
    parts.saver.put_writes(config_of("t", "", head), [("messages", "late")], "late")
    fill()
    assert parts.run("next").counts.values == {"cleaned:finished": 1}


def test_owners_and_operators_are_heard(parts: Parts, fill: Any) -> None:
    for thread_id in ("marked", "held", "started"):
        seed_thread(parts.saver, thread_id, parts.clock.now)
    fill()
    parts.ledger.mark_finished(["marked"])
    parts.ledger.start(["started"])
    assert parts.ledger.hold(["held"], Hold("audit")) == {"held"}
    assert set(parts.ledger.entries(["marked", "held", "started"])) == {"marked", "held", "started"}
    assert parts.ledger.release(["held"]) == {"held"}


def test_a_run_that_stopped_is_brought_to_its_end(parts: Parts, fill: Any) -> None:
    parts.seed_due("a", "b")
    sweep = parts.sweep(LocalDispatch())
    fill()
    parts.runs.open(run_of(parts), "dead")
    parts.clock.advance(10)
    repair(sweep)
    assert parts.runs.count_batches("r") == 1


def run_of(parts: Parts) -> Any:
    """A run that begins now."""
    from retention.runs import Run
    from tests.contract.lab import POLICY
    from tests.contract.pool import LEASE

    return Run("r", POLICY, parts.clock.now, parts.clock.now + LEASE)
