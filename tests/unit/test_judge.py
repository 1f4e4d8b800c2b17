"""The one rule that says whether a thread may go: a table of every verdict."""

from datetime import UTC, datetime, timedelta

import pytest

from retention import RetentionPolicy, ThreadRetention
from retention.threads import Hold, LedgerEntry, Rule, ThreadFacts, Verdict

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
#: Waiting an hour, finished ten minutes.
POLICY = RetentionPolicy(60, 10)
RULE = Rule(POLICY, NOW)
SHORT = ThreadRetention(waiting_minutes=20, finished_minutes=5)
FOREVER = Hold("audit")


def ago(minutes: float) -> datetime:
    """An instant before now; after it if negative."""
    return NOW - timedelta(minutes=minutes)


def entry(
    started: float | None = None,
    marked: float | None = None,
    due: float | None = None,
    declared: ThreadRetention | None = None,
    hold: Hold | None = None,
) -> LedgerEntry:
    """A ledger entry with its instants in minutes before now."""
    started_at, marked_at, due_at = (None if m is None else ago(m) for m in (started, marked, due))
    return LedgerEntry("t", started_at, marked_at, due_at, declared, None, hold)


def facts(head: float | None, kept: LedgerEntry | None = None) -> ThreadFacts:
    """A thread whose head is so many minutes old; None holds no checkpoint."""
    if head is None:
        return ThreadFacts("t", None, None, kept)
    return ThreadFacts("t", "head", ago(head), kept)


def undatable(kept: LedgerEntry | None = None) -> ThreadFacts:
    """A thread whose head tells no time."""
    return ThreadFacts("t", "head", None, kept)


LIVE, WAITING, FINISHED = Verdict.LIVE, Verdict.WAITING, Verdict.FINISHED

TABLE: dict[str, tuple[ThreadFacts, Verdict]] = {
    # Nobody said anything of it.
    "young": (facts(59.9), LIVE),
    "old to the minute": (facts(60), WAITING),
    "old": (facts(61), WAITING),
    "from the future": (facts(-5), LIVE),
    "nothing at all": (facts(None), Verdict.GONE),
    # Marked finished.
    "mark not due": (facts(30, entry(marked=9, due=-1)), LIVE),
    "mark due to the minute": (facts(30, entry(marked=10, due=0)), FINISHED),
    "mark due": (facts(30, entry(marked=20, due=10)), FINISHED),
    "mark not due, but waiting too long": (facts(61, entry(marked=9, due=-1)), WAITING),
    "mark due and waiting too long": (facts(61, entry(marked=20, due=10)), FINISHED),
    # A write after the mark counts the finished retention from the head.
    "written after the mark, not due": (facts(9, entry(marked=20, due=10)), LIVE),
    "written after the mark, due": (facts(10, entry(marked=20, due=10)), FINISHED),
    "written at the mark": (facts(20, entry(marked=20, due=15)), FINISHED),
    "a write never moves the due time forward": (facts(19, entry(marked=20, due=-1)), LIVE),
    "mark without its instant": (facts(1, entry(due=10)), FINISHED),
    # Started again.
    "restarted": (facts(90, entry(started=59)), LIVE),
    "restarted long ago": (facts(90, entry(started=60)), WAITING),
    "start older than its head": (facts(30, entry(started=90)), LIVE),
    "started, then marked and due": (facts(30, entry(started=40, marked=20, due=10)), FINISHED),
    # Declared retention.
    "declared waiting is over": (facts(20, entry(started=25, declared=SHORT)), WAITING),
    "declared waiting is not over": (facts(19, entry(started=25, declared=SHORT)), LIVE),
    "restart counts for the declared one": (facts(50, entry(started=19, declared=SHORT)), LIVE),
    "declared above the platform's is capped": (
        facts(60, entry(declared=ThreadRetention(waiting_minutes=500))),
        WAITING,
    ),
    "declared finished counts from a late write": (
        facts(5, entry(marked=9, due=4, declared=SHORT)),
        FINISHED,
    ),
    "declared finished, late write too young": (
        facts(4.9, entry(marked=9, due=4, declared=SHORT)),
        LIVE,
    ),
    # Held by an operator.
    "held past the finished horizon": (
        facts(30, entry(marked=20, due=10, hold=FOREVER)),
        Verdict.HELD,
    ),
    "held past the waiting horizon": (facts(61, entry(hold=FOREVER)), Verdict.HELD),
    "held until later": (facts(61, entry(hold=Hold("audit", ago(-1)))), Verdict.HELD),
    "held until now": (facts(61, entry(hold=Hold("audit", NOW))), WAITING),
    "held until earlier": (facts(61, entry(hold=Hold("audit", ago(1)))), WAITING),
    "held, but past no horizon": (facts(59, entry(hold=FOREVER)), LIVE),
    "held without a checkpoint": (facts(None, entry(started=61, hold=FOREVER)), Verdict.HELD),
    # No time to be told.
    "undatable": (undatable(), Verdict.UNDATABLE),
    "undatable, started long ago": (undatable(entry(started=500)), Verdict.UNDATABLE),
    "undatable, mark not due": (undatable(entry(marked=9, due=-1)), Verdict.UNDATABLE),
    "undatable, mark due": (undatable(entry(marked=20, due=10)), FINISHED),
    "undatable, held": (undatable(entry(hold=FOREVER)), Verdict.UNDATABLE),
    "undatable, mark due, held": (
        undatable(entry(marked=20, due=10, hold=FOREVER)),
        Verdict.HELD,
    ),
    # Only the ledger knows of it.
    "ledger only, mark due": (facts(None, entry(marked=20, due=10)), Verdict.GONE),
    "ledger only, mark not due": (facts(None, entry(marked=9, due=-1)), LIVE),
    "ledger only, started lately": (facts(None, entry(started=59)), LIVE),
    "ledger only, started long ago": (facts(None, entry(started=61)), Verdict.GONE),
    "ledger only, no instant": (facts(None, entry()), LIVE),
}


@pytest.mark.parametrize("case", TABLE)
def test_the_verdict_of(case: str) -> None:
    known, verdict = TABLE[case]
    assert RULE.judge(known) is verdict


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        (facts(90), LIVE),
        (facts(90, entry(started=90, declared=SHORT)), LIVE),
        (facts(90, entry(marked=20, due=10)), FINISHED),
        (undatable(), LIVE),
        (undatable(entry(marked=20, due=10)), FINISHED),
        (facts(90, entry(marked=20, due=10, hold=FOREVER)), Verdict.HELD),
        (facts(None), Verdict.GONE),
    ],
)
def test_where_waiting_threads_go_by_themselves_only_marks_count(
    known: ThreadFacts, verdict: Verdict
) -> None:
    assert Rule(POLICY, NOW, sweeps_waiting=False).judge(known) is verdict


def test_a_mark_keeps_its_due_time_when_the_platform_value_changes_later() -> None:
    known = facts(30, entry(marked=20, due=10))
    assert Rule(RetentionPolicy(60, 60), NOW).due_at(known) == ago(10)


def test_a_thread_without_any_time_expires_never() -> None:
    assert RULE.expires_at(facts(None, entry())) is None
    assert RULE.expires_at(undatable(entry(started=1))) is None
    assert RULE.due_at(facts(1)) is None
