"""Live-thread filters on real stores: who spares a parked thread, how long, and how it shows."""

import logging
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

import pytest

from retention.errors import ThreadEndedError
from retention.filters import FilterRegistry, Grace, LiveThreadFilter, default_owners
from retention.policy import ThreadRetention
from retention.runs import Outcome, RunOutcome
from retention.sweep import SweepResult
from retention.threads import Ended
from tests.contract.lab import Claims, Lab, lists_waiting, on_postgres, parks
from tests.seeding import config_of, park, seed_threads


def filters(lab: Lab, *owners: str, grace: float | None = None) -> list[LiveThreadFilter]:
    """The filters of these owners, or those the store has by default."""
    limit = None if grace is None else Grace(timedelta(minutes=grace), lab.clock)
    store = lab.store
    return FilterRegistry(limit).select(owners or default_owners(store), store)


def spared(result: SweepResult) -> dict[str | None, tuple[str | None, str | None]]:
    """The horizon and the owner of each spared thread."""
    return {s["thread_id"]: (s["horizon"], s["owner"]) for s in result.to_json()["spared"]}


def park_in_each_way(lab: Lab, minutes: float = 90, **how: Any) -> None:
    """Threads past a horizon: parked on an ask, at a barrier, on an interrupt, and not at all."""
    deadline = lab.clock.now + timedelta(minutes=30)
    for thread_id in ("asking", "waiting", "free"):
        lab.seed(thread_id, minutes, **how)
    lab.seed("interrupted", minutes, interrupted=True, **how)
    lab.store.asks.open_ask("asking", "a", deadline)
    lab.store.asks.open_ask("waiting", "a", deadline)
    lab.store.asks.open_barrier("waiting", "b", ["a"], deadline)


@parks
def test_each_way_to_park_spares_a_finished_thread_and_keeps_its_mark(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "retention.sweep")
    park_in_each_way(lab, marked=20)
    expected = {
        "asking": ("finished", "interactions"),
        "waiting": ("finished", "agents"),
        "interrupted": ("finished", "flows-engine"),
    }
    foreseen = lab.preview(*filters(lab))
    result = lab.run(*filters(lab))
    assert spared(foreseen) == spared(result) == expected
    assert result.to_json()["finished_swept"] == ["free"]
    assert lab.threads() == set(expected)
    lines = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    for thread_id, (horizon, owner) in expected.items():
        said = f"thread={thread_id} horizon={horizon} owner={owner}"
        assert [line.startswith("thread_spared run=") for line in lines if said in line] == [True]
    totals = lab.store.runs.totals()
    for owner in ("interactions", "agents", "flows-engine"):
        assert totals[f"spared:finished:{owner}"] == 1
    # Each is in the finished set still, so that the next sweep asks again.
    assert spared(lab.run(*filters(lab))) == expected
    lab.clock.advance(30)
    again = lab.run(*filters(lab))
    assert spared(again) == {"interrupted": ("finished", "flows-engine")}
    assert sorted(again.to_json()["finished_swept"]) == ["asking", "waiting"]


@on_postgres
def test_each_way_to_park_spares_a_thread_that_waits_for_too_long(lab: Lab) -> None:
    park_in_each_way(lab)
    for _ in range(3):
        result = lab.run(*filters(lab))
        assert spared(result) == {
            "asking": ("waiting", "interactions"),
            "waiting": ("waiting", "agents"),
            "interrupted": ("waiting", "flows-engine"),
        }
    lab.store.asks.answer("asking", "a")
    lab.store.asks.release("waiting")
    assert sorted(lab.run(*filters(lab)).to_json()["waiting_swept"]) == ["asking", "waiting"]


@parks
@pytest.mark.parametrize(
    "order",
    [
        ("agents", "flows-engine", "interactions"),
        ("flows-engine", "interactions", "agents"),
        ("interactions", "agents", "flows-engine"),
    ],
)
def test_a_thread_that_several_filters_claim_counts_for_the_first_in_order(
    lab: Lab, order: tuple[str, ...]
) -> None:
    lab.seed("t", 90, marked=20, interrupted=True)
    deadline = lab.clock.now + timedelta(minutes=30)
    lab.store.asks.open_ask("t", "a", deadline)
    lab.store.asks.open_barrier("t", "b", ["a"], deadline)
    result = lab.run(*filters(lab, *order))
    assert spared(result) == {"t": ("finished", order[0])}


@parks
def test_a_filter_that_is_not_on_spares_nothing(lab: Lab) -> None:
    park_in_each_way(lab, marked=20)
    # Opened before the run began, so only a filter could keep them.
    lab.clock.advance(1)
    result = lab.run(*filters(lab, "agents"))
    assert spared(result) == {"waiting": ("finished", "agents")}
    assert result.counts.total(Outcome.DELETED) == 3


@parks
def test_a_thread_parked_before_its_first_checkpoint_keeps_its_entry(lab: Lab) -> None:
    lab.store.ledger.start(["t"], ThreadRetention(waiting_minutes=20))
    lab.clock.advance(10)
    lab.store.asks.open_ask("t", "a", lab.clock.now + timedelta(minutes=20))
    lab.clock.advance(12)
    result = lab.run(*filters(lab))
    if lab.store.waiting_skipped is None:
        assert spared(result) == {"t": ("waiting", "interactions")}
    assert lab.store.asks.open_asks(["t"]) == {"t"}
    assert lab.store.ledger.entries(["t"]).keys() == {"t"}


