"""Opening a PostgreSQL store: what must be there, what is made, and what is refused."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import replace
from typing import Any

import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.base import MIGRATIONS
from psycopg import errors
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from retention.errors import ConfigurationError, StoreError, StoreUnavailableError
from stores.formats import checked_format
from stores.inspection import Inspection
from stores.opened import Store
from stores.options import Access, StoreOptions
from stores.postgres.database import PostgresDatabase, PostgresTransaction, missing_tables
from stores.postgres.deleter import PostgresDeleter
from stores.postgres.locks import SETUP_KEY
from stores.postgres.parks import PostgresParks
from stores.postgres.rows import PostgresRows
from stores.postgres.saver import AsyncRetentionPostgresSaver, RetentionPostgresSaver
from stores.postgres.schema import own_ddl, requested_schema, saver_ddl
from stores.relational.assembly import adopted, assemble
from stores.relational.formats import Formats
from stores.serializer import CompressingSerializer
from stores.waiting import tries

_SAVER_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
#: Where LangGraph's own server keeps what belongs to the checkpoints.
_SERVER_TABLES = ("assistant", "run", "thread")
#: What the tables hold that only this database has.
_HELD = {
    "retention_asks": "what parked runs wait for",
    "retention_barriers": "which of it they wait for together",
}
#: How long to wait for another process that makes the tables, and how often to ask.
_SETUP_SECONDS = 60
_SETUP_PAUSE_SECONDS = 0.02
#: How a server refuses what another process has just made.
_MADE_MEANWHILE = (
    errors.DuplicateColumn,
    errors.DuplicateObject,
    errors.DuplicateTable,
    errors.UniqueViolation,
)
#: What the official savers ask of a connection; prepared statements do not survive a pooler.
_SAVER_CONNECTION = {"autocommit": True, "prepare_threshold": None, "row_factory": dict_row}


@contextmanager
def open_store(address: str, options: StoreOptions) -> Iterator[Store]:
    """Open a store.

    Raises:
        ConfigurationError: The address is wrong, the server refuses it, the schema in force is
            another than the address names, tables are missing, or a right to make them is.
        StoreUnavailableError: The server cannot be reached.
    """
    with _opened(address, options) as (db, serde), ExitStack() as stack:

        def make_saver() -> RetentionPostgresSaver:
            pool = stack.enter_context(_saver_pool(address))
            return RetentionPostgresSaver(pool, serde=serde)

        yield _assembled(db, options, make_saver, managed_by(db))


@asynccontextmanager
async def aopen_store(address: str, options: StoreOptions) -> AsyncIterator[Store]:
    """Open a store whose saver is the async one; its other ports work in threads."""
    opened = _opened(address, options)
    db, serde = await asyncio.to_thread(opened.__enter__)
    pool: AsyncConnectionPool[psycopg.AsyncConnection[DictRow]] = AsyncConnectionPool(
        address,
        min_size=1,
        max_size=2,
        kwargs=_SAVER_CONNECTION,
        check=AsyncConnectionPool.check_connection,
        open=False,
    )
    try:
        managed = await asyncio.to_thread(managed_by, db)
        async with pool:
            saver = AsyncRetentionPostgresSaver(pool, serde=serde)
            yield _assembled(db, options, lambda: saver, managed)
    finally:
        await asyncio.to_thread(opened.__exit__, None, None, None)


def _assembled(
    db: PostgresDatabase,
    options: StoreOptions,
    make_saver: Callable[[], BaseCheckpointSaver[Any]],
    managed: str | None,
) -> Store:
    rows, parks = PostgresRows(db), PostgresParks(db)
    return assemble(
        "postgres",
        db,
        rows,
        options,
        make_saver,
        managed=managed,
        parks=parks,
        make_deleter=PostgresDeleter,
    )


def init(address: str, options: StoreOptions) -> None:
    """Make the store's tables where they are missing, also where somebody dropped one.

    Raises:
        ConfigurationError: The role may not make tables, or the address is wrong.
    """
    with _opened(address, options, mends=True):
        pass


def _saver_pool(address: str) -> ConnectionPool[psycopg.Connection[DictRow]]:
    """Connections for the official saver, which lets one call at a time through.

    One connection serves it, and a second takes its place where that one broke.
    """
    return ConnectionPool(
        address,
        min_size=1,
        max_size=2,
        kwargs=_SAVER_CONNECTION,
        check=ConnectionPool.check_connection,
        open=False,
    )


def adopt(address: str, options: StoreOptions, compresses: bool | None) -> Inspection:
    """Inspect a store, and with ``compresses`` given take it over.

    Raises:
        ConfigurationError: The address names no checkpoint store, or a right is missing.
        StoreUnavailableError: The server cannot be reached.
    """
    with _raw(address, options) as db:
        _check_saver_tables(db, options)
        rows = PostgresRows(db)
        formats = Formats(db, rows, "PostgreSQL", _HELD)
        found = adopted(db, rows, formats, lambda: _make_own_tables(db), options, compresses)
        return replace(found, managed=managed_by(db))


def managed_by(db: PostgresDatabase) -> str | None:
    """What shows that LangGraph's own server runs this database; None where nothing does."""
    if db.missing_tables(_SERVER_TABLES):
        return None
    return (
        f"its tables {', '.join(_SERVER_TABLES)} are those of LangGraph's own server, which lets "
        "threads go by a TTL of its own"
    )


