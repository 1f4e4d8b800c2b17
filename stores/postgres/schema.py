"""The tables in PostgreSQL, and the schema an address asks for."""

import re
from typing import Any

import psycopg
from langgraph.checkpoint.postgres.base import MIGRATIONS
from psycopg.conninfo import conninfo_to_dict

from retention.errors import ConfigurationError
from stores.relational.schema import OWN_TABLES, statements
from stores.relational.statements import load

#: The tables of this project here: those that every SQL store has, and those of asks and barriers.
POSTGRES_TABLES = (*OWN_TABLES, "retention_asks", "retention_barriers")

_SEARCH_PATH = re.compile(r"(?:-c\s*|--)search_path=((?:\\.|\S)+)")
# An owner may run the printed statements on a database that a stock saver has set up.
_RECORDED = "INSERT INTO checkpoint_migrations (v) VALUES ({}) ON CONFLICT DO NOTHING"
_PORT = re.compile("[0-9]{0,5}")
_LAST_PORT = 65_535


def ddl() -> list[str]:
    """All statements that make a store: the official saver's tables, then this project's."""
    return [*saver_ddl(), *own_ddl()]


def saver_ddl() -> list[str]:
    """The official saver's migrations for an empty schema, with the record that they ran.

    CONCURRENTLY is left out: the tables are new, and one transaction makes them all.
    """
    made: list[str] = []
    for version, migration in enumerate(MIGRATIONS):
        made.append(migration.replace(" CONCURRENTLY", "").strip().removesuffix(";"))
        made.append(_RECORDED.format(version))
    return made


def own_ddl() -> list[str]:
    """The statements that make this project's own tables."""
    parks = load("stores.postgres", "park_tables.sql")
    return [*statements("TIMESTAMPTZ"), *parks.values()]


def requested_schema(dsn: str) -> str | None:
    """The search path that the address asks for through ``options``, if any.

    Raises:
        ConfigurationError: The address is no connection string.
    """
    found = _SEARCH_PATH.search(str(_parsed(dsn).get("options") or ""))
    return found.group(1).replace("\\", "") if found else None


def _parsed(dsn: str) -> dict[str, Any]:
    try:
        parsed: dict[str, Any] = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        parsed = {"port": "none"}
    if not _are_ports(str(parsed.get("port") or "")) or _has_bare_password(dsn):
        # The driver's message may quote the address, password included.
        raise ConfigurationError(
            "the PostgreSQL address is malformed: postgresql://user:password@host:5432/database "
            "is needed, with / as %2F and @ as %40 in the password"
        )
    return parsed


def _are_ports(text: str) -> bool:
    """Whether a port, or one for each of several hosts, is a number that a port can have."""
    ports = text.split(",")
    return all(
        _PORT.fullmatch(port) and int(port or 1) in range(1, _LAST_PORT + 1) for port in ports
    )


def _has_bare_password(dsn: str) -> bool:
    """Whether a part of the password stands where a host or a database should.

    The driver ends it at the first ``@``, and before that at a ``/``; then it quotes the rest.
    """
    rest = dsn.partition("://")[2]
    if "@" in rest.partition("/")[0]:
        rest = rest.partition("@")[2]
    return "@" in rest.partition("?")[0]
