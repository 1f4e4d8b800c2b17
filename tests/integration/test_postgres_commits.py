"""Which transactions of a sweep wait for PostgreSQL's disk, and which a crash may take back."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from retention.policy import RetentionPolicy
from retention.ports import BatchPlan
from retention.runs import BatchKind, Candidate, Outcome, Run, RunOutcome, ThreadOutcome
from retention.threads import Horizon
from stores import Store
from stores.postgres.database import PostgresTransaction
from tests.integration.places import Place
from tests.integration.sweeping import claimed, rule_of
from tests.seeding import seed_thread

NOW = datetime.now(UTC)
UNTIL = NOW + timedelta(minutes=5)
OLD = NOW - timedelta(days=8)

Commits = Callable[[Callable[[], object]], list[str]]


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Commits:
    """How each transaction with changes commits that some work makes, in their order."""
    seen: list[str] = []
    end = PostgresTransaction.end

    def seeing(self: PostgresTransaction, how: str) -> None:
        number, setting = self.rows(
            "SELECT txid_current_if_assigned(), current_setting('synchronous_commit')"
        )[0]
        if number is not None:
            seen.append(setting)
        end(self, how)

    monkeypatch.setattr(PostgresTransaction, "end", seeing)

    def of(work: Callable[[], object]) -> list[str]:
        seen.clear()
        work()
        return list(seen)

    return of


def plan(store: Store, run_id: str) -> None:
    """Record a run of one empty batch, up to the end of its plan."""
    runs = store.runs
    assert runs.open(Run(run_id, RetentionPolicy(), NOW, UNTIL), "token")
    runs.add_batches(run_id, "token", 0, [BatchPlan(BatchKind.SWEEP)], UNTIL)
    runs.note_due(run_id, "token", dict.fromkeys(Horizon, 0), UNTIL)
    runs.end_plan(run_id, "token", UNTIL)


def test_what_opens_plans_stops_and_closes_a_run_is_on_disk(
    postgres_place: Place, commits: Commits
) -> None:
    with postgres_place.store() as store:
        assert commits(lambda: plan(store, "r")) == ["on", "off", "off", "on"]
        assert commits(lambda: store.runs.stop("r", RunOutcome.PARTIAL, "why", NOW)) == ["on"]
        assert commits(lambda: store.runs.close("r", NOW)) == ["on"]


def alone(deleter: Any) -> None:
    """Have a store's deleter taught that nobody else writes to the server."""
    deleter._met(1)
    deleter._met(1)


def test_a_batch_waits_for_no_disk_while_nobody_else_writes(
    postgres_place: Place, commits: Commits
) -> None:
    with postgres_place.store() as store, postgres_place.saver("ours") as saver:
        head = seed_thread(saver, "thread", OLD)[-1]
        alone(store.deleter)
        candidates = [Candidate("thread", Horizon.WAITING, head), Candidate("x", Horizon.WAITING)]
        claim = claimed(store, candidates, NOW)
        settle = lambda: store.deleter.settle(claim, [0], rule_of(claim).judge, {})  # noqa: E731
        failed = {1: ThreadOutcome(Outcome.FAILED, "why")}
        assert commits(settle) == ["off"]
        assert claim.batch.outcomes[0].outcome is Outcome.DELETED
        assert commits(lambda: store.runs.record(claim, failed)) == ["off"]
        assert commits(lambda: store.runs.finish_batch(claim, NOW)) == ["off"]


def test_a_batch_that_owes_deliveries_ends_on_disk(postgres_place: Place, commits: Commits) -> None:
    with postgres_place.store() as store:
        claim = claimed(store, [Candidate("thread", Horizon.WAITING)], NOW)
        end = lambda: store.runs.finish_batch(claim, NOW, owes=True)  # noqa: E731
        assert commits(end) == ["on"]


def test_a_claim_and_its_release_wait_for_no_disk(postgres_place: Place, commits: Commits) -> None:
    with postgres_place.store() as store:
        plan(store, "r")
        taken: list[Any] = []
        claim = lambda: taken.append(store.runs.claim("r", 0, "t", NOW, UNTIL))  # noqa: E731
        assert commits(claim) == ["off"]
        assert taken[0] is not None
        assert commits(lambda: store.runs.release("r", 0, "t")) == ["off"]
        assert commits(lambda: store.runs.renew("r", UNTIL)) == ["off"]


def test_what_owners_say_is_on_disk(postgres_place: Place, commits: Commits) -> None:
    with postgres_place.store() as store, postgres_place.saver("ours") as saver:
        plan(store, "r")
        store.runs.renew("r", UNTIL)
        seed_thread(saver, "thread", OLD)
        # On the connection that has just committed without waiting: the setting ended with that.
        assert commits(lambda: store.ledger.start(["thread"])) == ["on"]
        assert commits(lambda: store.ledger.mark_finished(["thread"])) == ["on"]
