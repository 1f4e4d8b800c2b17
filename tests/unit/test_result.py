"""What a sweep answers with."""

import json
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from retention import RetentionPolicy
from retention.runs import Batch, Candidate, Counts, Outcome, RunOutcome, ThreadOutcome
from retention.sweep import SweepOptions, SweepResult
from retention.sweep.plan import in_batches
from retention.sweep.result import ThreadLists
from retention.threads import Horizon

STARTED = datetime(2026, 6, 1, 12, tzinfo=UTC)
F, W = Horizon.FINISHED, Horizon.WAITING

EVERY_OUTCOME = [
    (Candidate("f1", F), ThreadOutcome(Outcome.DELETED, head="h")),
    (Candidate("w1", W), ThreadOutcome(Outcome.DELETED, head="h")),
    (Candidate("w2", W), ThreadOutcome(Outcome.DELETED, head="h")),
    (Candidate("s", F), ThreadOutcome(Outcome.SPARED, "flows-engine")),
    (Candidate("x", W), ThreadOutcome(Outcome.FAILED, "will not go")),
    (Candidate("u", W), ThreadOutcome(Outcome.UNDATABLE)),
    (Candidate("h", W), ThreadOutcome(Outcome.HELD)),
    (Candidate("r", F), ThreadOutcome(Outcome.RESTARTED)),
    (Candidate("b", W), ThreadOutcome(Outcome.BUSY)),
    (Candidate("g", F), ThreadOutcome(Outcome.GONE)),
    (Candidate("c", F), ThreadOutcome(Outcome.CANCELLED)),
    (Candidate("l", F), ThreadOutcome(Outcome.CLEANED)),
]


def listed(limit: int) -> ThreadLists:
    """The lists of a batch with every outcome."""
    batch = Batch("r", 0, [candidate for candidate, _ in EVERY_OUTCOME])
    batch.outcomes = {i: outcome for i, (_, outcome) in enumerate(EVERY_OUTCOME)}
    lists = ThreadLists(limit)
    lists.add_batches([batch], batch.counts())
    return lists


def deleted(first: int, count: int) -> Batch:
    """A batch that deleted so many finished threads."""
    batch = Batch("r", first, [Candidate(f"t{first + i}", F) for i in range(count)])
    batch.outcomes = dict.fromkeys(range(count), ThreadOutcome(Outcome.DELETED, head="h"))
    return batch


def test_a_result_names_and_counts_as_other_programs_rely_on() -> None:
    result = SweepResult(
        "r",
        RunOutcome.PARTIAL,
        "sqlite",
        RetentionPolicy(60, 10),
        STARTED,
        planned=12,
        counts=Counts.of(iter(EVERY_OUTCOME)),
        threads=listed(1000),
        skipped=None,
        reason="why",
        duration=timedelta(seconds=1, microseconds=234567),
    ).to_json()
    assert result == {
        "run_id": "r",
        "outcome": "partial",
        "dry_run": False,
        "provider": "sqlite",
        "waiting_minutes": 60,
        "finished_minutes": 10,
        "swept_count": 3,
        "finished_count": 1,
        "waiting_count": 2,
        "spared_count": 1,
        "failed_count": 1,
        "held_count": 1,
        "restarted_count": 1,
        "busy_count": 1,
        "undatable_count": 1,
        "cancelled_count": 1,
        "planned_count": 12,
        "finished_swept": ["f1"],
        "waiting_swept": ["w1", "w2"],
        "undatable": ["u"],
        "spared": [{"thread_id": "s", "horizon": "finished", "owner": "flows-engine"}],
        "failed": [{"thread_id": "x", "horizon": "waiting", "error": "will not go"}],
        "truncated": False,
        "skipped": None,
        "reason": "why",
        "started_at": "2026-06-01T12:00:00+00:00",
        "duration_seconds": 1.235,
    }
    assert json.loads(json.dumps(result)) == result


def test_a_list_is_cut_at_the_limit_and_says_so() -> None:
    exact, cut = listed(2), listed(1)
    assert not exact.truncated
    assert cut.truncated
    assert [entry["thread_id"] for entry in cut.lists["waiting_swept"]] == ["w1"]
    assert [entry["thread_id"] for entry in cut.lists["finished_swept"]] == ["f1"]


def test_batches_are_read_until_every_list_is_full_or_whole() -> None:
    failing = deleted(2, 2)
    failing.outcomes[1] = ThreadOutcome(Outcome.FAILED, "will not go")
    counts = deleted(0, 2).counts() + failing.counts() + deleted(4, 2).counts()
    lists, batches = ThreadLists(2), iter([deleted(0, 2), failing, deleted(4, 2)])
    lists.add_batches(batches, counts)
    assert [entry["thread_id"] for entry in lists.lists["finished_swept"]] == ["t0", "t1"]
    assert [entry["thread_id"] for entry in lists.lists["failed"]] == ["t3"]
    assert lists.truncated
    assert [batch.number for batch in batches] == [4]


def test_counts_that_were_lost_hide_no_thread() -> None:
    lists = ThreadLists(9)
    lists.add_batches([deleted(0, 2), deleted(2, 2)], Counts())
    assert len(lists.lists["finished_swept"]) == 4
    assert not lists.truncated


def test_a_limit_of_none_names_none() -> None:
    assert listed(0).truncated
    assert all(entries == [] for entries in listed(0).lists.values())


def test_a_result_without_threads_has_every_field() -> None:
    empty = SweepResult("r", RunOutcome.SKIPPED_LOCKED, "memory", RetentionPolicy(), STARTED)
    numbers = {name: v for name, v in empty.to_json().items() if name.endswith("_count")}
    assert set(numbers.values()) == {0}
    assert empty.to_json()["spared"] == empty.to_json()["finished_swept"] == []


@given(st.lists(st.integers(), max_size=30), st.integers(1, 10))
def test_batches_hold_every_item_once_and_only_the_last_is_shorter(
    items: list[int], size: int
) -> None:
    batches = list(in_batches(items, size))
    assert [item for batch in batches for item in batch] == items
    assert all(len(batch) == size for batch in batches[:-1])
    assert all(0 < len(batch) <= size for batch in batches[-1:])


def test_the_defaults_of_a_sweep_are_those_of_the_documents() -> None:
    options = SweepOptions()
    assert (options.batch_size, options.result_threads, options.max_delete_rounds) == (
        500,
        1000,
        100,
    )
    assert (options.max_threads, options.max_share, options.time_budget) == (None, None, None)
