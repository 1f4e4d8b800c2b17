"""Where the sides of a race stop: after each statement of SQLite, or each call of Redis.

Here a transaction's end is a step of its own. A side that SQLite does not let in is held up, and
let go on, and tried again, when the one that is in comes to its end.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from stores.postgres.database import PostgresTransaction
from stores.redis.connection import Connection
from stores.relational.database import Answer, Statement
from tests.stepping import Side

_DEADLINE_SECONDS = 20
#: A batch of a test has no more threads.
_FEW = 8

Statements = Callable[..., list[Answer]]


class WriteLock:
    """SQLite's one write lock, as the sides of a race wait for it."""

    def __init__(self) -> None:
        self._freed = threading.Condition()
        self._waiting: set[str] = set()

    def is_awaited_by(self, name: str) -> bool:
        """Whether this side was not let in, and nobody came to an end since."""
        return name in self._waiting

    def await_turn(self, name: str) -> None:
        """Wait until somebody comes to an end."""
        with self._freed:
            self._waiting.add(name)
            freed = self._freed.wait_for(lambda: name not in self._waiting, _DEADLINE_SECONDS)
        assert freed, f"nobody lets {name} in"

    def free(self) -> None:
        """Somebody came to an end."""
        with self._freed:
            self._waiting.clear()
            self._freed.notify_all()


class _Gated:
    """Anything of SQLite whose statements are steps; else what it wraps."""

    def __init__(self, wrapped: Any, side: Side, lock: WriteLock) -> None:
        self._wrapped = wrapped
        self._side = side
        self._lock = lock

    def execute(self, statement: str, *args: Any) -> Any:
        done = self._tried(lambda: self._wrapped.execute(statement, *args))
        if statement in ("COMMIT", "ROLLBACK"):
            self._lock.free()
        self._side.pause()
        return done

    def executemany(self, statement: str, *args: Any) -> Any:
        done = self._tried(lambda: self._wrapped.executemany(statement, *args))
        self._side.pause()
        return done

    def commit(self) -> None:
        """The end of a transaction that the driver began."""
        in_transaction = self._wrapped.in_transaction
        self._wrapped.commit()
        if in_transaction:
            self._lock.free()
            self._side.pause()

    def cursor(self) -> "_Gated":
        """A cursor whose statements are steps."""
        return _Gated(self._wrapped.cursor(), self._side, self._lock)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._wrapped)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wrapped, name)

    def _tried(self, run: Callable[[], Any]) -> Any:
        while True:
            try:
                return run()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
            self._lock.await_turn(self._side.name)


def gated_sqlite(connection: Any, side: Side, lock: WriteLock) -> Any:
    """The connection, gated for this side, and for no side before it."""
    bare = connection._wrapped if isinstance(connection, _Gated) else connection
    return cast(Any, _Gated(bare, side, lock))


def gate_redis(connection: Any, pause: Callable[[], None]) -> None:
    """Let calls of this connection travel one by one, and call ``pause`` after each.

    Calls to many buckets stay together: those only read.
    """

    def send(calls: Sequence[Any]) -> list[Any]:
        if len(calls) > _FEW:
            return Connection.send(connection, calls)
        replies: list[Any] = []
        for call in calls:
            replies += Connection.send(connection, [call])
            pause()
        return replies

    connection.send = send
    connection.stream = lambda calls: (send([call])[0] for call in calls)


def one_by_one(together: Statements) -> Statements:
    """Statements of PostgreSQL each in a round trip of its own: a gate is in between."""

    def run(self: PostgresTransaction, *statements: Statement) -> list[Answer]:
        if not statements:
            return together(self)
        return [answer for statement in statements for answer in together(self, statement)]

    return run
