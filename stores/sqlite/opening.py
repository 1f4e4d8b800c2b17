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

from retention.errors import ConfigurationError, StoreUnavailableError
from stores.address import sqlite_path
from stores.formats import checked_format
from stores.inspection import Inspection
from stores.opened import Store
from stores.options import Access, StoreOptions
from stores.relational.assembly import adopted, assemble
from stores.relational.formats import Formats
from stores.relational.schema import statements
from stores.relational.sqlite_database import SqliteDatabase, translated
from stores.serializer import CompressingSerializer
from stores.sqlite.deleter import SqliteDeleter
from stores.sqlite.ids import any_text
from stores.sqlite.rows import SqliteRows
from stores.sqlite.saver import AsyncRetentionSqliteSaver, RetentionSqliteSaver
from stores.waiting import tries

_SAVER_TABLES = ("checkpoints", "writes")
_MODES = {Access.CREATE: "mode=rwc", Access.WRITE: "mode=rw"}
#: For a connection that is to change nothing, whatever its mode.
_READ_ONLY = "PRAGMA query_only = ON"
_TO_WAL = "PRAGMA journal_mode = WAL"


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

        yield assemble(
            "sqlite", db, SqliteRows(db), options, make_saver, make_deleter=SqliteDeleter
        )


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
            rows = SqliteRows(db)
            yield assemble("sqlite", db, rows, options, lambda: saver, make_deleter=SqliteDeleter)
    finally:
        await asyncio.to_thread(opened.__exit__, None, None, None)


def init(address: str, options: StoreOptions) -> None:
    """Make the store and its tables where they are missing, also where somebody dropped one.

    Raises:
        ConfigurationError: The path cannot hold a database.
    """
    with _opened(_checked(address, Access.CREATE), options, mends=True):
        pass


def ddl() -> list[str]:
    """All statements that make a store: the official saver's tables, then this project's."""
    return [_TO_WAL, *_saver_ddl(), *statements("TEXT")]


def _saver_ddl() -> list[str]:
    """What the official saver makes, read back from a database in memory."""
    with closing(sqlite3.connect(":memory:")) as connection:
        SqliteSaver(connection).setup()
        made = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return [sql.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1) for (sql,) in made]


def adopt(address: str, options: StoreOptions, compresses: bool | None) -> Inspection:
    """Inspect a store, and with ``compresses`` given take it over.

    Raises:
        ConfigurationError: The path names no checkpoint store.
        StoreError: The file cannot be read or written.
    """
    path = _checked(address, options.access)
    with _raw(path, options) as db:
        _check_saver_tables(db, path, options)
        rows = SqliteRows(db)
        formats = Formats(db, rows, str(path))
        return adopted(db, rows, formats, lambda: _make_own_tables(db), options, compresses)


@contextmanager
def _opened(
    path: Path, options: StoreOptions, *, mends: bool = False
) -> Iterator[tuple[SqliteDatabase, CompressingSerializer]]:
    with _raw(path, options) as db:
        _check_saver_tables(db, path, options)
        formats = Formats(db, SqliteRows(db), str(path), mends=mends)
        compresses = checked_format(formats, lambda: _complete(db, path, options), options)
        yield db, CompressingSerializer(options.compress_above if compresses else None)


@contextmanager
def _raw(path: Path, options: StoreOptions) -> Iterator[SqliteDatabase]:
    with _connected(path, options) as connection:
        connection.isolation_level = None
        connection.text_factory = any_text
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


def _check_saver_tables(db: SqliteDatabase, path: Path, options: StoreOptions) -> None:
    """Refuse a file that is no checkpoint store, or make it one where the access allows that."""
    if db.has_tables(_SAVER_TABLES):
        return
    if options.access is not Access.CREATE:
        _await_saver_tables(db, path, options)
        return
    _switch_to_wal(db, path, options)
    with db.transaction() as tx:
        for statement in _saver_ddl():
            tx.change(statement)


def _await_saver_tables(db: SqliteDatabase, path: Path, options: StoreOptions) -> None:
    """Wait for a stock saver that makes its tables: it does so one by one."""
    for _ in tries(options):
        missing = db.missing_tables(_SAVER_TABLES)
        if not missing:
            return
        if len(missing) == len(_SAVER_TABLES):
            raise ConfigurationError(
                f"{path}: holds no checkpoints: the file is no checkpoint store; "
                f"`retention store init --storage {path}` makes it one"
            )
    raise ConfigurationError(
        f"{path}: the table {missing[0]} is missing beside the others of a checkpoint store; "
        f"`retention store init --storage {path}` makes it"
    )


def _complete(db: SqliteDatabase, path: Path, options: StoreOptions) -> None:
    """Make what is missing in a store whose format is known to be ours, or that is empty."""
    if options.access is Access.CREATE:
        _switch_to_wal(db, path, options)
    _make_own_tables(db)


def _switch_to_wal(db: SqliteDatabase, path: Path, options: StoreOptions) -> None:
    """Keep the journal as the official saver wants it; its own switch waits for nobody.

    SQLite does not wait either: it refuses at once where another process is at work.
    """
    for _ in tries(options):
        try:
            with translated(str(path)), db.lock:
                db.connection.execute(_TO_WAL)
        except StoreUnavailableError as error:
            refused = error
        else:
            return
    raise refused


def _make_own_tables(db: SqliteDatabase) -> None:
    if not db.has_own_tables():
        with db.transaction() as tx:
            for statement in statements("TEXT"):
                tx.change(statement)


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
