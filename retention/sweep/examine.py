"""What is to become of each thread of a batch, told from facts and filters."""

from collections.abc import Mapping, Sequence

from retention.runs import Candidate, Outcome, ThreadOutcome
from retention.threads import Horizon, Judge, ThreadFacts, Verdict

_LEFT_ALONE = {
    Verdict.HELD: Outcome.HELD,
    Verdict.LIVE: Outcome.RESTARTED,
    Verdict.UNDATABLE: Outcome.UNDATABLE,
    Verdict.GONE: Outcome.GONE,
    Verdict.UNREADABLE: Outcome.FAILED,
}


def examine(
    candidate: Candidate, facts: ThreadFacts, judge: Judge, spared: Mapping[str, str]
) -> ThreadOutcome:
    """The outcome of one thread: what a delete transaction records, and a dry run reports."""
    verdict = judge(facts)
    if verdict is Verdict.GONE and facts.entry is not None and facts.thread_id in spared:
        # Started, and parked before its first checkpoint: its entry stays for whoever waits.
        return ThreadOutcome(Outcome.SPARED, spared[facts.thread_id])
    if verdict in _LEFT_ALONE:
        return ThreadOutcome(_LEFT_ALONE[verdict], facts.fault)
    if facts.thread_id in spared:
        return ThreadOutcome(Outcome.SPARED, spared[facts.thread_id])
    if candidate.horizon is Horizon.FINISHED and verdict is Verdict.WAITING:
        # Its mark was taken back or moved while it is past the waiting horizon all the same:
        # the next plan finds it there.
        return ThreadOutcome(Outcome.RESTARTED)
    return ThreadOutcome(Outcome.DELETED, head=facts.head)


def examine_all(
    candidates: Sequence[Candidate],
    facts: Mapping[str, ThreadFacts],
    judge: Judge,
    spared: Mapping[str, str],
) -> dict[int, ThreadOutcome]:
    """The outcome of each candidate, by position; one without facts is busy."""
    return {
        index: examine(candidate, facts[candidate.thread_id], judge, spared)
        if candidate.thread_id in facts
        else ThreadOutcome(Outcome.BUSY)
        for index, candidate in enumerate(candidates)
    }
