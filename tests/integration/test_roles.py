"""The roles in deploy/sql/ have the rights that are written there and no others."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import sql

from retention.errors import CheckpointStoreFormatError, ConfigurationError
from stores import Access, init_store
from tests.commands import retention_command
from tests.integration.places import Place
from tests.integration.sweeping import sweep, would_sweep
from tests.integration.test_formats import recorded
from tests.seeding import seed_thread
from tests.servers import Postgres, ServerFailedError, run_role_script

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
PASSWORD = "only-in-this-test"


@pytest.fixture
def owned(role: str, postgres_place: Place) -> Place:
    """A store as its owner sees it, with two threads, beside another program's table."""
    with postgres_place.store() as store:
        seed_thread(store.saver, "old", OLD, checkpoints=2)
        seed_thread(store.saver, "young", NOW)
    postgres_place.query("CREATE TABLE customers (name TEXT)")
    return postgres_place


def as_role(server: Postgres, place: Place, role: str, script: str) -> Place:
    """The store as the role of a script sees it."""
    run_role_script(script, place.address, role=role)
    set_password = sql.SQL("ALTER ROLE {} PASSWORD {}")
    server.execute(set_password.format(sql.Identifier(role), sql.Literal(PASSWORD)))
    with psycopg.connect(place.address) as connection:
        return Place("postgres", server.dsn(connection.info.dbname, role, PASSWORD))


def denied(place: Place, statement: str) -> bool:
    """Whether a role may not run a statement."""
    try:
        place.query(statement)
    except psycopg.errors.InsufficientPrivilege:
        return True
    return False


FORBIDDEN_TO_A_WORKER = (
    "SELECT blob FROM checkpoint_blobs",
    "SELECT blob FROM checkpoint_writes",
    "SELECT name FROM customers",
    "UPDATE checkpoints SET parent_checkpoint_id = NULL",
    "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint) VALUES ('t', 'c', '{}')",
    "INSERT INTO retention_threads (thread_id, hold_reason) VALUES ('t', 'mine')",
    "INSERT INTO retention_threads (thread_id, started_at) VALUES ('t', now())",
    "UPDATE retention_threads SET due_at = now()",
    "UPDATE retention_format SET compression = 'on'",
    "DELETE FROM retention_format",
    "DELETE FROM retention_totals",
    "TRUNCATE checkpoints",
    "CREATE TABLE mine (name TEXT)",
    "DROP TABLE retention_runs",
    "SELECT v FROM checkpoint_migrations",
)


def test_a_worker_sweeps_and_may_do_nothing_else(
    postgres_server: Postgres, owned: Place, role: str
) -> None:
    worker = as_role(postgres_server, owned, role, "worker-role.sql")
    assert [s for s in FORBIDDEN_TO_A_WORKER if not denied(worker, s)] == []
    with worker.store(access=Access.WRITE) as store:
        assert sweep(store, NOW).to_json()["waiting_swept"] == ["old"]
    assert owned.threads() == {"young"}


def test_a_reader_looks_and_may_change_nothing(
    postgres_server: Postgres, owned: Place, role: str
) -> None:
    reader = as_role(postgres_server, owned, role, "reader-role.sql")
    with reader.store(access=Access.READ) as store:
        assert would_sweep(store, NOW).to_json()["waiting_swept"] == ["old"]
        assert store.runs.history(10) == []
    looked = retention_command("store", "adopt", "--storage", reader.address, "--json")
    assert looked.answer["threads"] == 2
    refused = retention_command("store", "adopt", "--storage", reader.address, "--yes")
    assert (refused.status, "permission denied" in refused.err) == (2, True)
    with pytest.raises(ConfigurationError, match="lacks a right"), reader.store() as store:
        sweep(store, NOW)
    assert denied(reader, "DELETE FROM checkpoints")
    assert denied(reader, "SELECT name FROM customers")
    assert owned.threads() == {"old", "young"}


def test_a_reader_looks_at_a_stock_store_before_it_is_adopted(
    postgres_server: Postgres, role: str, postgres_place: Place
) -> None:
    with postgres_place.stock_saver() as saver:
        seed_thread(saver, "old", OLD)
    reader = as_role(postgres_server, postgres_place, role, "reader-role.sql")
    looked = retention_command("store", "adopt", "--storage", reader.address, "--json")
    assert (looked.status, looked.answer["threads"]) == (0, 1)
    with pytest.raises(CheckpointStoreFormatError), reader.store(access=Access.READ):
        pass


def test_a_role_that_had_more_rights_is_left_with_these(
    postgres_server: Postgres, owned: Place, role: str
) -> None:
    worker = as_role(postgres_server, owned, role, "worker-role.sql")
    owned.query(f'GRANT ALL ON ALL TABLES IN SCHEMA public TO "{role}"')
    owned.query(f'REVOKE ALL ON customers, checkpoint_migrations FROM "{role}"')
    assert not denied(worker, "SELECT blob FROM checkpoint_blobs")
    run_role_script("worker-role.sql", owned.address, role=role)
    assert [s for s in FORBIDDEN_TO_A_WORKER if not denied(worker, s)] == []


def test_a_worker_of_another_schema_records_an_empty_stores_format_and_sweeps_it(
    postgres_server: Postgres, role: str, postgres_place: Place
) -> None:
    postgres_place.query('CREATE SCHEMA "of agents"')
    option = "&options=-csearch_path%3D%22of%5C%20agents%22"
    owner = Place("postgres", postgres_place.address + option)
    init_store(owner.address)
    owner.query("DELETE FROM retention_format")
    run_role_script("worker-role.sql", owner.address, role=role, schema="of agents")
    set_password = sql.SQL("ALTER ROLE {} PASSWORD {}")
    postgres_server.execute(set_password.format(sql.Identifier(role), sql.Literal(PASSWORD)))
    with psycopg.connect(owner.address) as connection:
        database = connection.info.dbname
    worker = Place("postgres", postgres_server.dsn(database, role, PASSWORD) + option)
    with worker.store(access=Access.WRITE) as store:
        assert recorded(owner) == [("10", "on")]
        with owner.stock_saver() as saver:
            seed_thread(saver, "old", OLD)
        assert sweep(store, NOW).to_json()["waiting_swept"] == ["old"]
    assert owner.threads() == set()


def test_a_script_that_fails_grants_nothing(role: str, postgres_place: Place) -> None:
    with pytest.raises(ServerFailedError, match="checkpoints"):
        run_role_script("worker-role.sql", postgres_place.address, role=role)
    assert postgres_place.query(f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'") == []
