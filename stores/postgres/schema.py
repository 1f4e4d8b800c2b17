"""The tables in PostgreSQL, and the schema an address asks for."""

import re

import psycopg
from langgraph.checkpoint.postgres.base import MIGRATIONS
from psycopg.conninfo import conninfo_to_dict

from retention.errors import ConfigurationError
from stores.relational.schema import statements

_SEARCH_PATH = re.compile(r"(?:-c\s*|--)search_path=((?:\\.|\S)+)")


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
        made.append(f"INSERT INTO checkpoint_migrations (v) VALUES ({version})")  # noqa: S608 - a number
    return made


def own_ddl() -> list[str]:
    """The statements that make this project's own tables."""
    return statements("TIMESTAMPTZ")


def requested_schema(dsn: str) -> str | None:
    """The search path that the address asks for through ``options``, if any.

    Raises:
        ConfigurationError: The address is no connection string.
    """
    try:
        options = conninfo_to_dict(dsn).get("options")
    except psycopg.ProgrammingError:
        # The driver's message may quote the address, password included.
        raise ConfigurationError(
            "the PostgreSQL address is malformed: postgresql://user:password@host:5432/database "
            "is needed"
        ) from None
    found = _SEARCH_PATH.search(str(options or ""))
    return found.group(1).replace("\\", "") if found else None
