"""Runs of another worker, for tests of what the command says of them."""

from datetime import timedelta
from pathlib import Path

from retention.policy import RetentionPolicy
from retention.ports import BatchPlan, Claim
from retention.runs import BatchKind, Candidate, Run
from retention.threads import Horizon
from stores import Store, open_store
from stores.options import now


def begin_run(store: Store, run_id: str = "live-run") -> Claim:
    """Open a run with two batches of five threads; the first one is claimed."""
    until = now() + timedelta(hours=1)
    run = Run(run_id, RetentionPolicy(), now() - timedelta(seconds=10), until)
    assert store.runs.open(run, "token")
    some = [Candidate(f"thread-{n}", Horizon.WAITING) for n in range(10)]
    plans = [BatchPlan(BatchKind.SWEEP, some[:5]), BatchPlan(BatchKind.SWEEP, some[5:])]
    store.runs.add_batches(run_id, "token", 0, plans, until)
    store.runs.end_plan(run_id, "token", until)
    claim = store.runs.claim(run_id, 0, "claim", now(), until)
    assert claim is not None
    return claim


def live_run(path: Path) -> None:
    """Record a run of another worker that has begun with one of its two batches."""
    with open_store(str(path)) as store:
        begin_run(store)
