"""Opening a SQLite store: what must be there, what is made, and what is refused."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import aiosqlite
from langgraph.checkpoint.sqlite import SqliteSaver

from retention.errors import ConfigurationError, StoreError
from stores.address import sqlite_path
from stores.inspection import Inspection
from stores.opened import Store
from stores.options import Access, StoreOptions
from stores.relational.assembly import adopted, assemble, checked_format
from stores.relational.formats import Formats
from stores.relational.schema import statements
from stores.relational.sqlite_database import SqliteDatabase, translated
from stores.serializer import CompressingSerializer
from stores.sqlite.rows import SqliteRows
from stores.sqlite.saver import AsyncRetentionSqliteSaver, RetentionSqliteSaver

_MODES = {Access.CREATE: "mode=rwc", Access.WRITE: "mode=rw"}
#: For a connection that is to change nothing, whatever its mode.
_READ_ONLY = "PRAGMA query_only = ON"


@contextmanager
def open_store(address: str, options: StoreOptions) -> Iterator[Store]:
    """Open a store.

    Raises:
        ConfigurationError: The path names no file, a folder, or a file that is no checkpoint store.
        StoreUnavailableError: The file is locked.
        StoreError: The file is no database, or cannot be written.
    """
    path = _checked(address, options.access)
    with ExitStack() as stack:
        db, serde = stack.enter_context(_opened(path, options))

        def make_saver() -> RetentionSqliteSaver:
            connection = stack.enter_context(_connected(path, options))
            return RetentionSqliteSaver(connection, serde=serde)

        yield assemble("sqlite", db, SqliteRows(db), options, make_saver)


@asynccontextmanager
async def aopen_store(address: str, options: StoreOptions) -> AsyncIterator[Store]:
    """Open a store whose saver is the async one; its other ports work in threads."""
    path = _checked(address, options.access)
    opened = _opened(path, options)
    db, serde = await asyncio.to_thread(opened.__enter__)
    try:
        uri, timeout = _uri(path, options.access), options.lock_timeout.total_seconds()
        async with aiosqlite.connect(uri, uri=True, timeout=timeout) as connection:
            if options.access is Access.READ:
                await connection.execute(_READ_ONLY)
            saver = AsyncRetentionSqliteSaver(connection, serde=serde)
            yield assemble("sqlite", db, SqliteRows(db), options, lambda: saver)
    finally:
        await asyncio.to_thread(opened.__exit__, None, None, None)


def init(address: str, options: StoreOptions) -> None:
    """Make the store and its tables where they are missing.

    Raises:
        ConfigurationError: The path cannot hold a database.
    """
    with _opened(_checked(address, Access.CREATE), options):
        pass


def ddl() -> list[str]:
    """All statements that make a store: the official saver's tables, then this project's."""
    return [*_saver_ddl(), *statements("TEXT")]


def _saver_ddl() -> list[str]:
    """What the official saver makes, read back from a database in memory."""
    with closing(sqlite3.connect(":memory:")) as connection:
        SqliteSaver(connection).setup()
        made = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    tables = [sql.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1) for (sql,) in made]
    return ["PRAGMA journal_mode = WAL", *tables]


def adopt(address: str, options: StoreOptions, compresses: bool | None) -> Inspection:
    """Inspect a store, and with ``compresses`` given take it over.

    Raises:
        ConfigurationError: The path names no checkpoint store.
        StoreError: The file cannot be read or written.
    """
    path = _checked(address, options.access)
    with _raw(path, options) as db:
        _check_saver_tables(db, path, options.access)
        rows = SqliteRows(db)
        formats = Formats(db, rows, str(path))
        return adopted(db, rows, formats, lambda: _make_own_tables(db), options, compresses)


@contextmanager
def _opened(
    path: Path, options: StoreOptions
) -> Iterator[tuple[SqliteDatabase, CompressingSerializer]]:
    with _raw(path, options) as db:
        _check_saver_tables(db, path, options.access)
        formats = Formats(db, SqliteRows(db), str(path))
        compresses = checked_format(formats, lambda: _make_own_tables(db), options)
        yield db, CompressingSerializer(options.compress_above if compresses else None)


@contextmanager
def _raw(path: Path, options: StoreOptions) -> Iterator[SqliteDatabase]:
    with _connected(path, options) as connection:
        connection.isolation_level = None
        yield SqliteDatabase(connection, str(path), options.statement_timeout)


@contextmanager
def _connected(path: Path, options: StoreOptions) -> Iterator[sqlite3.Connection]:
    uri, timeout = _uri(path, options.access), options.lock_timeout.total_seconds()
    with translated(str(path)):
        connection = sqlite3.connect(uri, uri=True, timeout=timeout, check_same_thread=False)
    with closing(connection):
        if options.access is Access.READ:
            connection.execute(_READ_ONLY)
        yield connection


def _check_saver_tables(db: SqliteDatabase, path: Path, access: Access) -> None:
    """Refuse a file that is no checkpoint store, or make it one where the access allows that."""
    with db.reading() as tx:
        found = tx.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'checkpoints'")
    if not found and access is not Access.CREATE:
        raise ConfigurationError(
            f"{path}: holds no checkpoints: the file is no checkpoint store; "
            f"`retention store init --storage {path}` makes it one"
        )
    if not found:
        _make_saver_tables(db)


def _make_own_tables(db: SqliteDatabase) -> None:
    if not db.has_own_tables():
        with db.transaction() as tx:
            for statement in statements("TEXT"):
                tx.change(statement)


def _make_saver_tables(db: SqliteDatabase) -> None:
    """Let the official saver make its tables; its switch to WAL does not wait for others."""
    for _ in range(100):
        try:
            with translated(str(db)):
                SqliteSaver(db.connection).setup()
        except StoreError as error:
            if "locked" not in str(error):
                raise
        else:
            return
    raise StoreError("the file stays locked")


def _checked(address: str, access: Access) -> Path:
    path = Path(sqlite_path(address))
    if path.is_dir():
        raise ConfigurationError(f"{path}: is a folder, not a SQLite file")
    if access is not Access.CREATE and not path.exists():
        raise ConfigurationError(f"{path}: no such file; nothing was created")
    if not path.parent.is_dir():
        raise ConfigurationError(f"{path}: no such folder: {path.parent}")
    if access is not Access.READ:
        _check_writable(path)
    return path


def _check_writable(path: Path) -> None:
    """SQLite would open it all the same, leave files behind, and fail at the first write."""
    if path.exists() and not os.access(path, os.W_OK):
        raise ConfigurationError(f"{path}: the file is read-only for this user")
    if not os.access(path.parent, os.W_OK):
        raise ConfigurationError(
            f"{path}: this user may not write in its folder, where SQLite keeps its journal"
        )


def _uri(path: Path, access: Access) -> str:
    mode = _read_mode(path) if access is Access.READ else _MODES[access]
    return f"file:{quote(str(path.absolute()))}?{mode}"


def _read_mode(path: Path) -> str:
    """How to read without a trace, where the file is in WAL mode.

    A connection in mode ro makes the -wal and -shm files and leaves them behind, so one that may
    write is used; it takes them away again. Where nothing can be written and nobody has the
    file open, SQLite reads it only as one that does not change.
    """
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return "mode=rw"
    is_open = Path(f"{path}-wal").exists()
    return "mode=ro" if is_open else "mode=ro&immutable=1"
