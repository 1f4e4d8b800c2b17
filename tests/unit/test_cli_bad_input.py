"""Whatever a person gets wrong is one clear line, with the right status, no secret and no trace."""

import os
import shutil
import socket
import sqlite3
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from stores import init_store
from tests.commands import Ran, retention_command, retention_forked
from tests.servers import Postgres, PostgresServer
from worker.cli import main

READING = (
    ("sweep", "run", "--dry-run"),
    ("sweep", "status"),
    ("sweep", "history"),
    ("sweep", "history", "some-run", "--threads"),
    ("sweep", "cancel"),
)
WRITING = (("sweep", "run"), ("sweep", "cancel", "--yes"))
VERBS = (*READING, *WRITING)

# The address, what the line must say, and the status.
ADDRESSES = (
    ("mysql://user:geheim@host/db", "needs a path or one of", 2),
    ("postgresql+psycopg://user:geheim@host/db", "needs a path or one of", 2),
    ("postgres://user:geheim@[bad/db", "the PostgreSQL address is malformed", 2),
    ("postgres://user:geheim@host:99999/db", "the PostgreSQL address is malformed", 2),
    ("postgres://user:geheim@host:0/db", "the PostgreSQL address is malformed", 2),
    ("postgres://user:geheim@127.0.0.1:1/db?sslmode=maybe", "invalid sslmode value", 2),
    ("postgres://user:geheim@127.0.0.1:1/db?keepalives_idle=x", "invalid integer value", 2),
    ("postgres://user:geheim@host/db?no_such=1", "the PostgreSQL address is malformed", 2),
    ("redis://geheim@host", "user:password@", 2),
    ("redis://:geheim@host/first", "a database number", 2),
    ("redis://:geheim@127.0.0.1:1", "Connection refused", 1),
    ("memory://", "memory store", 2),
    ("sqlite://relative", "sqlite needs a path", 2),
    ("sqlite:///:memory:", "memory", 2),
    ("", "sqlite needs a path", 2),
    ("   ", "sqlite needs a path", 2),
    ("mistyped.db", "mistyped.db: no such file", 2),
    ("no/folder/store.db", "no such file", 2),
    ("folder", "is a folder", 2),
    ("text.txt", "not a database", 2),
    ("empty.db", "no checkpoint store", 2),
    ("other.db", "no checkpoint store", 2),
)

_SQLITE = {"LLM_PROVIDER_CHECKPOINT": "sqlite", "LLM_PROVIDER_CHECKPOINT_CONN_STRING": "x.db"}
SETTINGS: tuple[tuple[dict[str, str], str, int], ...] = (
    ({}, "REDIS_URL is not set", 2),
    ({"REDIS_URL": "redis://:geheim@127.0.0.1:port"}, "REDIS_URL=", 2),
    ({"LLM_PROVIDER_CHECKPOINT": "mongodb"}, "LLM_PROVIDER_CHECKPOINT='mongodb'", 2),
    ({"LLM_PROVIDER_CHECKPOINT": "sqlite"}, "needs a path", 2),
    ({"LLM_PROVIDER_CHECKPOINT": "memory"}, "memory store", 2),
    ({"LLM_PROVIDER_CHECKPOINT_TTL_MINUTES": "5"}, "was removed", 2),
    ({"LLM_PROVIDER_CHECKPOINT_PATH": "x.db"}, "is not a setting", 2),
    (
        {
            "LLM_PROVIDER_CHECKPOINT": "postgres",
            "DATABASE_URL": "mysql://user:geheim@host/db",
        },
        "DATABASE_URL",
        2,
    ),
    *[
        ({**_SQLITE, name: number}, f"{name}=", 2)
        for name in (
            "LLM_PROVIDER_CHECKPOINT_RETENTION_WAITING_MINUTES",
            "LLM_PROVIDER_CHECKPOINT_INLINE_COMPRESS_BYTES",
            "SWEEP_LEASE_SECONDS",
            "SWEEP_MAX_THREADS",
            "SWEEP_MAX_SHARE",
            "SWEEP_SCHEDULE",
        )
        for number in (str(10**30), "-1", "9" * 5000)
    ],
)

