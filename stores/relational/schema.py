"""The tables of this project, in the words of one database."""

import re
from collections.abc import Iterable

from stores.relational.statements import load

_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+) \((.*)\)", re.DOTALL)

#: Their names, for a check whether they exist.
OWN_TABLES = (
    "retention_batches",
    "retention_format",
    "retention_pauses",
    "retention_runs",
    "retention_threads",
    "retention_totals",
)


def statements(instant: str) -> list[str]:
    """The statements that create the tables, each harmless where its table exists.

    ``instant`` is the column type of an instant.
    """
    return [sql.format(instant=instant) for sql in load("stores.relational", "schema.sql").values()]


def tables_of_threads(ddl: Iterable[str]) -> tuple[str, ...]:
    """Of the tables that these statements make, those whose rows belong to one thread each."""
    made = (found for sql in ddl if (found := _TABLE.match(sql)))
    return tuple(found[1] for found in made if re.search(r"^\s*thread_id ", found[2], re.M))
