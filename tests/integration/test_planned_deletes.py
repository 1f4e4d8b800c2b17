"""What a delete on PostgreSQL does without a look of its own, and when it looks again."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from retention.ports import Claim
from retention.runs import Candidate, Outcome
from retention.threads import Hold, Horizon
from stores import Store
from stores.postgres.rows import PostgresRows
from tests.integration.places import Place
from tests.integration.sweeping import claimed, rule_of
from tests.seeding import seed_thread

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)


@pytest.fixture
def heads(postgres_place: Place) -> dict[str, str]:
    """Three old threads and their heads, as a plan records them."""
    with postgres_place.saver("ours") as saver:
        return {t: seed_thread(saver, t, OLD, checkpoints=2)[-1] for t in ("a", "b", "c")}


def delete_as_planned(store: Store, heads: Mapping[str, str]) -> set[str]:
    """Delete these threads, as far as no more is known of them."""
    deleter: Any = store.deleter
    with deleter._db.transaction() as tx:
        deleted: set[str] = deleter._rows.delete_as_planned(tx, heads)
    return deleted


def moved(place: Place, store: Store, head: str) -> None:
    with place.saver("stock") as saver:
        seed_thread(saver, "b", OLD + timedelta(hours=1), parent=head)


def foreign(place: Place, store: Store, head: str) -> None:
    """An id that only its checkpoint can date; the head stays the newest by its text."""
    place.query(
        "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint)"
        f" VALUES ('b', '1', '{{\"ts\": \"{NOW.isoformat()}\"}}')"
    )


def upper_case(place: Place, store: Store, head: str) -> None:
    """An id of the right form, and with digits that sort in another order."""
    place.query(
        "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint)"
        f" VALUES ('b', '{'0AAAAAAA' + head[8:]}', '{{}}')"
    )


def started(place: Place, store: Store, head: str) -> None:
    store.ledger.start(["b"])


def held(place: Place, store: Store, head: str) -> None:
    store.ledger.hold(["b"], Hold("why"))


def asked(place: Place, store: Store, head: str) -> None:
    store.asks.open_ask("b", "ask", NOW + timedelta(days=1))


@pytest.mark.parametrize("change", [moved, foreign, upper_case, started, held, asked])
def test_a_thread_of_which_more_is_known_than_the_plan_knew_is_left_for_a_look(
    postgres_place: Place,
    heads: dict[str, str],
    change: Callable[[Place, Store, str], None],
) -> None:
    with postgres_place.store() as store:
        change(postgres_place, store, heads["b"])
        before = postgres_place.rows("b")
        assert delete_as_planned(store, heads) == {"a", "c"}
    assert (postgres_place.rows("a"), postgres_place.rows("b")) == ({}, before)


def test_a_thread_that_was_planned_by_another_head_stays(
    postgres_place: Place, heads: dict[str, str]
) -> None:
    with postgres_place.store() as store:
        assert delete_as_planned(store, {**heads, "b": heads["a"]}) == {"a", "c"}
    assert postgres_place.rows("b") != {}


@contextmanager
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[set[str]]]:
    """The threads of each look again."""
    seen: list[set[str]] = []
    remnants = PostgresRows.remnants

    def seeing(self: Any, tx: Any, heads: Mapping[str, str], *, whole: bool) -> set[str]:
        seen.append(set(heads))
        return remnants(self, tx, heads, whole=whole)

    with monkeypatch.context() as patch:
        patch.setattr(PostgresRows, "remnants", seeing)
        yield seen


def settled(store: Store, heads: Mapping[str, str]) -> Claim:
    """A batch of these threads, deleted."""
    claim = claimed(store, [Candidate(t, Horizon.WAITING, h) for t, h in heads.items()], NOW)
    store.deleter.settle(claim, range(len(heads)), rule_of(claim).judge, {})
    assert {o.outcome for o in claim.batch.outcomes.values()} == {Outcome.DELETED}
    return claim


def late_write(connection: psycopg.Connection[Any], thread_id: str, head: str) -> None:
    """What a run that goes on writes into its thread."""
    connection.execute(
        "INSERT INTO checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, blob)"
        " VALUES (%s, %s, 'task', 7, 'messages', '')",
        (thread_id, head),
    )


def test_a_delete_beside_which_nobody_wrote_needs_no_look(
    postgres_place: Place, heads: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres_place.store() as store, looks(monkeypatch) as seen:
        settled(store, heads)
        assert store.deleter.remnants(heads, whole=False) == set()
        assert seen == []
        assert store.deleter.remnants(heads, whole=True) == set()
        assert store.deleter.remnants({**heads, "d": heads["a"]}, whole=False) == set()
        assert seen == [set(heads), {*heads, "d"}]


def test_a_write_committed_after_the_delete_is_looked_for_and_found(
    postgres_place: Place, heads: dict[str, str]
) -> None:
    with postgres_place.store() as store, psycopg.connect(postgres_place.address) as stock:
        settled(store, heads)
        late_write(stock, "b", heads["b"])
        stock.commit()
        assert store.deleter.remnants(heads, whole=False) == {"b"}


def test_a_write_under_way_at_the_delete_is_looked_for_and_found(
    postgres_place: Place, heads: dict[str, str]
) -> None:
    with postgres_place.store() as store, psycopg.connect(postgres_place.address) as stock:
        late_write(stock, "b", heads["b"])
        settled(store, heads)
        stock.commit()
        assert store.deleter.remnants(heads, whole=False) == {"b"}


def test_a_write_begun_within_the_delete_is_looked_for_and_found(
    postgres_place: Place, heads: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the numbers were read, and before the delete has one of its own."""
    delete = PostgresRows.delete_as_planned
    with postgres_place.store() as store, psycopg.connect(postgres_place.address) as stock:

        def beside(self: Any, tx: Any, heads: Mapping[str, str]) -> set[str]:
            late_write(stock, "b", heads["b"])
            deleted = delete(self, tx, heads)
            stock.commit()
            return deleted

        monkeypatch.setattr(PostgresRows, "delete_as_planned", beside)
        settled(store, heads)
        assert store.deleter.remnants(heads, whole=False) == {"b"}


def test_tables_with_a_trigger_are_always_looked_at(
    postgres_place: Place, heads: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trigger may keep rows without an error, or write some, within the delete itself."""
    postgres_place.query(
        "CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
    )
    postgres_place.query(
        "CREATE TRIGGER kept BEFORE DELETE ON checkpoint_writes FOR EACH ROW"
        " WHEN (OLD.thread_id = 'b') EXECUTE FUNCTION kept()"
    )
    with postgres_place.store() as store, looks(monkeypatch) as seen:
        settled(store, heads)
        assert store.deleter.remnants(heads, whole=False) == {"b"}
    assert seen == [set(heads)]