FLAGS = (
    (("sweep", "run", "--dryrun"), "--dryrun"),
    (("sweep", "sweep"), "No such command 'sweep'"),
    (("sweeep",), "No such command 'sweeep'"),
    (("sweep", "history", "--limit", "0"), "--limit"),
    (("sweep", "history", "--limit", "many"), "--limit"),
    (("sweep", "history", "--limit", "-1"), "--limit"),
    (("sweep", "history", "--limit", str(10**30)), "'--limit': 1000"),
    (("sweep", "history", "--limit", "9" * 5000), "--limit"),
    (("sweep", "history", "a-run", "--threads", "--limit", str(10**30)), "'--limit': 1000"),
    (("sweep", "history", "a-run", "--threads", "--after", f"{10**30}.0"), "no cursor"),
    (("sweep", "history", "a-run", "--threads", "--after", f"0.{'9' * 5000}"), "no cursor"),
    (("sweep", "history", "a-run", "--threads", "--after", "\u0663.0"), "no cursor"),
    (("serve", "--port", str(10**30)), "--port"),
    (("serve", "--port", "-1"), "--port"),
    (("sweep", "history", "--threads"), "--threads needs the RUN"),
    (("sweep", "history", "a-run", "--limit", "3"), "belong to a list"),
    (("sweep", "history", "a-run", "--threads", "--after", "x"), "no cursor"),
    (("sweep", "status", "--storage"), "--storage"),
    (("sweep", "status", "postgresql://user:geheim@host/db"), "unexpected extra argument"),
    (("demo", "--storage", "x"), "--storage"),
)


@pytest.fixture
def folder(folder: Path) -> Path:
    """The working folder, with everything in it that a person may take for a store."""
    (folder / "folder").mkdir()
    (folder / "text.txt").write_text("This is no database, and long enough to be looked at.\n")
    (folder / "empty.db").touch()
    with closing(sqlite3.connect(folder / "other.db")) as connection:
        connection.execute("CREATE TABLE somebody_elses (a)")
    return folder


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder, files with their bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def check(ran: Ran, says: str, status: int) -> None:
    """One line on stderr, nothing on stdout, the status, and no secret."""
    assert ran.status == status, ran
    assert ran.out == ""
    assert says in ran.err
    assert ran.err.startswith("retention: ")
    assert ran.err.count("\n") == 1, ran.err
    assert "geheim" not in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
@pytest.mark.parametrize(("address", "says", "status"), ADDRESSES)
def test_a_wrong_address_is_one_line_and_leaves_no_trace(
    folder: Path, verb: tuple[str, ...], address: str, says: str, status: int
) -> None:
    before = contents(folder)
    check(retention_command(*verb, "--storage", address), says, status)
    assert contents(folder) == before


@pytest.mark.parametrize(("address", "says", "status"), ADDRESSES)
def test_a_process_says_the_same_and_leaves_with_the_same_status(
    folder: Path, address: str, says: str, status: int
) -> None:
    before = contents(folder)
    ran = retention_forked("--storage", address, "sweep", "run", folder=folder)
    check(ran, says, status)
    assert contents(folder) == before


@pytest.mark.parametrize(("settings", "says", "status"), SETTINGS)
def test_a_wrong_setting_is_one_line(
    folder: Path, settings: dict[str, str], says: str, status: int
) -> None:
    check(retention_forked("sweep", "run", folder=folder, settings=settings), says, status)


@pytest.mark.parametrize(("arguments", "says"), FLAGS)
def test_a_wrong_flag_is_one_line(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    check(retention_command(*arguments), says, 2)


@pytest.mark.parametrize("name", ["CELERY_BROKER_URL", "CELERY_RESULT_BACKEND"])
@pytest.mark.parametrize("place", ["host:99999/0", "host:port/0", f"host:{10**30}/0", "host/x"])
def test_a_port_or_database_that_cannot_be_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, place: str
) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv(name, f"redis://:geheim@{place}")
    check(retention_command("sweep", "start"), f"{name}='redis://:***@{place}' is refused", 2)


@pytest.mark.parametrize("name", ["folder", "text.txt", "no/folder/store.db", ""])
def test_a_store_cannot_be_made_where_something_else_is(folder: Path, name: str) -> None:
    before = contents(folder)
    ran = retention_command("store", "init", "--storage", name)
    assert (ran.out, ran.err.count("\n")) == ("", 1)
    assert ran.status in (1, 2)
    assert contents(folder) == before


def test_the_statements_of_a_store_are_printed_without_opening_it(folder: Path) -> None:
    before = contents(folder)
    ran = retention_command("store", "init", "--print-sql", "--storage", "mistyped.db")
    assert ran.status == 0
    for table in ("checkpoints", "writes", "retention_threads", "retention_totals"):
        assert f" {table} (" in ran.out
    assert contents(folder) == before


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_server_that_does_not_answer_is_an_error(folder: Path, verb: tuple[str, ...]) -> None:
    with socket.socket() as bound:
        # Bound and not listening: nobody answers, and nobody else takes the port.
        bound.bind(("127.0.0.1", 0))
        address = f"postgresql://user:geheim@127.0.0.1:{bound.getsockname()[1]}/db"
        check(retention_command(*verb, "--storage", address), "PostgreSQL", 1)


