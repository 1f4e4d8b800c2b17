"""Sweeping a store in the test's own process, at an instant the test names."""

import uuid
from collections.abc import Callable, Collection
from datetime import datetime

from retention.filters import FilterRegistry
from retention.policy import RetentionPolicy
from retention.ports import BatchPlan, CheckpointStore, Claim
from retention.runs import BatchKind, Candidate, Run
from retention.sweep import LocalDispatch, Sweep, SweepOptions, SweepResult, dry_run, run_sweep
from retention.threads import Rule
from tests.integration.places import later

#: Longer than the clock of any test runs ahead: nothing written now is past it.
LENIENT = RetentionPolicy(waiting_minutes=60 * 24 * 365, finished_minutes=60 * 24 * 365)


def sweep_of(
    store: CheckpointStore,
    local: LocalDispatch,
    at: datetime,
    policy: RetentionPolicy | None = None,
    options: SweepOptions | None = None,
    filters: Collection[str] = ("flows-engine",),
) -> Sweep:
    """A sweep whose clock stands at an instant."""
    chosen = FilterRegistry().select(filters, store)
    return Sweep(
        store,
        policy or RetentionPolicy(),
        chosen,
        local,
        lambda: at,
        options or SweepOptions(),
    )


def sweep(
    store: CheckpointStore,
    at: datetime | None = None,
    policy: RetentionPolicy | None = None,
    options: SweepOptions | None = None,
    filters: Collection[str] = ("flows-engine",),
    progress: Callable[[str, int], None] = lambda run_id, left: None,
) -> SweepResult:
    """Sweep a store, by default as it will be in eight days."""
    local = LocalDispatch()
    work = sweep_of(store, local, at or later(), policy, options, filters)
    return run_sweep(work, local, uuid.uuid4().hex, progress=progress)


def would_sweep(store: CheckpointStore, at: datetime | None = None) -> SweepResult:
    """What a sweep would do, by default in eight days."""
    return dry_run(sweep_of(store, LocalDispatch(), at or later()), uuid.uuid4().hex)


def claimed(store: CheckpointStore, candidates: list[Candidate], at: datetime) -> Claim:
    """A claimed batch of these candidates, in a run of its own; an earlier run is closed."""
    live = store.runs.live()
    if live is not None:
        for batch in store.runs.batches(live.run_id):
            assert batch.done_at is not None
        store.runs.close(live.run_id, at)
    until = at.replace(year=at.year + 1)
    run = Run(uuid.uuid4().hex, RetentionPolicy(), at, until)
    assert store.runs.open(run, "plan")
    plan = BatchPlan(BatchKind.SWEEP, candidates)
    store.runs.add_batches(run.run_id, "plan", 0, [plan], until)
    store.runs.end_plan(run.run_id, "plan", until)
    claim = store.runs.claim(run.run_id, 0, "token", at, until)
    assert claim is not None
    return claim


def rule_of(claim: Claim) -> Rule:
    """The rule by which a claimed batch is judged."""
    return Rule(claim.run.policy, claim.run.started_at)
