"""A store of one provider with a clock that the test sets, and what a test does with both."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, cast

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from retention import RetentionPolicy
from retention.filters import LiveThreadFilter
from retention.ports import SupportsWaitingHorizon
from retention.runs import Outcome
from retention.sweep import Dispatch, LocalDispatch, Sweep, SweepOptions, SweepResult, dry_run
from retention.sweep import run_sweep as sweep_in_process
from retention.threads import Hold
from stores import Store, StoreOptions, open_store
from tests.contract.direct import Breakable, Direct, DirectMemory, Tables, of_thread
from tests.contract.direct_sql import DirectSql
from tests.seeding import checkpoint_id_at, config_of, seed_thread

#: The instant at which the clock of every lab stands at first.
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
#: Waiting an hour, finished ten minutes.
POLICY = RetentionPolicy(60, 10)

#: The servers on which the Redis store is tested, each by the name of its fixture.
REDIS = {
    "redis": "redis_store_server",
    "redis-cluster": "redis_cluster",
    "valkey": "valkey_server",
    "redis-6.2": "redis62_server",
}


def _only(*providers: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("provider", providers, indirect=True)


#: For a fact that only some stores can show: those that outlast their process, those whose waiting
#: threads a sweep finds, those that drop such threads by themselves, those that can list them at
#: least; those that an official saver shares, and whose ledger outlives a deleted thread.
on_disk = _only("sqlite", "postgres", *REDIS)
in_sql = _only("sqlite", "postgres")
drops_waiting = _only("memory", *REDIS)
lists_waiting = _only("memory", "sqlite", "postgres")
shared_with_stock = keeps_entries_apart = lists_waiting
#: Where a run can park on asks and barriers, and where not.
parks = _only("postgres", *REDIS)
refuses_parks = _only("memory", "sqlite")
in_memory = _only("memory")
on_postgres = _only("postgres")
on_sqlite = _only("sqlite")
on_redis = _only(*REDIS)
#: Where the time beside a checkpoint's id can be read without decoding its state.
dated_by_ts = _only("postgres", *REDIS)

_numbers = count(1)


class SettableClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, minutes: float) -> None:
        """Let time pass."""
        self.now += timedelta(minutes=minutes)


class Claims:
    """A live-thread filter that claims these threads, and knows what it was asked."""

    def __init__(self, *thread_ids: str, owner: str = "tests") -> None:
        self.owner = owner
        self.asked: list[list[str]] = []
        self._claimed = thread_ids

    def claims(self, thread_ids: Sequence[str]) -> list[str]:
        self.asked.append(list(thread_ids))
        return [thread_id for thread_id in thread_ids if thread_id in self._claimed]


@dataclass
class Lab:
    """One opened store, its clock, and a way to its rows past the code under test.

    Sweeps go through ``worker``, which on PostgreSQL has the rights of the worker's role alone;
    so do the ports of ``store``, its saver and ledger apart.
    """

    address: str
    store: Store
    worker: Store
    options: StoreOptions
    clock: SettableClock
    direct: Direct

    @property
    def saver(self) -> BaseCheckpointSaver[Any]:
        """The store's sync saver."""
        return self.store.saver

    @property
    def sql(self) -> DirectSql:
        """The way into a store of tables."""
        assert isinstance(self.direct, DirectSql)
        return self.direct

    @property
    def broken(self) -> Breakable:
        """The way into a store whose records can be broken."""
        assert not isinstance(self.direct, DirectMemory)
        return cast(Breakable, self.direct)

    @property
    def waiting(self) -> SupportsWaitingHorizon:
        """The store's thread index, which can list waiting threads."""
        index = self.store.threads
        assert isinstance(index, SupportsWaitingHorizon)
        return index

    def ago(self, minutes: float) -> datetime:
        """An instant before the clock's; after it if negative."""
        return self.clock.now - timedelta(minutes=minutes)

    def seed(
        self,
        thread_id: str,
        minutes: float = 90,
        checkpoints: int = 2,
        *,
        marked: float | None = None,
        **how: Any,
    ) -> list[str]:
        """Write a thread whose head is so many minutes old, marked so many minutes ago."""
        ids = seed_thread(self.saver, thread_id, self.ago(minutes), checkpoints, **how)
        if marked is not None:
            self.at(-marked, lambda: self.store.ledger.mark_finished([thread_id]))
        return ids

    def at(self, minutes: float, act: Callable[[], object]) -> None:
        """Do something at another time; before now if negative."""
        self.clock.advance(minutes)
        act()
        self.clock.advance(-minutes)

    def write_late(self, thread_id: str, minutes: float = 0, namespace: str = "") -> str:
        """Hang a write on a checkpoint that is not there; when that was minted, and its id."""
        checkpoint_id = checkpoint_id_at(self.ago(minutes))
        config = config_of(thread_id, namespace, checkpoint_id)
        self.saver.put_writes(config, [("messages", "late")], "late-task")
        return checkpoint_id

    def put_foreign(self, thread_id: str, checkpoint_id: str, ts: str) -> None:
        """Write a checkpoint whose id was not minted by LangGraph."""
        self.seed(thread_id, 0, 1)
        (stored,) = self.saver.list(config_of(thread_id))
        self.saver.delete_thread(thread_id)
        foreign = {**stored.checkpoint, "id": checkpoint_id, "ts": ts}
        self.saver.put(config_of(thread_id), foreign, stored.metadata, {})  # type: ignore[arg-type]

    def hold(self, thread_id: str, lapsed: float | None = None) -> None:
        """Exempt a thread, as an operator does; until so many minutes ago if that is given."""
        if lapsed is None:
            assert self.store.ledger.hold([thread_id], Hold("audit")) == {thread_id}
            return
        hold = Hold("audit", until=self.ago(lapsed))
        self.at(-lapsed - 1, lambda: self.store.ledger.hold([thread_id], hold))

    def sweep(
        self,
        *filters: LiveThreadFilter,
        dispatch: Dispatch | None = None,
        store: Store | None = None,
        policy: RetentionPolicy = POLICY,
        **options: Any,
    ) -> Sweep:
        """A sweep of this store at the clock's time."""
        return Sweep(
            store or self.worker,
            policy,
            filters,
            LocalDispatch() if dispatch is None else dispatch,
            self.clock,
            SweepOptions(**options),
        )

    def run(
        self, *filters: LiveThreadFilter, allow_over_limit: bool = False, **how: Any
    ) -> SweepResult:
        """Sweep the store, in this process."""
        return run_sweep(self.sweep(*filters, **how), allow_over_limit=allow_over_limit)

    def preview(
        self, *filters: LiveThreadFilter, allow_over_limit: bool = False, **how: Any
    ) -> SweepResult:
        """What a sweep would do now."""
        return dry_run(self.sweep(*filters, **how), "dry", allow_over_limit=allow_over_limit)

    def dump(self) -> Tables:
        """Every row of every table."""
        return self.direct.dump()

    def rows_of(self, thread_id: str) -> Tables:
        """Every row of one thread, by table."""
        return of_thread(self.dump(), thread_id)

    def threads(self) -> set[str]:
        """The threads that hold a checkpoint."""
        return {row["thread_id"] for row in self.dump()["checkpoints"]}

    @contextmanager
    def stock(self) -> Iterator[BaseCheckpointSaver[Any]]:
        """LangGraph's own saver on the same store: it takes no lock and refuses nothing.

        On Redis no other saver shares the layout, so there it is ours.
        """
        if isinstance(self.saver, InMemorySaver):
            stock = InMemorySaver()
            stock.storage, stock.writes = self.saver.storage, self.saver.writes
            stock.blobs = self.saver.blobs
            yield stock
        elif self.store.provider == "sqlite":
            with SqliteSaver.from_conn_string(self.address.removeprefix("sqlite:///")) as saver:
                yield saver
        elif self.store.provider == "redis":
            yield self.saver
        else:
            with PostgresSaver.from_conn_string(self.address) as saver:
                yield saver

    @contextmanager
    def other(self, **changes: Any) -> Iterator[Store]:
        """The same store opened by another process; memory has but one."""
        if self.store.provider == "memory":
            yield self.store
            return
        with open_store(self.address, settings=replace(self.options, **changes)) as store:
            yield store


def run_sweep(sweep: Sweep, run_id: str = "", *, allow_over_limit: bool = False) -> SweepResult:
    """Run a sweep to its end in this process, under an id of its own."""
    assert isinstance(sweep.dispatch, LocalDispatch)
    name = run_id or f"run-{next(_numbers)}"
    return sweep_in_process(sweep, sweep.dispatch, name, allow_over_limit=allow_over_limit)


def count_of(result: SweepResult, outcome: Outcome) -> int:
    """Threads of a result with an outcome."""
    return result.counts.total(outcome)
