"""What the planner reads on PostgreSQL: indexes only, however many threads there are."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import psycopg
import pytest

from retention.ids import lowest_id_at
from retention.policy import RetentionPolicy
from retention.sweep.plan import candidates
from retention.threads import Rule
from stores import Store
from stores.relational.database import Answer, Row, Statement, Transaction
from tests.integration.places import Place
from tests.servers import Postgres

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
THREADS = 20_000
#: Columns that hold state, or may.
STATE = {"blob", "checkpoint", "metadata", "channel_values"}


@pytest.fixture(scope="module")
def full_place(postgres_server: Postgres) -> Iterator[Place]:
    """20,000 threads of 5 checkpoints, each with a blob and a write, analyzed and vacuumed."""
    name = postgres_server.create_database()
    place = Place("postgres", postgres_server.dsn(name))
    with place.store():
        pass
    seed(place, THREADS)
    vacuum(place)
    yield place
    postgres_server.drop_database(name)


def head_of(checkpoint: int) -> str:
    """The id of a seeded checkpoint."""
    return f"{lowest_id_at(OLD)[:23]}-{checkpoint:012}"


def seed(place: Place, threads: int) -> None:
    """Threads of 5 checkpoints, each with a blob and a write, by SQL."""
    each = f"FROM generate_series(1, {threads}) AS t, generate_series(1, 5) AS c"
    thread, checkpoint = "'thread-' || t", f"'{lowest_id_at(OLD)[:24]}' || lpad(c::text, 12, '0')"
    place.query(
        "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint)"
        f" SELECT {thread}, {checkpoint}, jsonb_build_object('ts', 'x', 'v', 4) {each}"
    )
    place.query(
        "INSERT INTO checkpoint_blobs (thread_id, channel, version, type, blob)"
        f" SELECT {thread}, 'messages', c::text, 'msgpack', '\\x00' {each}"
    )
    place.query(
        "INSERT INTO checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, blob)"
        f" SELECT {thread}, {checkpoint}, 'task', 0, 'messages', '\\x00' {each}"
    )


def vacuum(place: Place) -> None:
    """Give the planner its figures and its visibility map."""
    with psycopg.connect(place.address, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


class Explaining:
    """A transaction that keeps the plan of each statement that it runs."""

    def __init__(self, tx: Transaction) -> None:
        self.plans: list[dict[str, Any]] = []
        self._tx = tx

    def rows(self, statement: str, **params: Any) -> list[Row]:
        explained = self._tx.rows(f"EXPLAIN (FORMAT JSON, VERBOSE) {statement}", **params)[0][0]
        plans = json.loads(explained) if isinstance(explained, str) else explained
        self.plans.append(plans[0]["Plan"])
        return self._tx.rows(statement, **params)

    def change(self, statement: str, **params: Any) -> int:
        self.rows(statement, **params)
        return 0

    def together(self, *statements: Statement) -> list[Answer]:
        rows = [self.rows(statement.text, **statement.params) for statement in statements]
        return [Answer(len(found), found) for found in rows]

    def change_many(self, statement: str, params: Sequence[Mapping[str, Any]]) -> None:
        raise NotImplementedError


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All nodes of a plan."""
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


def faults(plans: list[dict[str, Any]]) -> list[str]:
    """What reads a whole table, or a column that holds state."""
    found = []
    for node in (node for plan in plans for node in nodes(plan)):
        relation = str(node.get("Relation Name", ""))
        if relation.startswith("checkpoint") and node["Node Type"] == "Seq Scan":
            found.append(f"Seq Scan on {relation}")
        columns = {str(column).rpartition(".")[2] for column in node.get("Output", [])}
        found += [f"{relation}.{column}" for column in columns & STATE]
    return found


