"""Operator policies as pure functions: who matches, who wins, and by whose word."""

from datetime import UTC, datetime, timedelta

import pytest

from retention import RetentionPolicy, ThreadRetention
from retention.errors import ConfigurationError
from retention.operator import (
    Governing,
    Limit,
    OperatorPolicy,
    Source,
    governing,
    matching,
    metadata_keys,
    without_waiting,
)
from retention.threads import LedgerEntry, Rule, ThreadFacts, Verdict

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PLATFORM = RetentionPolicy(60, 10)
PLATFORMS = Governing(Limit(60, Source.PLATFORM), Limit(10, Source.PLATFORM))


def ago(minutes: float) -> datetime:
    """An instant before now."""
    return NOW - timedelta(minutes=minutes)


def test_without_policies_the_platform_or_the_declaration_governs() -> None:
    assert governing(PLATFORM, None, []) == PLATFORMS
    declared = governing(PLATFORM, ThreadRetention(30), [])
    assert declared == (Limit(30, Source.DECLARED), Limit(10, Source.PLATFORM))
    capped = governing(PLATFORM, ThreadRetention(5), [])
    assert capped == (Limit(5, Source.DECLARED), Limit(5, Source.DECLARED))


def test_of_equal_ones_the_first_is_named() -> None:
    same = [OperatorPolicy(name, "x", {}, 30, 5) for name in ("a", "b")]
    found = governing(PLATFORM, ThreadRetention(30, 7), same)
    assert found == (Limit(30, Source.DECLARED), Limit(5, Source.POLICY, "a"))
    assert governing(PLATFORM, None, [OperatorPolicy("c", "x", {}, 60, 10)]) == PLATFORMS


def test_whose_word_it_is_can_be_said() -> None:
    assert [str(limit) for limit in PLATFORMS] == ["platform", "platform"]
    assert str(Limit(5, Source.POLICY, "evals")) == "policy 'evals'"
    assert Limit(5, Source.DECLARED).span == timedelta(minutes=5)


def test_a_thread_is_one_of_every_policy_that_matches_in_their_order() -> None:
    prefix = OperatorPolicy("p", "a", {}, 5)
    meta = OperatorPolicy("m", None, {"k": "v"}, 5)
    both = OperatorPolicy("b", "a", {"k": "v"}, 5)
    policies = (meta, prefix, both)
    assert matching(policies, "ab", {"k": "v"}) == [meta, prefix, both]
    assert matching(policies, "ab", None) == [prefix]
    assert matching(policies, "b", {"k": "v"}) == [meta]
    assert metadata_keys(policies) == ("k",)


def test_where_waiting_threads_go_by_themselves_the_finished_part_is_left() -> None:
    policies = (OperatorPolicy("w", "a", {}, 5), OperatorPolicy("f", "a", {}, 5, 3))
    assert without_waiting(policies) == (OperatorPolicy("f", "a", {}, None, 3),)


@pytest.mark.parametrize(
    ("entry", "due"),
    [
        (None, None),
        (LedgerEntry("t", started_at=ago(9)), None),
        (LedgerEntry("t", marked_at=ago(2), due_at=ago(-8)), ago(-1)),
        (LedgerEntry("t", marked_at=ago(2), due_at=ago(1)), ago(1)),
        (LedgerEntry("t", due_at=ago(-8)), ago(-8)),
    ],
)
def test_a_policy_counts_from_the_mark_and_only_brings_forward(
    entry: LedgerEntry | None, due: datetime | None
) -> None:
    rule = Rule(PLATFORM, NOW, policies=(OperatorPolicy("p", "t", {}, None, 3),))
    facts = ThreadFacts("t", "head", ago(20), entry)
    assert rule.due_at(facts) == due
    assert rule.due_before() > NOW + timedelta(days=36_000)


def test_a_policy_counts_from_a_write_after_the_mark() -> None:
    rule = Rule(PLATFORM, NOW, policies=(OperatorPolicy("p", "t", {}, None, 3),))
    entry = LedgerEntry("t", marked_at=ago(9), due_at=ago(-1))
    assert rule.due_at(ThreadFacts("t", "head", ago(4), entry)) == ago(1)
    assert rule.recorded_due_at(ThreadFacts("t", "head", ago(4), entry)) == ago(-6)
    assert rule.judge(ThreadFacts("t", "head", ago(4), entry)) is Verdict.FINISHED
    assert rule.due_at(ThreadFacts("other", "head", ago(4), entry._replace(thread_id="o"))) == (
        ago(-6)
    )


def test_without_a_shorter_policy_the_plan_looks_no_further_than_it_did() -> None:
    rule = Rule(PLATFORM, NOW)
    assert (rule.due_before(), rule.old_before()) == (NOW, ago(60))
    waiting = Rule(PLATFORM, NOW, policies=(OperatorPolicy("p", "t", {}, 20),))
    assert waiting.old_before() == ago(20)


@pytest.mark.parametrize("minutes", [0, -1, True, 1.5, "5"])
def test_what_is_no_number_of_minutes_is_refused(minutes: object) -> None:
    with pytest.raises(ConfigurationError, match="policy 'p': waiting_minutes must be a whole"):
        OperatorPolicy("p", "t", {}, minutes)  # type: ignore[arg-type]
