"""A sweep and somebody else on one store, each stopped between any two of its statements."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple, cast

import psycopg
import redis
from langgraph.checkpoint.base import BaseCheckpointSaver
from psycopg.rows import dict_row

from retention.runs import Candidate, Outcome
from retention.sweep import finish, work_on
from retention.threads import Horizon
from stores import Store
from stores.postgres.saver import RetentionPostgresSaver
from tests.contract.direct import Tables, of_thread
from tests.contract.lab import Lab
from tests.contract.pool import Queue, opened
from tests.gates import WriteLock, gate_redis, gated_sqlite
from tests.integration.redis.looking import thread_of
from tests.seeding import config_of
from tests.stepping import Schedule, Side, every_schedule, gate_postgres, lock_watch

#: A side that is not let in is told at once.
_NO_WAIT = timedelta(milliseconds=1)
#: The tables that hold rows of a thread, by what they hold.
_TABLES = {
    "sqlite": ("checkpoints", "writes", "retention_threads"),
    "postgres": ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "retention_threads"),
}

_KINDS = {
    b"m": "meta",
    b"c": "checkpoints",
    b"i": "ids",
    b"b": "blobs",
    b"w": "writes",
}


class Doomed(NamedTuple):
    """A thread that is due, its checkpoints, oldest first, and the run that has it in a batch."""

    thread_id: str
    ids: list[str]
    run_id: str


@dataclass
class Peer:
    """One side's own way into the store."""

    store: Store
    saver: BaseCheckpointSaver[Any]
    gate: Callable[[Side], None]
    is_blocked: Callable[[Side], bool] = lambda side: False

    def side(self, name: str, work: Callable[[], object]) -> Side:
        """Do this work, stopped after each statement."""
        made = Side(name, work, lambda: self.is_blocked(made))
        self.gate(made)
        return made


@dataclass
class Arena:
    """A sweeper and somebody else; each race is about a thread of its own."""

    lab: Lab
    sweeper: Peer
    other: Peer
    rows_of: Callable[[str], dict[str, Any]]
    #: The horizon that threads are past.
    horizon: Horizon = Horizon.FINISHED
    #: How often a side that can go on is cut short; None walks every order there is.
    cuts: int | None = 1
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def doomed(self) -> Doomed:
        """A thread that is due, in the batch of a run."""
        number = next(self._numbers)
        thread_id, run_id = f"t{number}", f"race-{number}"
        if self.horizon is Horizon.FINISHED:
            ids = self.lab.seed(thread_id, 30, marked=20)
        else:
            ids = self.lab.seed(thread_id, 90)
        opened(self.lab, [Candidate(thread_id, self.horizon, ids[-1])], run_id=run_id)
        return Doomed(thread_id, ids, run_id)

    def sweeping(self, doomed: Doomed) -> Side:
        """The side that works on the batch, from its claim to its end."""
        sweep = self.lab.sweep(store=self.sweeper.store, dispatch=Queue())
        return self.sweeper.side("sweep", lambda: work_on(sweep, doomed.run_id, 0))

    def close(self, doomed: Doomed) -> Outcome:
        """Close the run; what became of its one thread, which it counts once."""
        sweep = self.lab.sweep(dispatch=Queue())
        result = finish(sweep, doomed.run_id)
        assert result is not None, "the run cannot be closed"
        ((name, count),) = result.counts.values.items()
        assert count == 1
        outcome = Outcome(name.partition(":")[0])
        self.outcomes[outcome] += 1
        return outcome

    def race(self, act: Callable[[Doomed], object], check: "Check") -> tuple[int, Counter[Outcome]]:
        """Play the orders of the steps of a batch and of somebody's act; check each.

        Says how many orders there are, and how many of them came to each outcome.
        """

        def play(schedule: Schedule) -> None:
            doomed = self.doomed()
            before = self.rows_of(doomed.thread_id)
            sweep = self.sweeping(doomed)
            other = self.other.side("other", lambda: act(doomed))
            schedule.play(sweep, other)
            assert sweep.error is None, sweep.error
            raced = Raced(doomed, before, self.close(doomed), other.error, schedule)
            check(raced)
            self._end(doomed)

        return every_schedule(play, self.cuts), self.outcomes

    def _end(self, doomed: Doomed) -> None:
        """Leave nothing that the next race would meet."""
        self.lab.saver.delete_thread(doomed.thread_id)


