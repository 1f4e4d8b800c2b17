"""The records of a run: its batches, their outcomes and counts, and how they are written down."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retention import RetentionPolicy
from retention.runs import (
    Batch,
    Candidate,
    Counts,
    Outcome,
    Run,
    RunOutcome,
    ThreadOutcome,
)
from retention.sweep.result import outcome_of
from retention.threads import Horizon
from stores.runlog import encoding

NOW = datetime(2026, 6, 1, tzinfo=UTC)
F, W = Horizon.FINISHED, Horizon.WAITING

texts = st.text(st.characters(exclude_categories=["Cs"]))
threads = st.builds(Candidate, texts, st.sampled_from(Horizon), st.none() | texts)
outcomes = st.builds(ThreadOutcome, st.sampled_from(Outcome), st.none() | texts, st.none() | texts)


def counted(*pairs: tuple[Horizon, ThreadOutcome]) -> Counts:
    """The counts of some outcomes."""
    return Counts.of((Candidate("t", horizon), outcome) for horizon, outcome in pairs)


def test_counts_are_kept_by_outcome_horizon_and_owner() -> None:
    counts = counted(
        (F, ThreadOutcome(Outcome.DELETED)),
        (W, ThreadOutcome(Outcome.DELETED)),
        (W, ThreadOutcome(Outcome.DELETED)),
        (W, ThreadOutcome(Outcome.SPARED, "a")),
        (W, ThreadOutcome(Outcome.SPARED, "b:waiting")),
        (F, ThreadOutcome(Outcome.FAILED, "an error")),
    )
    assert counts.values == {
        "deleted:finished": 1,
        "deleted:waiting": 2,
        "spared:waiting:a": 1,
        "spared:waiting:b:waiting": 1,
        "failed:finished": 1,
    }
    assert counts.total(Outcome.DELETED) == 3
    assert counts.total(Outcome.DELETED, W) == 2
    assert counts.total(Outcome.SPARED, W) == counts.total(Outcome.SPARED) == 2
    assert counts.total(Outcome.SPARED, F) == 0
    assert counts.everything() == 6


@given(st.lists(outcomes), st.lists(outcomes))
def test_counts_add_up(some: list[ThreadOutcome], more: list[ThreadOutcome]) -> None:
    pairs = [[(W, outcome) for outcome in group] for group in (some, more)]
    both = counted(*pairs[0]) + counted(*pairs[1])
    assert both == counted(*pairs[0], *pairs[1])
    assert both.everything() == len(some) + len(more)
    assert sum(both.total(outcome) for outcome in Outcome) == both.everything()


def test_a_batch_knows_what_is_open_and_what_it_deleted() -> None:
    batch = Batch("r", 0, [Candidate(name, F, "planned") for name in "abcd"])
    batch.outcomes = {
        3: ThreadOutcome(Outcome.DELETED, head="h3"),
        0: ThreadOutcome(Outcome.DELETED, head="h0"),
        1: ThreadOutcome(Outcome.GONE),
    }
    assert batch.open_indexes() == [2]
    # Late writes are held against the head at the delete, not against that of the plan.
    assert batch.deleted() == [Candidate("a", F, "h0"), Candidate("d", F, "h3")]
    assert batch.counts().values == {"deleted:finished": 2, "gone:finished": 1}


@pytest.mark.parametrize(
    ("lease", "closed", "stale"), [(-1, False, True), (0, False, False), (-1, True, False)]
)
def test_a_run_is_stale_when_its_lease_ran_out_and_it_is_not_closed(
    lease: int, closed: bool, stale: bool
) -> None:
    until = NOW + timedelta(seconds=lease)
    run = Run("r", RetentionPolicy(), NOW, until, closed_at=NOW if closed else None)
    assert run.is_stale(NOW) is stale


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome.DELETED, RunOutcome.COMPLETED),
        (Outcome.SPARED, RunOutcome.COMPLETED),
        (Outcome.HELD, RunOutcome.COMPLETED),
        (Outcome.RESTARTED, RunOutcome.COMPLETED),
        (Outcome.BUSY, RunOutcome.COMPLETED),
        (Outcome.UNDATABLE, RunOutcome.COMPLETED),
        (Outcome.GONE, RunOutcome.COMPLETED),
        (Outcome.CLEANED, RunOutcome.COMPLETED),
        (Outcome.FAILED, RunOutcome.PARTIAL),
        (Outcome.CANCELLED, RunOutcome.PARTIAL),
    ],
)
def test_only_threads_that_failed_or_were_left_make_a_run_partial(
    outcome: Outcome, expected: RunOutcome
) -> None:
    counts = counted((W, ThreadOutcome(outcome)))
    assert outcome_of(counts, None) is expected
    assert outcome_of(counts, RunOutcome.FAILED) is RunOutcome.FAILED


@given(st.lists(threads, max_size=5))
def test_candidates_come_back_as_they_were_written(some: list[Candidate]) -> None:
    assert encoding.load_candidates(encoding.dump_candidates(some)) == some


@given(st.dictionaries(st.integers(0), outcomes, max_size=5))
def test_outcomes_come_back_as_they_were_written(some: dict[int, ThreadOutcome]) -> None:
    assert encoding.load_outcomes(encoding.dump_outcomes(some)) == some


@given(st.dictionaries(texts, st.integers(0), max_size=5))
def test_counts_come_back_as_they_were_written(some: dict[str, int]) -> None:
    assert encoding.load_counts(encoding.dump_counts(Counts(some))) == Counts(some)


def test_all_that_is_written_down_is_ascii_without_nul() -> None:
    """So that any id that a store holds fits into its text column."""
    odd = Candidate("\x00é\U0001f600\n", W, None)
    written = encoding.dump_candidates([odd])
    assert written.isascii()
    assert "\x00" not in written
    assert encoding.load_candidates(written) == [odd]
