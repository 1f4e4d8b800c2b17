"""The little that the shared SQL needs of a database."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

Row = tuple[Any, ...]


class Statement(NamedTuple):
    """A statement with its parameters, which it names ``:name``."""

    text: str
    params: Mapping[str, Any]


class Answer(NamedTuple):
    """What came of a statement: how many rows it read or changed, and those it read."""

    changed: int
    rows: list[Row]


class Transaction(Protocol):
    """A transaction under way. Statements name their parameters ``:name``."""

    def rows(self, statement: str, **params: Any) -> list[Row]:
        """Run a statement and read all its rows."""

    def change(self, statement: str, **params: Any) -> int:
        """Run a statement and say how many rows it changed."""

    def change_many(self, statement: str, params: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each of these parameters."""

    def together(self, *statements: Statement) -> list[Answer]:
        """Run statements one after another, in one round trip where the database is a server.

        Each sees what was committed before it began, as it would alone.
        """


class Database(Protocol):
    """Opens transactions. Driver errors leave it as this project's errors."""

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """A transaction that commits at its end, and rolls back on any error.

        Without ``durable`` its end need wait for no disk: a crash may lose it, and then all that
        was committed after it.
        """

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that only reads, and keeps no writer waiting."""

    def sql(self, package: str, filename: str) -> Mapping[str, str]:
        """Statements of a file, in this database's words."""

    def has_tables(self, names: Sequence[str]) -> bool:
        """Whether all these tables exist."""

    def missing_tables(self, names: Sequence[str]) -> list[str]:
        """Of these tables, those that do not exist at this moment."""

    def has_own_tables(self) -> bool:
        """Whether the ledger and the run log exist; once they do, they stay."""

    def thread_tables(self) -> Sequence[str]:
        """Of this project's own tables, those with rows of threads; none where none was made."""

    def instant(self, value: Any) -> datetime | None:
        """An instant as this database returns it, in UTC."""
