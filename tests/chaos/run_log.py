"""What the run log says was deleted."""

from retention.runs import BatchKind, Outcome, Run
from stores import Store


def closed_runs(store: Store) -> list[Run]:
    """All runs that ended."""
    return [run for run in store.runs.history(100_000) if run.closed_at is not None]


def recorded_deletes(store: Store) -> list[str]:
    """The threads that the batches of all closed runs recorded as deleted, each as often."""
    return [
        batch.candidates[index].thread_id
        for run in closed_runs(store)
        for batch in store.runs.batches(run.run_id)
        if batch.kind is BatchKind.SWEEP
        for index, thread in batch.outcomes.items()
        if thread.outcome is Outcome.DELETED
    ]


def counted_deletes(store: Store) -> dict[str, int]:
    """Deleted threads by the totals, and by the sum of all runs."""
    totals = store.runs.totals()
    return {
        "totals": sum(n for name, n in totals.items() if name.startswith("deleted:")),
        "runs": sum(run.counts.total(Outcome.DELETED) for run in closed_runs(store)),
    }


def assert_deleted_once(store: Store, due: list[str]) -> None:
    """Each of these threads was deleted once, no other was, and every count says so."""
    assert sorted(recorded_deletes(store)) == sorted(due)
    assert counted_deletes(store) == {"totals": len(due), "runs": len(due)}
