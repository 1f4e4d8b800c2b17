"""What a sweep at this instant would do: the same plan and the same examination, no traces."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from retention.errors import LiveThreadFilterError
from retention.filters import ask
from retention.runs import Candidate, Counts, Outcome, RunOutcome
from retention.sweep.context import Sweep
from retention.sweep.examine import examine_all
from retention.sweep.limits import check_manager, over_limit
from retention.sweep.plan import candidates, in_batches
from retention.sweep.result import SweepResult, ThreadLists, outcome_of
from retention.threads import Rule


@dataclass(slots=True)
class _Tally:
    """What a run would count and list; a failing filter ends it, and only the plan goes on."""

    lists: ThreadLists
    counts: Counts = field(default_factory=Counts)
    planned: int = 0
    stopped: RunOutcome | None = None
    reason: str | None = None

    def add(self, sweep: Sweep, rule: Rule, batch: Sequence[Candidate]) -> None:
        """Examine a batch as a task would."""
        self.planned += len(batch)
        if self.stopped is not None:
            return
        thread_ids = [candidate.thread_id for candidate in batch]
        try:
            spared = ask(sweep.filters, thread_ids, sweep.options.filter_timeout)
        except LiveThreadFilterError as error:
            self.stopped, self.reason = RunOutcome.FAILED, str(error)
            return
        outcomes = examine_all(batch, sweep.store.threads.facts(thread_ids), rule.judge, spared)
        self.counts += Counts.of((batch[i], o) for i, o in outcomes.items())
        for index, thread in outcomes.items():
            self.lists.add(batch[index], thread)

    def refuse(self, reason: str) -> None:
        """Take all back: a refused plan deletes nothing and examines nothing."""
        self.stopped, self.reason = RunOutcome.REFUSED, reason
        self.counts, self.lists = Counts(), ThreadLists(self.lists.limit)


def dry_run(sweep: Sweep, run_id: str, *, allow_over_limit: bool = False) -> SweepResult:
    """Say what a run at this instant would answer; record nothing and take no lock.

    Raises:
        ConfigurationError: Another program runs the store, and the operator does not insist.
    """
    check_manager(sweep)
    now = sweep.clock()
    rule = sweep.rule(sweep.policy, now)
    tally = _Tally(ThreadLists(sweep.options.result_threads))
    found = candidates(sweep.store.threads, rule, sweep.options.batch_size)
    for batch in in_batches(found, sweep.options.batch_size):
        tally.add(sweep, rule, batch)
    refusal = None if allow_over_limit else over_limit(sweep, tally.planned)
    if refusal is not None:
        tally.refuse(refusal)
    return _result(sweep, run_id, tally, now)


def _result(sweep: Sweep, run_id: str, tally: _Tally, now: datetime) -> SweepResult:
    left = tally.planned - tally.counts.everything()
    unexamined = Counts({f"{Outcome.CANCELLED}:unexamined": left} if left else {})
    return SweepResult(
        run_id,
        outcome_of(tally.counts, tally.stopped),
        sweep.store.provider,
        sweep.policy,
        now,
        dry_run=True,
        planned=tally.planned,
        counts=tally.counts + unexamined,
        threads=tally.lists,
        skipped=sweep.store.waiting_skipped,
        reason=tally.reason,
        duration=sweep.clock() - now,
    )