@dataclass(frozen=True)
class Raced:
    """One order of steps, and what came of it."""

    doomed: Doomed
    before: dict[str, Any]
    outcome: Outcome
    error: BaseException | None
    schedule: Schedule

    @property
    def is_deleted(self) -> bool:
        """Whether the sweep deleted the thread."""
        return self.outcome is Outcome.DELETED

    @property
    def came_first(self) -> bool:
        """Whether the other side was through before the sweep began."""
        return self.schedule.ended("other") < self.schedule.began("sweep")

    @property
    def came_last(self) -> bool:
        """Whether the sweep was through before the other side began."""
        return self.schedule.ended("sweep") < self.schedule.began("other")


Check = Callable[[Raced], None]


def values(saver: BaseCheckpointSaver[Any], thread_id: str) -> dict[str, Any] | None:
    """The channel values of a thread's newest checkpoint; None where it has none."""
    found = saver.get_tuple(config_of(thread_id))
    return found.checkpoint["channel_values"] if found else None


@contextmanager
def arena_of(lab: Lab) -> Iterator[Arena]:
    """Two sides on a lab's store."""
    with ExitStack() as stack:
        make = {"sqlite": _on_sqlite, "postgres": _on_postgres, "redis": _on_redis}
        yield make[lab.store.provider](lab, stack)


def _on_postgres(lab: Lab, stack: ExitStack) -> Arena:
    watch = stack.enter_context(lock_watch(lab.address))

    def peer(store: Store) -> Peer:
        database: Any = store.deleter
        with database._db.connected() as own:
            of_store: psycopg.Connection[Any] = own
        of_saver = stack.enter_context(
            psycopg.connect(
                lab.address, autocommit=True, prepare_threshold=None, row_factory=dict_row
            )
        )
        blocked = [watch(of_store), watch(of_saver)]

        def gate(side: Side) -> None:
            gate_postgres(of_store, side.pause, everywhere=True)
            gate_postgres(of_saver, side.pause, everywhere=True)

        saver = RetentionPostgresSaver(of_saver)
        return Peer(store, saver, gate, lambda side: any(is_blocked() for is_blocked in blocked))

    rows = lambda thread_id: _counts(lab, thread_id)  # noqa: E731
    return Arena(lab, peer(lab.worker), peer(stack.enter_context(lab.other())), rows)


def _on_sqlite(lab: Lab, stack: ExitStack) -> Arena:
    lock = WriteLock()

    def peer() -> Peer:
        store = stack.enter_context(lab.other(lock_timeout=_NO_WAIT))
        database, saver = cast(Any, store.deleter)._db, cast(Any, store.saver)
        saver.setup()

        def gate(side: Side) -> None:
            database.connection = gated_sqlite(database.connection, side, lock)
            saver.conn = gated_sqlite(saver.conn, side, lock)

        return Peer(store, saver, gate, lambda side: lock.is_awaited_by(side.name))

    return Arena(lab, peer(), peer(), lambda thread_id: _counts(lab, thread_id))


def _on_redis(lab: Lab, stack: ExitStack) -> Arena:
    client = stack.enter_context(closing(redis.Redis.from_url(lab.address, protocol=2)))

    def peer() -> Peer:
        store = stack.enter_context(lab.other())
        connection = cast(Any, store.deleter)._connection
        return Peer(store, store.saver, lambda side: gate_redis(connection, side.pause))

    def rows(thread_id: str) -> dict[str, Any]:
        found = thread_of(client, thread_id)
        return {_KINDS[key.split(b":")[2]]: value for key, value in found.items()}

    # A step is a whole script there, and there are few of them.
    return Arena(lab, peer(), peer(), rows, cuts=None)


def _counts(lab: Lab, thread_id: str) -> dict[str, int]:
    """How many rows a thread has in each table that has any."""
    rows: Tables = of_thread(lab.dump(), thread_id)
    counts = {table: len(rows.get(table, [])) for table in _TABLES[lab.store.provider]}
    return {table: count for table, count in counts.items() if count}