def some(count: int, of: int = THREADS) -> list[str]:
    """Ids of threads that are there, all over the table."""
    return [f"thread-{n}" for n in range(1, of, of // count)][:count]


Read = Callable[[Any, Any, dict[str, str]], Collection[str]]
READS: dict[str, Read] = {
    "head_page": lambda rows, tx, heads: rows.head_page(
        tx, (lowest_id_at(NOW), "z"), "thread-1", len(heads)
    ),
    "heads": lambda rows, tx, heads: rows.heads(tx, list(heads)),
    "holding": lambda rows, tx, heads: rows.holding(tx, list(heads)),
    # None is parked.
    "interrupted": lambda rows, tx, heads: rows.interrupted(tx, list(heads)) or heads,
    "failed": lambda rows, tx, heads: rows.failed(tx, list(heads)) or heads,
    "remnants": lambda rows, tx, heads: rows.remnants(tx, heads, whole=True),
    "remnants_from_head": lambda rows, tx, heads: rows.remnants(tx, heads, whole=False),
}


@contextmanager
def explained(store: Store) -> Iterator[tuple[Any, Explaining]]:
    """The rows of a store, and a transaction that explains and is rolled back."""
    deleter: Any = store.deleter
    with suppress(LookupError), deleter._db.transaction() as tx:
        yield deleter._rows, Explaining(tx)
        raise LookupError


@pytest.mark.parametrize("count", [1, 50, 500])
@pytest.mark.parametrize("read", READS)
def test_what_a_sweep_looks_for_is_answered_by_indexes_alone(
    full_place: Place, read: str, count: int
) -> None:
    heads = dict.fromkeys(some(count), lowest_id_at(OLD))
    with full_place.store() as store, explained(store) as (rows, explaining):
        assert len(READS[read](rows, explaining, heads)) == count
    assert faults(explaining.plans) == []


@pytest.mark.parametrize("count", [1, 50, 500])
def test_what_policies_ask_of_heads_is_found_by_index_and_is_their_metadata_alone(
    full_place: Place, count: int
) -> None:
    with full_place.store() as store, explained(store) as (rows, explaining):
        found = rows.heads(explaining, some(count))
        heads = {thread_id: head for thread_id, (head, _) in found.items()}
        explaining.plans.clear()
        assert rows.head_metadata(explaining, heads, ["graph_id", "tenant"]) == {}
    assert len(explaining.plans) == 1
    assert {fault.rpartition(".")[2] for fault in faults(explaining.plans)} == {"metadata"}


def test_what_operators_ask_of_threads_is_found_by_index(full_place: Place) -> None:
    with full_place.store() as store, explained(store) as (rows, explaining):
        assert len(rows.sizes(explaining, some(500))) == 500
        assert rows.holdings(explaining, "thread-1")["checkpoints"] > 0
        assert rows.erase(explaining, "thread-1")["checkpoints"] > 0
    assert not [fault for fault in faults(explaining.plans) if fault.startswith("Seq Scan")]


def test_a_table_that_was_never_analyzed_is_read_by_index_too(postgres_place: Place) -> None:
    with postgres_place.store() as store:
        # What a restore or a bulk load leaves behind until somebody gathers statistics.
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            postgres_place.query(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        seed(postgres_place, threads=5_000)
        heads = dict.fromkeys(some(500, of=5_000), head_of(5))
        with explained(store) as (rows, explaining):
            for read in READS.values():
                assert len(read(rows, explaining, heads)) == 500
            assert len(rows.delete_as_planned(explaining, heads)) == 500
        with explained(store) as (rows, again):
            assert len(rows.delete(again, heads)) == 500
        explaining.plans += again.plans
    kinds = [node["Node Type"] for plan in explaining.plans for node in nodes(plan)]
    assert not {"Seq Scan", "HashAggregate"} & set(kinds)


@pytest.mark.parametrize("count", [1, 50, 500])
def test_a_delete_finds_its_rows_by_index(full_place: Place, count: int) -> None:
    ids = some(count)
    with full_place.store() as store:
        heads = {t: facts.head for t, facts in store.threads.facts(ids).items()}
        with explained(store) as (rows, explaining):
            assert rows.delete_as_planned(explaining, heads) == set(ids)
        with explained(store) as (rows, again):
            assert rows.delete(again, heads) == set(ids)
        explaining.plans += again.plans
    assert [fault for fault in faults(explaining.plans) if "Seq Scan" in fault] == []
    assert full_place.rows(ids[0]) != {}


def test_between_two_pages_of_a_plan_no_transaction_holds_vacuum_back(full_place: Place) -> None:
    with full_place.store() as store:
        deleter: Any = store.deleter
        with deleter._db.connected() as connection:
            pid = connection.info.backend_pid
        found = candidates(store.threads, Rule(RetentionPolicy(), NOW), 500)
        for _ in range(3):
            assert len(list(islice(found, 500))) == 500
            seen = full_place.query(
                f"SELECT state, backend_xmin IS NULL FROM pg_stat_activity WHERE pid = {pid}"
            )
            assert seen == [("idle", True)]
