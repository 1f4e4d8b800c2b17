"""SQLite as the shared SQL sees it; also the ledger of the memory store."""

import json
import re
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from retention.errors import (
    ConfigurationError,
    StoreError,
    StoreTimeoutError,
    StoreUnavailableError,
)
from stores.relational.database import Answer, Row, Statement
from stores.relational.schema import OWN_TABLES, statements, tables_of_threads
from stores.relational.statements import load
from stores.texts import is_text

#: Words of SQLite's own messages that another try may not meet again.
_PASSING = re.compile(r"locked|busy|disk I/O error|disk is full", re.IGNORECASE)

#: Parameters that say where the page before ended, with what was read there.
_PLACES = frozenset({"after", "after_at", "after_id"})

#: Stands for a list of ids until a statement is run with some.
_LIST = "IN (:ids)"

#: Steps of SQLite's machine between two looks at the clock: some milliseconds.
_STEPS_BETWEEN_LOOKS = 100_000


class _Stopwatch:
    """Ends a statement that runs for too long: SQLite has no timeout of its own."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def start(self) -> None:
        """A statement begins."""
        self._end = time.monotonic() + self._seconds

    def is_over(self) -> bool:
        """Whether the statement under way has used its time up."""
        return time.monotonic() > self._end


class SqliteTransaction:
    """A transaction on one connection. Instants are kept as text that sorts by time."""

    def __init__(self, connection: sqlite3.Connection, stopwatch: _Stopwatch) -> None:
        """Run statements on this connection, each within its time."""
        self._connection = connection
        self._stopwatch = stopwatch

    def rows(self, statement: str, **params: Any) -> list[Row]:
        """Run a statement and read all its rows."""
        self._stopwatch.start()
        return self._connection.execute(*_as_kept(*_spread(statement, params))).fetchall()

    def change(self, statement: str, **params: Any) -> int:
        """Run a statement and say how many rows it changed."""
        self._stopwatch.start()
        return self._connection.execute(*_spread(statement, params)).rowcount

    def change_many(self, statement: str, params: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each of these parameters."""
        self._stopwatch.start()
        self._connection.executemany(statement, [_bound(p) for p in params])

    def together(self, *statements: Statement) -> list[Answer]:
        """Run statements one after another."""
        return [self._answer(statement) for statement in statements]

    def _answer(self, statement: Statement) -> Answer:
        self._stopwatch.start()
        found = self._connection.execute(*_spread(statement.text, statement.params))
        return Answer(found.rowcount, found.fetchall())


class SqliteDatabase:
    """One connection, used by one thread at a time."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        where: str,
        statement_timeout: timedelta = timedelta(seconds=60),
    ) -> None:
        """Take over a connection opened in autocommit mode; ``where`` names it in errors."""
        self.connection = connection
        self._stopwatch = _Stopwatch(statement_timeout.total_seconds())
        connection.set_progress_handler(self._stopwatch.is_over, _STEPS_BETWEEN_LOOKS)
        self.lock = threading.RLock()
        self._where = where
        self._own_tables = False

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[SqliteTransaction]:
        """A transaction that holds SQLite's one write lock from its start; durable always."""
        with self._begun("BEGIN IMMEDIATE") as tx:
            yield tx

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        """A transaction that only reads, and keeps no writer waiting."""
        with self._begun("BEGIN") as tx:
            yield tx

    def sql(self, package: str, filename: str) -> Mapping[str, str]:
        """Statements of a file; ``{ids}`` compares with a list of ids."""
        return _statements(package, filename)

    def has_own_tables(self) -> bool:
        """Whether the ledger and the run log exist; once they do, they stay."""
        self._own_tables = self._own_tables or self.has_tables(OWN_TABLES)
        return self._own_tables

    def thread_tables(self) -> Sequence[str]:
        """Of this project's own tables, those with rows of threads; none where none was made."""
        return tables_of_threads(statements("TEXT")) if self.has_own_tables() else ()

    def has_tables(self, names: Sequence[str]) -> bool:
        """Whether all these tables exist."""
        return not self.missing_tables(names)

    def missing_tables(self, names: Sequence[str]) -> list[str]:
        """Of these tables, those that do not exist at this moment."""
        with translated(self._where), self.lock:
            self._stopwatch.start()
            found = self.connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                " AND name IN (SELECT value FROM json_each(?))",
                (json.dumps(list(names)),),
            ).fetchall()
        there = {row[0] for row in found}
        return [name for name in names if name not in there]

    def instant(self, value: Any) -> datetime | None:
        """An instant as kept here, in UTC."""
        if value is None:
            return None
        try:
            found = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            found = None
        if found is None or found.tzinfo is None:
            raise StoreError(f"{self._where}: {str(value)[:40]!r} is no instant")
        return found

    def close(self) -> None:
        """Close the connection."""
        with self.lock:
            self.connection.close()

    @contextmanager
    def _begun(self, begin: str) -> Iterator[SqliteTransaction]:
        with translated(self._where), self.lock:
            self._stopwatch.start()
            try:
                # Within the block: a Ctrl-C that comes just behind it must leave nothing begun.
                self.connection.execute(begin)
                yield SqliteTransaction(self.connection, self._stopwatch)
                self.connection.execute("COMMIT")
            except BaseException:
                # SQLite rolls back by itself on some errors: a second time would be one more.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn SQLite's errors into this project's.

    Raises:
        StoreUnavailableError: The file is locked or its disk does not answer now.
        ConfigurationError: The file is no database.
        StoreTimeoutError: A statement ran out of time.
        StoreError: Anything else SQLite refuses.
    """
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise ConfigurationError(f"{where}: {error}") from error
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise StoreTimeoutError(f"{where}: a statement ran out of its time") from error
        kind = StoreUnavailableError if _PASSING.search(str(error)) else StoreError
        raise kind(f"{where}: {error}") from error
    except UnicodeEncodeError as error:
        raise StoreError(f"{where}: {error.object[:40]!r} is no UTF-8 text") from error


@cache
def _statements(package: str, filename: str) -> dict[str, str]:
    return {name: sql.replace("{ids}", _LIST) for name, sql in load(package, filename).items()}


def _spread(statement: str, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A statement and its parameters, with a parameter of its own for each of some ids.

    Not one JSON text for all: SQLite ends each of its strings at a NUL, and a thread whose id is
    the beginning of another's would be taken for it.
    """
    bound = {name: _value(value) for name, value in params.items() if name != "ids"}
    ids = params.get("ids", ())
    bound |= {f"id{i}": thread_id for i, thread_id in enumerate(ids)}
    marks = ", ".join(f":id{i}" for i in range(len(ids)))
    return statement.replace(_LIST, f"IN ({marks})"), bound


def _as_kept(statement: str, bound: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Let a page begin behind a row that holds what is no text, as the row has it.

    Ids that are asked for by themselves are refused.
    """
    for name in _PLACES & bound.keys():
        value = bound[name]
        if isinstance(value, str) and not is_text(value):
            statement = re.sub(rf":{name}\b", f"CAST(:{name} AS TEXT)", statement)
            bound[name] = value.encode("utf-8", "surrogateescape")
    return statement, bound


def _bound(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in params.items()}


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return value
