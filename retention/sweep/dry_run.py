"""What a sweep at this instant would do: the same plan and the same examination, no traces."""

from collections.abc import Sequence

from retention.errors import LiveThreadFilterError
from retention.filters import ask
from retention.runs import Candidate, Counts, RunOutcome, ThreadOutcome
from retention.sweep.context import Sweep
from retention.sweep.examine import examine_all
from retention.sweep.plan import candidates, in_batches
from retention.sweep.result import SweepResult, ThreadLists, outcome_of
from retention.threads import Rule


def dry_run(sweep: Sweep, run_id: str) -> SweepResult:
    """Examine every candidate; record nothing and take no lock."""
    now = sweep.clock()
    rule = sweep.rule(sweep.policy, now)
    lists = ThreadLists(sweep.options.result_threads)
    counts, planned, reason = Counts(), 0, None
    try:
        for batch in in_batches(
            candidates(sweep.store.threads, rule, sweep.options.batch_size),
            sweep.options.batch_size,
        ):
            outcomes = _examine(sweep, rule, batch)
            planned += len(batch)
            counts += Counts.of((batch[i], o) for i, o in outcomes.items())
            for index, thread in outcomes.items():
                lists.add(batch[index], thread)
    except LiveThreadFilterError as error:
        reason = str(error)
    return SweepResult(
        run_id,
        RunOutcome.FAILED if reason else outcome_of(counts, None),
        sweep.store.provider,
        sweep.policy,
        now,
        dry_run=True,
        planned=planned,
        counts=counts,
        threads=lists,
        skipped=sweep.store.waiting_skipped,
        reason=reason,
        duration=sweep.clock() - now,
    )


def _examine(sweep: Sweep, rule: Rule, batch: Sequence[Candidate]) -> dict[int, ThreadOutcome]:
    thread_ids = [candidate.thread_id for candidate in batch]
    facts = sweep.store.threads.facts(thread_ids)
    return examine_all(batch, facts, rule.judge, ask(sweep.filters, thread_ids))
