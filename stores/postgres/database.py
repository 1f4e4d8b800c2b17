"""PostgreSQL as the shared SQL sees it."""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from retention.errors import StoreError
from stores.options import Access, StoreOptions
from stores.postgres.errors import translated
from stores.postgres.locks import THREAD_SEED
from stores.postgres.schema import POSTGRES_TABLES, own_ddl, requested_schema
from stores.relational.database import Answer, Row, Statement
from stores.relational.schema import tables_of_threads
from stores.relational.statements import load

_PARAMETER = re.compile(r"(?<!:):([a-z_]+)")
_CONNECT_SECONDS = 10
#: A network that was cut says nothing: without these, a worker would wait two hours for an answer.
#: Seconds and tries; milliseconds. What the address says of them goes before.
_PROBES: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


class PostgresTransaction:
    """A transaction on one connection. It begins with its first statement, in one round trip."""

    def __init__(
        self, connection: psycopg.Connection[Row], begin: str, *, reads: bool = False
    ) -> None:
        """Run statements on this connection, ``begin`` before the first.

        What only ``reads`` ends in the same round trip, and begins anew with the next statements:
        at READ COMMITTED each has a snapshot of its own in any case.
        """
        self._cursor = cast("psycopg.ClientCursor[Row]", connection.cursor())
        self._begin = begin
        self._begun = False
        self._end = ["COMMIT"] if reads else []

    def rows(self, statement: str, **params: Any) -> list[Row]:
        """Run a statement and read all its rows."""
        return self.together(Statement(statement, params))[0].rows

    def change(self, statement: str, **params: Any) -> int:
        """Run a statement and say how many rows it changed."""
        return self.together(Statement(statement, params))[0].changed

    def change_many(self, statement: str, params: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each of these parameters, in one round trip."""
        if params:
            self.together()
            self._cursor.executemany(statement, params)

    def together(self, *statements: Statement) -> list[Answer]:
        """Run statements in one round trip; the server takes a snapshot for each."""
        texts = [self._cursor.mogrify(s.text, _bound(s.params)) for s in statements]
        if not self._begun:
            texts.insert(0, self._begin)
            self._begun = not self._end
        first = len(self._end) + len(statements)
        found = self._cursor.execute("; ".join([*texts, *self._end])).results()
        return [_answer(each) for each in found][-first:][: len(statements)]

    def end(self, how: str) -> None:
        """Commit or roll back, if any statement was run."""
        if self._begun:
            self._cursor.execute(how)


def _answer(cursor: psycopg.Cursor[Row]) -> Answer:
    try:
        return Answer(cursor.rowcount, cursor.fetchall() if cursor.description else [])
    except psycopg.DataError as error:
        # The server has answered: the transaction goes on, for who can do without these rows.
        raise StoreError(f"PostgreSQL: {error}") from error


class PostgresDatabase:
    """One connection, used by one thread at a time; opened again where it broke."""

    def __init__(self, dsn: str, options: StoreOptions) -> None:
        """Connect when first needed."""
        self._dsn = dsn
        settings = _local_settings(dsn, options)
        read_only = " READ ONLY" if options.access is Access.READ else ""
        self._begin = f"BEGIN ISOLATION LEVEL READ COMMITTED{read_only}; {settings}"
        self._begin_lazily = f"{self._begin}; SET LOCAL synchronous_commit = off"
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[Row] | None = None
        self._under_way: PostgresTransaction | None = None
        self._own_tables = False
        #: Transactions that ended here after a statement; none took more than one number.
        self.ended = 0

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[PostgresTransaction]:
        """A transaction at READ COMMITTED; its search path and timeouts end with it.

        Without ``durable`` its end waits for no disk: a crash of the server may lose it, and then
        all that was committed after it. Within another one, it is that.
        """
        with translated(), self._lock:
            if self._under_way is not None:
                yield self._under_way
                return
            connection = self._connected()
            begin = self._begin if durable else self._begin_lazily
            tx = self._under_way = PostgresTransaction(connection, begin)
            try:
                yield tx
                tx.end("COMMIT")
                self.ended += 1
            except BaseException:
                _roll_back(connection)
                raise
            finally:
                self._under_way = None

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        """Statements that only read, those run together in one round trip each time."""
        with translated(), self._lock:
            connection = self._connected()
            try:
                yield self._under_way or PostgresTransaction(connection, self._begin, reads=True)
            except BaseException:
                if self._under_way is None:
                    _roll_back(connection)
                raise

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Row]]:
        """The bare connection, as the server set it up."""
        with translated(), self._lock:
            yield self._connected()

    def sql(self, package: str, filename: str) -> Mapping[str, str]:
        """Statements of a file; ``{ids}`` compares with an array of ids."""
        return statements(package, filename)

    def has_own_tables(self) -> bool:
        """Whether the ledger and the run log exist; once they do, they stay."""
        self._own_tables = self._own_tables or self.has_tables(POSTGRES_TABLES)
        return self._own_tables

    def thread_tables(self) -> Sequence[str]:
        """Of this project's own tables, those with rows of threads; none where none was made."""
        return tables_of_threads(own_ddl()) if self.has_own_tables() else ()

    def has_tables(self, names: Sequence[str]) -> bool:
        """Whether all these tables are in the schema in force."""
        return not self.missing_tables(names)

    def missing_tables(self, names: Sequence[str]) -> list[str]:
        """Of these tables, those that are not in the schema in force at this moment."""
        with self.transaction() as tx:
            return missing_tables(tx, names)

    def instant(self, value: Any) -> datetime | None:
        """An instant as psycopg returns it, in UTC."""
        return None if value is None else value.astimezone(UTC)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _connected(self) -> psycopg.Connection[Row]:
        if self._connection is None or self._connection.closed:
            # No prepared statements: a transaction-mode pooler hands them to other sessions.
            said = conninfo_to_dict(self._dsn)
            self._connection = psycopg.connect(
                self._dsn,
                **{name: value for name, value in _PROBES.items() if name not in said},
                autocommit=True,
                prepare_threshold=None,
                connect_timeout=_CONNECT_SECONDS,
                application_name="langgraph-retention",
                # Parameters go into the text of a statement: the server takes several statements
                # in one round trip only so, but in a pipeline, which costs the driver more.
                cursor_factory=psycopg.ClientCursor,
            )
        return self._connection


def missing_tables(tx: PostgresTransaction, names: Sequence[str]) -> list[str]:
    """Of these tables, those that are not in the schema in force at this moment."""
    found = tx.rows(
        "SELECT tablename FROM pg_catalog.pg_tables"
        " WHERE schemaname = current_schema() AND tablename = ANY(%(names)s)",
        names=list(names),
    )
    there = {row[0] for row in found}
    return [name for name in names if name not in there]


@cache
def statements(package: str, filename: str) -> dict[str, str]:
    """Statements of a file with psycopg's placeholders."""
    return {name: _in_psycopg(sql) for name, sql in load(package, filename).items()}


def _bound(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with each list as one array literal: psycopg's own writing of 500 ids is slow."""
    return {name: _array(v) if isinstance(v, list) else v for name, v in params.items()}


def _array(values: Sequence[str]) -> str:
    joined = '","'.join(values)
    if "\\" in joined or joined.count('"') != 2 * max(0, len(values) - 1):
        joined = '","'.join(v.replace("\\", "\\\\").replace('"', '\\"') for v in values)
    return f'{{"{joined}"}}' if values else "{}"


def _in_psycopg(sql: str) -> str:
    filled = sql.replace("{ids}", "= ANY(:ids)").replace("{seed}", str(THREAD_SEED))
    return _PARAMETER.sub(r"%(\1)s", filled.replace("%", "%%"))


def _local_settings(dsn: str, options: StoreOptions) -> str:
    """Statements that set what lasts as long as a transaction, whatever pools connections."""
    values = {
        # Every statement here is answered by an index. Tables that were just filled or restored
        # have no statistics, and the planner would read them whole for each page and each batch.
        "enable_seqscan": "off",
        "statement_timeout": _milliseconds(options.statement_timeout.total_seconds()),
        "lock_timeout": _milliseconds(options.lock_timeout.total_seconds()),
    }
    local = [f"SET LOCAL {name} = '{value}'" for name, value in values.items()]
    schema = requested_schema(dsn)
    if schema is not None:
        path = sql.quote(schema)
        local.append(f"SELECT set_config('search_path', {path}, true)")
    return "; ".join(local)


def _roll_back(connection: psycopg.Connection[Row]) -> None:
    """Leave a transaction that failed; a connection that cannot even do that is given up."""
    if connection.info.transaction_status is TransactionStatus.IDLE:
        return
    try:
        connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()


def _milliseconds(seconds: float) -> str:
    return f"{max(1, int(seconds * 1000))}ms"