@contextmanager
def _opened(
    address: str, options: StoreOptions, *, mends: bool = False
) -> Iterator[tuple[PostgresDatabase, CompressingSerializer]]:
    with _raw(address, options) as db:
        _check_saver_tables(db, options)
        formats = Formats(db, PostgresRows(db), "PostgreSQL", _HELD, mends=mends)
        compresses = checked_format(formats, lambda: _complete(db, address, options), options)
        yield db, CompressingSerializer(options.compress_above if compresses else None)


@contextmanager
def _raw(address: str, options: StoreOptions) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(address, options)) as db:
        _check_schema(db, requested_schema(address))
        yield db


def _check_schema(db: PostgresDatabase, requested: str | None) -> None:
    """A pooler can drop the option silently: the wrong store would be swept."""
    if requested is None:
        return
    with db.connected() as connection:
        row = connection.execute("SELECT current_setting('search_path')").fetchone()
        found = row[0] if row else ""
    if _names(found) != _names(requested):
        raise ConfigurationError(
            f"PostgreSQL: the schema in force is {found}, not {requested} as the address says: "
            "a pooler may have dropped the option"
        )
    with db.transaction() as tx:
        if tx.rows("SELECT current_schema()")[0][0] is None:
            raise ConfigurationError(f"PostgreSQL: there is no schema {requested}")


def _names(search_path: str) -> list[str]:
    return [name.strip().strip('"') for name in search_path.split(",")]


def _check_saver_tables(db: PostgresDatabase, options: StoreOptions) -> None:
    """Refuse a database without checkpoint tables, or make them where the access allows that."""
    if db.has_tables(_SAVER_TABLES):
        return
    if options.access is not Access.CREATE:
        _await_saver_tables(db, options)
        return
    _alone(db, lambda tx: _run(tx, saver_ddl() if missing_tables(tx, _SAVER_TABLES) else ()))


def _await_saver_tables(db: PostgresDatabase, options: StoreOptions) -> None:
    """Wait for a stock saver that makes its tables: it does so one by one."""
    for _ in tries(options):
        missing = db.missing_tables(_SAVER_TABLES)
        if not missing:
            return
        if len(missing) == len(_SAVER_TABLES):
            raise ConfigurationError(
                "PostgreSQL: the checkpoint tables are missing in the schema in force; "
                "`retention store init` makes them"
            )
    raise ConfigurationError(
        f"PostgreSQL: the table {missing[0]} is missing beside the other checkpoint tables in the "
        "schema in force; `retention store init` makes it"
    )


def _complete(db: PostgresDatabase, address: str, options: StoreOptions) -> None:
    """Make what is missing in a store whose format is known to be ours, or that is empty."""
    if options.access is Access.CREATE:
        _migrate_saver_tables(db, address)
    _make_own_tables(db)


def _migrate_saver_tables(db: PostgresDatabase, address: str) -> None:
    """Bring the tables of an older official saver up to date."""

    def migrate(tx: PostgresTransaction) -> None:
        if not _is_migrated(tx):
            # On a connection of its own: indexes of tables in use are built CONCURRENTLY, which
            # goes in no transaction, and waits for none that only holds a lock.
            with _saver_pool(address) as pool:
                PostgresSaver(pool).setup()

    _alone(db, migrate)


def _is_migrated(tx: PostgresTransaction) -> bool:
    if missing_tables(tx, ["checkpoint_migrations"]):
        return False
    version = tx.rows("SELECT max(v) FROM checkpoint_migrations")[0][0]
    return version is not None and version >= len(MIGRATIONS) - 1


def _make_own_tables(db: PostgresDatabase) -> None:
    if db.has_own_tables():
        return
    _alone(db, lambda tx: _run(tx, own_ddl()))


def _run(tx: PostgresTransaction, statements: Iterable[str]) -> None:
    for statement in statements:
        tx.change(statement)


@contextmanager
def _explained() -> Iterator[None]:
    """Where the right to make tables is missing, name what a database owner may run."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{error}; `retention store init --print-sql` prints what a database owner may run"
        ) from error


def _alone(db: PostgresDatabase, make: Callable[[PostgresTransaction], None]) -> None:
    """One process at a time makes tables: CREATE IF NOT EXISTS alone fails in a race.

    Asked for again and again, never waited for: CREATE INDEX CONCURRENTLY in the process that
    holds the lock waits for every statement under way, so also for one that waits for the lock.
    """
    deadline = time.monotonic() + _SETUP_SECONDS
    while time.monotonic() < deadline:
        with _explained():
            if _try_alone(db, make):
                return
        time.sleep(_SETUP_PAUSE_SECONDS)
    raise StoreUnavailableError("PostgreSQL: another process is still making the tables")


def _try_alone(db: PostgresDatabase, make: Callable[[PostgresTransaction], None]) -> bool:
    try:
        with db.transaction() as tx:
            if not tx.rows("SELECT pg_try_advisory_xact_lock(%(key)s)", key=SETUP_KEY)[0][0]:
                return False
            make(tx)
    except StoreError as error:
        # A stock saver takes no lock: what it made in the same moment is there at the next try.
        if isinstance(error.__cause__, _MADE_MEANWHILE):
            return False
        raise
    return True
