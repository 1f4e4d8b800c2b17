"""Two sides of a race, stopped between any two SQL statements; no clock decides anything.

A ``Side`` runs in a thread of its own and stops after each statement of the connection it gates,
until the test lets it take the next step. ``every_schedule`` plays a race once for each order in
which its sides can take their steps. A side that waits for a lock is told by the server.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import psycopg

_DEADLINE_SECONDS = 20
_POLL_SECONDS = 0.005
#: The end of a transaction belongs to its last step; its begin travels with its first statement.
_NO_STEP = ("COMMIT", "ROLLBACK")
#: Nobody who races a delete touches the run log, and settings last for a transaction: a stop after
#: such a statement would only play the same orders once more.
_NOT_RACED = ("retention_batches", "retention_runs", "set_config")

Work = Callable[[], object]


class Side:
    """One side of a race. A step is one statement; the last one ends its transaction."""

    def __init__(
        self, name: str, work: Work, is_blocked: Callable[[], bool] = lambda: False
    ) -> None:
        self.name = name
        self.error: BaseException | None = None
        self.steps = 0
        self._is_blocked = is_blocked
        self._changed = threading.Condition()
        self._permits = 0
        self._arrivals = 0
        self._done = False
        self._work = work
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def done(self) -> bool:
        """Whether the side came to its end."""
        return self._done

    def step(self) -> None:
        """Take one step; returns when it is taken, or waits for a lock of somebody else."""
        with self._changed:
            self._permits += 1
            self._changed.notify_all()
        if not self._thread.is_alive() and not self._done:
            self._thread.start()
        self.steps += 1
        self.waits()

    def waits(self) -> bool:
        """Whether the step last begun is held up by a lock; comes back once that is certain."""
        deadline = time.monotonic() + _DEADLINE_SECONDS
        with self._changed:
            while not self._done and self._arrivals < self.steps:
                if self._is_blocked():
                    return True
                assert time.monotonic() < deadline, f"{self.name} neither arrives nor waits"
                self._changed.wait(_POLL_SECONDS)
        return False

    def finish(self) -> None:
        """Take all steps that are left."""
        while not self._done:
            self.step()
        self._thread.join(_DEADLINE_SECONDS)

    def pause(self) -> None:
        """Stop here until the next step; called after each statement, in any thread."""
        if threading.current_thread() is not self._thread:
            return
        with self._changed:
            self._arrivals += 1
            self._changed.notify_all()
            allowed = self._changed.wait_for(
                lambda: self._permits > self._arrivals, timeout=_DEADLINE_SECONDS
            )
        assert allowed, f"nobody lets {self.name} take its next step"

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error
        with self._changed:
            self._done = True
            self._changed.notify_all()


class Schedule:
    """One order of steps: the given choices first, then always the first side that can go on.

    Where turns are limited, a side that can go on is cut short so many times in all.
    """

    def __init__(self, prefix: Sequence[int], cuts: int | None = None) -> None:
        self.taken: list[tuple[int, int]] = []
        self.trace: list[str] = []
        self._prefix = prefix
        self._cuts = cuts

    def play(self, *sides: Side) -> None:
        """Let the sides take turns until all are done."""
        last: Side | None = None
        while running := [side for side in sides if not side.done]:
            ready = [side for side in running if not side.steps or not side.waits()]
            ready = [side for side in ready if not side.done]
            if not ready:
                assert all(side.done for side in sides), f"deadlock after {self}"
                return
            if last in ready and self._cuts == 0:
                ready = [last]
            chosen = ready[self._choose(len(ready))]
            if self._cuts and last in ready and chosen is not last:
                self._cuts -= 1
            last = chosen
            self.trace.append(chosen.name)
            chosen.step()

    def _choose(self, among: int) -> int:
        position = len(self.taken)
        choice = self._prefix[position] if position < len(self._prefix) else 0
        self.taken.append((choice, among))
        return choice

    def began(self, name: str) -> int:
        """The position at which a side took its first step."""
        return self.trace.index(name)

    def ended(self, name: str) -> int:
        """The position at which a side took its last step."""
        return len(self.trace) - 1 - self.trace[::-1].index(name)

    def __str__(self) -> str:
        return " ".join(self.trace)


def every_schedule(play: Callable[[Schedule], None], cuts: int | None = None) -> int:
    """Play a race once for each order its steps can have; says how many there are.

    With ``cuts``, once for each order in which sides are cut short so many times at most.
    """
    played = 0
    prefix: list[int] | None = []
    while prefix is not None:
        schedule = Schedule(prefix, cuts)
        try:
            play(schedule)
        except AssertionError as error:
            error.add_note(f"after the steps: {schedule}")
            raise
        played += 1
        prefix = _following(schedule.taken)
    return played


def _following(taken: list[tuple[int, int]]) -> list[int] | None:
    """The choices of the next schedule, depth first; None after the last one."""
    while taken and taken[-1][0] + 1 == taken[-1][1]:
        taken.pop()
    if not taken:
        return None
    return [choice for choice, _ in taken[:-1]] + [taken[-1][0] + 1]


class _SteppedCursor(psycopg.Cursor[Any]):
    """A cursor that reports each statement once the server has run it."""

    pause: Callable[[], None]
    passed_over: Sequence[str] = ()

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        super().execute(query, *args, **kwargs)
        if query not in _NO_STEP and not any(name in _text(query) for name in self.passed_over):
            self._report()
        return self

    def executemany(self, query: Any, *args: Any, **kwargs: Any) -> None:
        super().executemany(query, *args, **kwargs)
        self._report()

    def _report(self) -> None:
        # Within a pipeline the statement may still be under way.
        if self.connection._pipeline is not None:
            self.connection._pipeline.sync()
        self.pause()


def _text(query: Any) -> str:
    return query.decode() if isinstance(query, bytes) else str(query)


def gate_postgres(
    connection: psycopg.Connection[Any], pause: Callable[[], None], *, everywhere: bool = False
) -> None:
    """Call ``pause`` after each statement; ``everywhere`` also after those of the run log."""
    binds_itself = issubclass(connection.cursor_factory, psycopg.ClientCursor)
    bases = (_SteppedCursor, psycopg.ClientCursor) if binds_itself else (_SteppedCursor,)
    passed_over = () if everywhere else _NOT_RACED
    kind = type("Stepped", bases, {"pause": staticmethod(pause), "passed_over": passed_over})
    connection.cursor_factory = kind


@contextmanager
def lock_watch(dsn: str) -> Iterator[Callable[[psycopg.Connection[Any]], Callable[[], bool]]]:
    """Tells whether the server makes a connection wait for a lock."""
    with psycopg.connect(dsn, autocommit=True) as watcher:

        def watch(connection: psycopg.Connection[Any]) -> Callable[[], bool]:
            pid = connection.info.backend_pid

            def is_blocked() -> bool:
                row = watcher.execute("SELECT pg_blocking_pids(%s)", [pid]).fetchone()
                return bool(row and row[0])

            return is_blocked

        yield watch


class SteppedSqlite:
    """A SQLite connection that calls ``pause`` after each statement; else the one it wraps."""

    def __init__(self, connection: Any, pause: Callable[[], None]) -> None:
        self._connection = connection
        self._pause = pause

    def execute(self, statement: str, *args: Any) -> Any:
        cursor = self._connection.execute(statement, *args)
        # A transaction's end is the last step's own.
        if statement not in ("COMMIT", "ROLLBACK"):
            self._pause()
        return cursor

    def executemany(self, statement: str, *args: Any) -> Any:
        cursor = self._connection.executemany(statement, *args)
        self._pause()
        return cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def gate_sqlite(database: Any, pause: Callable[[], None]) -> None:
    """Call ``pause`` after each statement of a store's database."""
    database.connection = cast(Any, SteppedSqlite(database.connection, pause))
