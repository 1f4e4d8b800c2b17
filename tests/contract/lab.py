"""A store of one provider with a clock that the test sets, and what a test does with both."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

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
from stores.relational.schema import OWN_TABLES
from tests.contract.direct import Direct, Tables, of_thread
from tests.seeding import checkpoint_id_at, config_of, seed_thread

#: The instant at which the clock of every lab stands at first.
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
#: Waiting an hour, finished ten minutes.
POLICY = RetentionPolicy(60, 10)

#: For a fact that only some stores can show.
on_disk = pytest.mark.parametrize("provider", ["sqlite", "postgres"], indirect=True)
in_memory = pytest.mark.parametrize("provider", ["memory"], indirect=True)
on_postgres = pytest.mark.parametrize("provider", ["postgres"], indirect=True)
on_sqlite = pytest.mark.parametrize("provider", ["sqlite"], indirect=True)

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
        """LangGraph's own saver on the same store: it takes no lock and refuses nothing."""
        if isinstance(self.saver, InMemorySaver):
            stock = InMemorySaver()
            stock.storage, stock.writes = self.saver.storage, self.saver.writes
            stock.blobs = self.saver.blobs
            yield stock
        elif self.store.provider == "sqlite":
            with SqliteSaver.from_conn_string(self.address.removeprefix("sqlite:///")) as saver:
                yield saver
        else:
            with PostgresSaver.from_conn_string(self.address) as saver:
                yield saver

    @contextmanager
    def without_our_tables(self) -> Iterator[None]:
        """The store with no table of this project's but the record of its format."""
        names = [name for name in OWN_TABLES if name != "retention_format"]
        self.direct.execute("".join(f"ALTER TABLE {n} RENAME TO away_{n};" for n in names))
        try:
            yield
        finally:
            self.direct.execute("".join(f"ALTER TABLE away_{n} RENAME TO {n};" for n in names))

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
