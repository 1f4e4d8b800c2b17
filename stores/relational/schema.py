"""The tables of this project, in the words of one database."""

from stores.relational.statements import load

#: Their names, for a check whether they exist.
OWN_TABLES = (
    "retention_batches",
    "retention_format",
    "retention_runs",
    "retention_threads",
    "retention_totals",
)


def statements(instant: str) -> list[str]:
    """The statements that create the tables, each harmless where its table exists.

    ``instant`` is the column type of an instant.
    """
    return [sql.format(instant=instant) for sql in load("stores.relational", "schema.sql").values()]