def test_an_unescaped_password_shows_in_no_part(folder: Path) -> None:
    address = "postgresql://user:ge@geheim@nowhere.invalid/db"
    check(retention_command("sweep", "status", "--storage", address), "%40 in the password", 2)


@pytest.fixture
def locked_role(postgres_server: Postgres) -> Iterator[str]:
    """A role that must show its password."""
    if not isinstance(postgres_server, PostgresServer):
        pytest.skip("a server that somebody else runs has its own access rules")
    name = f"role_{uuid.uuid4().hex}"
    postgres_server.create_role(name, "the right one")
    yield name
    postgres_server.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_wrong_password_is_refused(
    folder: Path, verb: tuple[str, ...], postgres_server: Postgres, locked_role: str
) -> None:
    address = postgres_server.dsn("postgres", locked_role, "geheim")
    check(retention_command(*verb, "--storage", address), "password authentication failed", 2)


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_database_without_checkpoints_is_refused_and_left_as_it_is(
    folder: Path, verb: tuple[str, ...], postgres_dsn: str
) -> None:
    check(retention_command(*verb, "--storage", postgres_dsn), "checkpoint tables are missing", 2)
    assert _tables(postgres_dsn) == []


def test_a_database_that_does_not_exist_is_named(folder: Path, postgres_server: Postgres) -> None:
    address = postgres_server.dsn("not_there")
    check(retention_command("sweep", "run", "--storage", address), "not_there", 2)


@pytest.mark.parametrize("verb", READING, ids=" ".join)
def test_a_reading_command_makes_no_table_beside_stock_checkpoints(
    folder: Path, verb: tuple[str, ...], postgres_dsn: str
) -> None:
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(postgres_dsn) as saver:
        saver.setup()
    before = _tables(postgres_dsn)
    ran = retention_command(*verb, "--storage", postgres_dsn)
    assert ran.status == (2 if "some-run" in verb else 0), ran
    assert _tables(postgres_dsn) == before


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that an ordinary user can reach."""
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("verb", [*WRITING, ("store", "init")], ids=" ".join)
@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o777), (0o444, 0o555)])
def test_a_file_that_is_read_only_is_refused_and_left_as_it_is(
    folder: Path,
    shared_folder: Path,
    verb: tuple[str, ...],
    file_mode: int,
    folder_mode: int,
) -> None:
    path = _read_only_store(shared_folder, file_mode, folder_mode)
    before = contents(shared_folder)
    check(_as_ordinary_user(*verb, "--storage", str(path)), "read-only", 2)
    assert contents(shared_folder) == before


@pytest.mark.parametrize("verb", READING, ids=" ".join)
@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o777), (0o444, 0o555)])
def test_a_file_that_is_read_only_can_be_read_without_a_trace(
    folder: Path,
    shared_folder: Path,
    verb: tuple[str, ...],
    file_mode: int,
    folder_mode: int,
) -> None:
    path = _read_only_store(shared_folder, file_mode, folder_mode)
    before = contents(shared_folder)
    ran = _as_ordinary_user(*verb, "--storage", str(path))
    assert ran.status == (2 if "some-run" in verb else 0), ran
    assert contents(shared_folder) == before


def test_a_folder_that_is_read_only_is_refused(folder: Path, shared_folder: Path) -> None:
    path = _read_only_store(shared_folder, 0o666, 0o555)
    check(_as_ordinary_user("sweep", "run", "--storage", str(path)), "may not write", 2)


def _read_only_store(folder: Path, file_mode: int, folder_mode: int) -> Path:
    path = folder / "store.db"
    init_store(str(path))
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    return path


def _as_ordinary_user(*arguments: str) -> Ran:
    """Run the command without root's rights, to whom no file is read-only."""
    if os.getuid() != 0:
        return retention_command(*arguments)
    # Not forked from here: kombu closes connections it finds in a child, and may wait for ever.
    return retention_forked(*arguments, folder=Path.cwd(), program=_as_nobody)


def _as_nobody() -> None:
    # What is imported late may lie where only root can read.
    retention_command("sweep", "status", "--storage", "mistyped.db")
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    os.chdir("/")
    main()


def _tables(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        return sorted(name for (name,) in rows)
