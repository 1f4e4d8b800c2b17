"""What a store on PostgreSQL needs of its role, its schema and whoever pools its connections."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.base import MIGRATIONS
from psycopg import sql

from retention.errors import ConfigurationError, StoreError, StoreUnavailableError
from retention.runs import Outcome, RunOutcome
from retention.sweep import LocalDispatch, SweepOptions, pause, resume, run_sweep
from stores import Access, Store, init_store
from stores.opening import store_ddl
from tests.integration.graphs import NOTHING, agent_on, asking, chain
from tests.integration.places import Place
from tests.integration.pooler import PgBouncer, dropping_options
from tests.integration.sweeping import sweep, sweep_of, would_sweep
from tests.seeding import config_of, seed_thread, seed_threads
from tests.servers import Postgres, PostgresServer, ServiceMissingError, run_role_script

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
PASSWORD = "hid/den@pass"
STOCK_TABLES = "checkpoints, checkpoint_blobs, checkpoint_writes"
OWN_TABLES = (
    "retention_threads, retention_runs, retention_batches, retention_totals, retention_format, "
    "retention_pauses, retention_asks, retention_barriers"
)


@pytest.fixture
def role(postgres_server: Postgres) -> Iterator[str]:
    """A role that owns nothing; ask for it before the database, which goes first at the end."""
    name = f"role_{uuid.uuid4().hex[:12]}"
    made = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
    postgres_server.execute(made.format(sql.Identifier(name), sql.Literal(PASSWORD)))
    yield name
    postgres_server.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.fixture
def as_role(role: str, postgres_server: Postgres, postgres_place: Place) -> Place:
    """The database as the role sees it."""
    with psycopg.connect(postgres_place.address) as connection:
        database = connection.info.dbname
    return Place("postgres", postgres_server.dsn(database, role, PASSWORD))


def seed_stock(place: Place, *, adopts: bool = True) -> None:
    """One old thread and one young, by the stock saver."""
    with place.stock_saver() as saver:
        seed_thread(saver, "old", OLD, checkpoints=2)
        seed_thread(saver, "young", NOW)
    if adopts:
        place.adopt()


def refused(place: Place, access: Access) -> str:
    """The one line with which opening a store is refused."""
    with pytest.raises(ConfigurationError) as caught, place.store(access=access):
        pass
    line = str(caught.value)
    assert "\n" not in line
    assert PASSWORD not in line
    assert quote(PASSWORD, safe="") not in line
    return line


def test_a_role_that_only_reads_can_make_a_dry_run(
    role: str, as_role: Place, postgres_place: Place
) -> None:
    seed_stock(postgres_place)
    run_role_script("reader-role.sql", postgres_place.address, role=role)
    with as_role.store(access=Access.READ) as store:
        assert would_sweep(store, NOW).to_json()["waiting_swept"] == ["old"]
        with pytest.raises(StoreError, match="read-only"):
            sweep(store, NOW)
    assert postgres_place.rows("old")["checkpoints"] == 2


@pytest.mark.parametrize("access", [Access.WRITE, Access.CREATE])
def test_a_role_that_may_not_make_our_tables_is_told_what_prints_them(
    role: str, as_role: Place, postgres_place: Place, access: Access
) -> None:
    with postgres_place.stock_saver():
        pass
    postgres_place.query(f"GRANT SELECT, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
    assert "`retention store init --print-sql`" in refused(as_role, access)
    assert "permission denied" in refused(as_role, access)


def test_a_role_that_may_not_make_the_stock_tables_is_told_what_prints_them(
    role: str, as_role: Place
) -> None:
    assert "`retention store init --print-sql`" in refused(as_role, Access.CREATE)


def test_a_database_without_checkpoint_tables_is_no_store_for_a_worker(
    postgres_place: Place,
) -> None:
    assert "`retention store init`" in refused(postgres_place, Access.WRITE)
    assert "`retention store init`" in refused(postgres_place, Access.READ)
    assert postgres_place.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


def test_a_worker_needs_no_right_to_create_once_an_owner_ran_the_ddl(
    role: str, as_role: Place, postgres_place: Place
) -> None:
    # Twice, as an owner may whose database a stock saver has set up.
    for statement in store_ddl(postgres_place.address) * 2:
        postgres_place.query(statement)
    run_role_script("worker-role.sql", postgres_place.address, role=role)
    with as_role.store(access=Access.WRITE):
        # The first use of an empty store, which records its format.
        pass
    seed_stock(postgres_place, adopts=False)
    with as_role.store(access=Access.WRITE) as store:
        assert sweep(store, NOW).to_json()["waiting_swept"] == ["old"]
        assert sweep(store, NOW).to_json()["outcome"] == "completed"
    assert postgres_place.threads() == {"young"}
    with postgres_place.saver("stock") as saver:
        assert saver.get_tuple(config_of("young")) is not None


def test_a_missing_right_to_delete_is_one_line_and_nothing_goes(
    role: str, as_role: Place, postgres_place: Place
) -> None:
    init_store(postgres_place.address)
    postgres_place.query(f"GRANT SELECT ON {STOCK_TABLES} TO {role}")
    postgres_place.query(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {OWN_TABLES} TO {role}")
    seed_stock(postgres_place)
    with as_role.store(access=Access.WRITE) as store:
        result = sweep(store, NOW).to_json()
    assert result["outcome"] == "failed"
    assert "permission denied" in result["reason"]
    assert postgres_place.threads() == {"old", "young"}


@pytest.mark.parametrize("version", range(4, len(MIGRATIONS) - 1))
def test_a_stock_store_of_an_older_version_is_swept_as_it_is_and_migrated_by_a_saver(
    postgres_place: Place, version: int
) -> None:
    for number, migration in enumerate(MIGRATIONS[: version + 1]):
        postgres_place.query(migration.replace("CONCURRENTLY", ""))
        postgres_place.query(f"INSERT INTO checkpoint_migrations (v) VALUES ({number})")
    postgres_place.query(
        "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint)"
        " VALUES ('old', '1ef00000-0000-6000-8000-000000000000', '{}')"
    )
    postgres_place.adopt()
    with postgres_place.store(access=Access.WRITE) as store:
        assert sweep(store, NOW).to_json()["waiting_swept"] == ["old"]
    assert postgres_place.query("SELECT max(v) FROM checkpoint_migrations") == [(version,)]
    with agent_on(postgres_place, chain()) as agent:
        assert agent.run(NOTHING, config_of("new"))["count"] == 3
    newest = len(MIGRATIONS) - 1
    assert postgres_place.query("SELECT max(v) FROM checkpoint_migrations") == [(newest,)]


def in_schema(place: Place, schema: str) -> Place:
    """The same database, in another schema."""
    return Place("postgres", f"{place.address}&options=-csearch_path%3D{schema}")


def test_the_schema_in_the_address_is_where_everything_happens(postgres_place: Place) -> None:
    postgres_place.query("CREATE SCHEMA agents")
    there = in_schema(postgres_place, "agents")
    seed_stock(postgres_place, adopts=False)
    seed_stock(there)
    with agent_on(there, chain()) as agent:
        assert agent.run(NOTHING, config_of("there"))["count"] == 3
    with there.store() as store:
        store.ledger.start(["there"])
        assert sweep(store, NOW).to_json()["swept_count"] == 1
    assert there.threads() == {"young", "there"}
    assert postgres_place.threads() == {"old", "young"}
    assert postgres_place.query("SELECT to_regclass('public.retention_threads')") == [(None,)]


def test_a_schema_that_is_not_there_is_refused(postgres_place: Place) -> None:
    line = refused(in_schema(postgres_place, "nowhere"), Access.CREATE)
    assert "there is no schema nowhere" in line


def test_a_schema_that_a_pooler_dropped_is_refused_and_nothing_is_swept(
    postgres_place: Place,
) -> None:
    postgres_place.query("CREATE SCHEMA agents")
    seed_stock(postgres_place)
    with dropping_options(postgres_place.address) as pooled:
        asked = Place("postgres", f"{pooled}?options=-csearch_path%3Dagents")
        for access in Access:
            line = refused(asked, access)
            assert "agents" in line
            assert "a pooler may have dropped the option" in line
        with Place("postgres", pooled).store(access=Access.READ) as store:
            assert would_sweep(store, NOW).to_json()["swept_count"] == 1
    assert postgres_place.threads() == {"old", "young"}


def held_back(store: Store, saver: BaseCheckpointSaver[Any]) -> None:
    """Pause a run of several batches, and have the next sweep end it, with all brakes on."""
    seed_threads(saver, "many", 6, OLD)
    local, slept = LocalDispatch(), list[float]()
    options = SweepOptions(
        batch_size=2,
        max_replica_lag=timedelta(hours=1),
        max_lock_waits=100,
        threads_per_second=1,
        rest=timedelta(seconds=1),
    )
    work = replace(sweep_of(store, local, NOW, options=options), sleep=slept.append)

    def pause_once(run_id: str, left: int) -> None:
        pause(work, by="ops")

    paused = run_sweep(work, local, "paused", progress=pause_once)
    assert (paused.outcome, paused.counts.total(Outcome.DELETED)) == (RunOutcome.PARTIAL, 2)
    assert run_sweep(work, local, "refused").outcome is RunOutcome.REFUSED
    assert resume(work)
    assert run_sweep(work, local, "next").outcome is RunOutcome.COMPLETED
    ended = store.runs.get("paused")
    assert ended is not None
    assert ended.counts.total(Outcome.DELETED) == 6
    assert len(slept) == 5


def test_everything_works_through_a_pooler_in_transaction_mode(postgres_place: Place) -> None:
    try:
        pooler = PgBouncer(postgres_place.address)
    except ServiceMissingError as error:
        # No wheel brings it, so it may be missing anywhere.
        pytest.skip(str(error))
    with pooler:
        pooled = Place("postgres", pooler.dsn)
        with agent_on(pooled, asking()) as agent, pooled.store() as store:
            agent.run(NOTHING, config_of("parked"))
            seed_thread(agent.saver, "old", OLD, checkpoints=3)
            store.ledger.start(["old"])
            result = sweep(store).to_json()
            assert (result["waiting_swept"], result["spared_count"]) == (["old"], 1)
            assert sweep(store).to_json()["outcome"] == "completed"
            held_back(store, agent.saver)
        asked = f"{pooler.dsn}&options=-csearch_path%3Dagents"
        postgres_place.query("CREATE SCHEMA agents")
        assert "agents" in refused(Place("postgres", asked), Access.WRITE)
    assert postgres_place.threads() == {"parked"}


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:{}@127.0.0.1:1/db",
        "postgresql://me:{}@127.0.0.1:port/db",
        "postgresql://me:{}@/db?host=/nowhere",
        "postgresql://me:{}@/db?host=/nowhere&colour=red",
        "postgresql://me:{}@[::1/db",
        "postgresql://me:{}@127.0.0.1:1/db?options=-csearch_path",
        "postgresql://me@127.0.0.1:1/db?password={}",
        "postgresql://me:{}@no-such-host.invalid/db",
    ],
)
@pytest.mark.parametrize(
    "password", ["s3cret", "s3cr%20et", "s3cr@et", "s3cr/et", "s3cr#et", "s3c?et"]
)
def test_no_password_is_ever_in_a_message(address: str, password: str) -> None:
    with (
        pytest.raises((ConfigurationError, StoreUnavailableError)) as caught,
        Place("postgres", address.format(password)).store(),
    ):
        pass
    line = str(caught.value)
    assert "\n" not in line
    assert all(part not in line for part in ("s3c", "r/et", "r@et", "r#et", "cret"))
    assert not line.endswith('et"')


def test_a_wrong_password_is_a_clear_refusal(postgres_server: Postgres) -> None:
    if not isinstance(postgres_server, PostgresServer):
        pytest.skip("needs a server of our own")
    name = f"careful_{uuid.uuid4().hex[:8]}"
    postgres_server.create_role(name, PASSWORD)
    wrong = Place("postgres", postgres_server.dsn("postgres", name, "wr0ng-pass"))
    with pytest.raises(ConfigurationError) as caught, wrong.store(access=Access.READ):
        pass
    assert "password authentication failed" in str(caught.value)
    assert "wr0ng-pass" not in str(caught.value)


def test_what_the_saver_makes_is_what_the_stock_saver_makes(postgres_server: Postgres) -> None:
    described = []
    for make in ("ours", "stock"):
        name = postgres_server.create_database()
        place = Place("postgres", postgres_server.dsn(name))
        if make == "ours":
            init_store(place.address)
        else:
            with PostgresSaver.from_conn_string(place.address) as saver:
                saver.setup()
        described.append(
            place.query(
                "SELECT table_name, column_name, data_type, is_nullable, column_default"
                " FROM information_schema.columns WHERE table_name LIKE 'checkpoint%'"
                " UNION ALL SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes"
                " WHERE tablename LIKE 'checkpoint%' ORDER BY 1, 2"
            )
        )
        postgres_server.drop_database(name)
    assert described[0] == described[1]


def test_whether_the_tables_are_there_is_asked_within_the_transaction_that_needs_them(
    postgres_place: Place,
) -> None:
    """A transaction of its own would end the one around it, and let its locks go."""
    with postgres_place.store() as store, postgres_place.store() as other:
        deleter: Any = store.deleter
        rows: Any = deleter._rows
        with deleter._db.transaction() as tx:
            assert rows.lock(tx, ["thread"]) == ["thread"]
            deleter._db._own_tables = False
            assert deleter._db.has_own_tables()
            rival: Any = other.deleter
            with rival._db.transaction() as rival_tx:
                assert rival._rows.lock(rival_tx, ["thread"]) == []