@on_postgres
def test_an_entry_of_a_thread_that_is_parked_no_more_goes_with_its_asks(lab: Lab) -> None:
    lab.store.ledger.start(["t"], ThreadRetention(waiting_minutes=20))
    lab.store.asks.open_ask("t", "a", lab.clock.now + timedelta(minutes=20))
    lab.clock.advance(21)
    assert lab.run(*filters(lab)).counts.values == {"gone:waiting": 1}
    assert lab.rows_of("t") == {}


@on_postgres
def test_an_entry_parked_after_the_filters_were_asked_is_left_alone(lab: Lab) -> None:
    lab.store.ledger.start(["t"], ThreadRetention(waiting_minutes=20))
    lab.clock.advance(21)

    class ParksMeanwhile(Claims):
        def claims(self, thread_ids: Sequence[str]) -> list[str]:
            lab.clock.advance(1)
            lab.store.asks.open_ask("t", "a", lab.clock.now + timedelta(minutes=20))
            return []

    assert lab.run(ParksMeanwhile()).counts.values == {"restarted:waiting": 1}
    assert lab.store.ledger.entries(["t"]).keys() == {"t"}
    assert lab.store.asks.open_asks(["t"]) == {"t"}


@parks
def test_nothing_is_parked_on_a_thread_that_an_operator_ended(lab: Lab) -> None:
    lab.seed("t", 5)
    lab.store.asks.open_ask("t", "before", lab.clock.now + timedelta(minutes=20))
    ledger = cast(Any, lab.store.ledger)
    ledger.end("t", Ended(lab.clock.now, "ops", "spam"), lambda facts: None)
    with pytest.raises(ThreadEndedError, match="'t' was ended by 'ops': 'spam'"):
        lab.store.asks.open_ask("t", "a", lab.clock.now + timedelta(minutes=20))
    assert lab.store.asks.book("t").asks.keys() == {"before"}


def test_each_filter_is_asked_once_for_each_batch_with_all_its_threads(lab: Lab) -> None:
    ids = seed_threads(lab.saver, "t", 5, lab.ago(90))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(ids))
    asked = [Claims(owner="one"), Claims(owner="two")]
    lab.run(*asked, batch_size=2)
    assert [len(some) for some in asked[0].asked] == [2, 2, 1]
    assert asked[0].asked == asked[1].asked
    assert sorted(thread_id for some in asked[0].asked for thread_id in some) == ids


def test_a_claim_on_a_thread_that_was_not_asked_about_is_ignored(lab: Lab) -> None:
    class ClaimsMore(Claims):
        def claims(self, thread_ids: Sequence[str]) -> list[str]:
            return [*super().claims(thread_ids), "young", "nobody"]

    lab.seed("due", 90, marked=20)
    lab.seed("kept", 90, marked=20)
    lab.seed("young", 1)
    result = lab.run(ClaimsMore("kept"))
    assert spared(result) == {"kept": ("finished", "tests")}
    assert lab.threads() == {"kept", "young"}


def test_a_filter_that_does_not_answer_in_time_fails_the_sweep(lab: Lab) -> None:
    let_go = threading.Event()

    class Hangs(Claims):
        def claims(self, thread_ids: Sequence[str]) -> list[str]:
            if self.asked:
                assert let_go.wait(timeout=30)
            return super().claims(thread_ids)

    ids = seed_threads(lab.saver, "t", 4, lab.ago(90))
    lab.at(-20, lambda: lab.store.ledger.mark_finished(ids))
    hangs = Hangs()
    result = lab.run(hangs, batch_size=1, filter_timeout=timedelta(seconds=0.1))
    let_go.set()
    assert result.outcome is RunOutcome.FAILED
    assert result.reason == (
        "live-thread filter 'tests' failed: it did not answer within 0.1 seconds"
    )
    assert result.counts.total(Outcome.DELETED) == 1
    assert result.counts.total(Outcome.CANCELLED) == 3
    assert len(lab.threads()) == 3


def test_answered_interrupts_spare_until_their_task_is_committed(lab: Lab) -> None:
    (head,) = lab.seed("t", 90, 1, marked=20)
    for task in ("left", "right"):
        park(lab.saver, "t", head)
        config = config_of("t", "", head)
        lab.saver.put_writes(config, [("__resume__", f"yes to {task}")], task)
        assert spared(lab.run(*filters(lab, "flows-engine"))) == {"t": ("finished", "flows-engine")}
    lab.seed("t", 30, 1, parent=head)
    assert lab.run(*filters(lab, "flows-engine")).to_json()["finished_swept"] == ["t"]


@lists_waiting
def test_flows_engine_lets_go_after_its_grace(lab: Lab) -> None:
    lab.seed("t", 90, 1, marked=20, interrupted=True)
    lab.seed("started", 90, 1, interrupted=True)
    lab.at(-85, lambda: lab.store.ledger.start(["started"]))
    if lab.store.waiting_skipped is not None:
        lab.at(-20, lambda: lab.store.ledger.mark_finished(["started"]))
    assert lab.run(*filters(lab, "flows-engine")).counts.total(Outcome.SPARED) == 2
    assert set(spared(lab.run(*filters(lab, "flows-engine", grace=91)))) == {"t", "started"}
    result = lab.run(*filters(lab, "flows-engine", grace=90))
    assert set(spared(result)) == {"started"}
    assert result.to_json()["finished_swept"] == ["t"]
    assert lab.run(*filters(lab, "flows-engine", grace=85)).counts.total(Outcome.DELETED) == 1
