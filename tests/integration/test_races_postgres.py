"""Who wins on PostgreSQL: each order of the statements of a delete and of what comes between."""

import itertools
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row

from retention.errors import ParkRefusedError, ThreadDeletedError
from retention.ports import Claim
from retention.runs import Candidate, Outcome
from retention.sweep import LocalDispatch
from retention.sweep.batch import sweep_threads
from retention.threads import Horizon
from stores import Store
from stores.postgres.saver import RetentionPostgresSaver
from tests.integration.places import Place
from tests.integration.sweeping import claimed, rule_of, sweep, sweep_of
from tests.seeding import config_of, seed_thread
from tests.stepping import Schedule, Side, every_schedule, gate_postgres, lock_watch

NOW = datetime.now(UTC)
#: Past the default waiting horizon of seven days.
OLD = NOW - timedelta(days=8)

ADVISORY_LOCKS = """
SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
WHERE l.locktype = 'advisory' AND d.datname = current_database()
"""

Watch = Callable[[psycopg.Connection[Any]], Callable[[], bool]]


@dataclass
class Race:
    """A sweeper and somebody else on one database; each race is about a thread of its own."""

    place: Place
    sweeper: Store
    other: Store
    seeds: BaseCheckpointSaver[Any]
    watch: Watch
    outcomes: Counter[str] = field(default_factory=Counter)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def thread(self) -> tuple[str, str, Claim]:
        """An old thread, its head, and a claimed batch that holds it alone."""
        thread_id = f"thread-{next(self._numbers)}"
        head = seed_thread(self.seeds, thread_id, OLD, checkpoints=2)[-1]
        candidate = Candidate(thread_id, Horizon.WAITING, head)
        return thread_id, head, claimed(self.sweeper, [candidate], NOW)

    def deleting(self, claim: Claim, work: Callable[[], object] | None = None) -> Side:
        """The side that deletes, stopped after each of its statements."""
        settle = work or (lambda: self.sweeper.deleter.settle(claim, [0], rule_of(claim).judge, {}))
        return self.gated("delete", self.connection(self.sweeper), settle)

    def gated(self, name: str, connection: psycopg.Connection[Any], work: Any) -> Side:
        """A side stopped after each statement of its connection."""
        side = Side(name, work, self.watch(connection))
        gate_postgres(connection, side.pause)
        return side

    def whole(self, name: str, connection: psycopg.Connection[Any], work: Any) -> Side:
        """A side that takes one step."""
        return Side(name, work, self.watch(connection))

    def outcome(self, claim: Claim, side: Side) -> Outcome:
        """What became of the thread; its batch is closed."""
        assert side.error is None, side.error
        outcome = claim.batch.outcomes[0].outcome
        self.outcomes[outcome] += 1
        self.sweeper.runs.finish_batch(claim, NOW)
        return outcome

    @staticmethod
    def connection(store: Store) -> psycopg.Connection[Any]:
        database: Any = store.deleter
        with database._db.connected() as connection:
            found: psycopg.Connection[Any] = connection
            return found


@pytest.fixture
def race(postgres_place: Place) -> Iterator[Race]:
    """Two opened stores and a stock saver on one database."""
    clock = lambda: NOW  # noqa: E731 - one instant for all
    with (
        postgres_place.store(clock=clock) as sweeper,
        postgres_place.store(clock=clock) as other,
        postgres_place.saver("stock") as seeds,
        lock_watch(postgres_place.address) as watch,
    ):
        yield Race(postgres_place, sweeper, other, seeds, watch)


@pytest.fixture
def saver_connection(postgres_place: Place, race: Race) -> Iterator[psycopg.Connection[Any]]:
    """A connection for a saver that takes part in a race."""
    with psycopg.connect(
        postgres_place.address, autocommit=True, prepare_threshold=None, row_factory=dict_row
    ) as connection:
        yield connection


def child_of(
    saver: BaseCheckpointSaver[Any], thread_id: str, parent: str | None
) -> Callable[[], object]:
    """A put of a new checkpoint with two channels, and the writes of a task, as a run does it."""
    return lambda: seed_thread(saver, thread_id, NOW, parent=parent)


def values(saver: BaseCheckpointSaver[Any], thread_id: str) -> dict[str, Any] | None:
    """The channel values of a thread's newest checkpoint."""
    found = saver.get_tuple(config_of(thread_id))
    return found.checkpoint["channel_values"] if found else None


WHOLE = {"messages": ["message of step 0"], "count": 0}


def test_a_start_before_the_delete_takes_its_lock_keeps_everything_in_every_order(
    race: Race,
) -> None:
    def play(schedule: Schedule) -> None:
        thread_id, _, claim = race.thread()
        before = race.place.rows(thread_id)
        delete = race.deleting(claim)
        owner = race.connection(race.other)
        start = race.gated("start", owner, lambda: race.other.ledger.start([thread_id]))
        schedule.play(delete, start)
        assert start.error is None
        outcome = race.outcome(claim, delete)
        if schedule.ended("start") < schedule.began("delete"):
            assert outcome is Outcome.RESTARTED
        if schedule.ended("delete") < schedule.began("start"):
            assert outcome is Outcome.DELETED
        if outcome is Outcome.DELETED:
            assert schedule.ended("delete") < schedule.ended("start")
        kept = {} if outcome is Outcome.DELETED else before
        assert race.place.rows(thread_id) == {**kept, "retention_threads": 1}
        assert race.other.ledger.entries([thread_id])[thread_id].started_at == NOW

    assert every_schedule(play) > 12
    assert set(race.outcomes) == {Outcome.DELETED, Outcome.RESTARTED, Outcome.BUSY}


def test_a_park_before_the_delete_takes_its_lock_keeps_everything_in_every_order(
    race: Race,
) -> None:
    """The filters were asked before either side began: neither knows of the ask."""
    later = NOW + timedelta(seconds=1)
    with race.place.store(clock=lambda: later) as parking:

        def play(schedule: Schedule) -> None:
            thread_id, _, claim = race.thread()
            before = race.place.rows(thread_id)
            delete = race.deleting(claim)
            open_ask = lambda: parking.asks.open_ask(thread_id, "a", later + timedelta(days=1))  # noqa: E731
            park = race.whole("park", race.connection(parking), open_ask)
            schedule.play(delete, park)
            if race.outcome(claim, delete) is Outcome.DELETED:
                assert isinstance(park.error, ParkRefusedError)
                assert race.place.rows(thread_id) == {}
            else:
                assert park.error is None
                assert race.place.rows(thread_id) == {**before, "retention_asks": 1}

        assert every_schedule(play) > 3
    assert set(race.outcomes) == {Outcome.DELETED, Outcome.RESTARTED}


def test_our_put_keeps_the_thread_alive_or_is_refused_and_leaves_no_row_in_every_order(
    race: Race, saver_connection: psycopg.Connection[Any]
) -> None:
    saver = RetentionPostgresSaver(saver_connection)

    def play(schedule: Schedule) -> None:
        thread_id, head, claim = race.thread()
        before = race.place.rows(thread_id)
        delete = race.deleting(claim)
        put = race.gated("put", saver_connection, child_of(saver, thread_id, head))
        schedule.play(delete, put)
        if race.outcome(claim, delete) is Outcome.DELETED:
            assert isinstance(put.error, ThreadDeletedError)
            assert race.place.rows(thread_id) == {}
        else:
            assert put.error is None
            assert values(race.seeds, thread_id) == WHOLE
            assert race.place.rows(thread_id)["checkpoints"] == before["checkpoints"] + 1

    assert every_schedule(play) > 20
    assert set(race.outcomes) == {Outcome.DELETED, Outcome.RESTARTED, Outcome.BUSY}


def test_a_new_conversation_under_the_id_is_whole_in_every_order(
    race: Race, saver_connection: psycopg.Connection[Any]
) -> None:
    saver = RetentionPostgresSaver(saver_connection)

    def play(schedule: Schedule) -> None:
        thread_id, _, claim = race.thread()
        whole = sweep_of(race.sweeper, LocalDispatch(), NOW, filters=())
        rule = rule_of(claim)
        work = lambda: sweep_threads(whole, claim, rule, NOW)  # noqa: E731
        delete = race.deleting(claim, work)
        put = race.gated("put", saver_connection, child_of(saver, thread_id, None))
        schedule.play(delete, put)
        assert put.error is None
        race.outcome(claim, delete)
        assert values(race.seeds, thread_id) == WHOLE

    assert every_schedule(play) > 20


@pytest.mark.parametrize("has_parent", [True, False])
def test_a_stock_put_between_the_statements_of_a_delete_leaves_nothing_hollow(
    race: Race, saver_connection: psycopg.Connection[Any], has_parent: bool
) -> None:
    saver = PostgresSaver(saver_connection)

    def play(schedule: Schedule) -> None:
        thread_id, head, claim = race.thread()
        whole = sweep_of(race.sweeper, LocalDispatch(), NOW, filters=())
        rule = rule_of(claim)
        work = lambda: sweep_threads(whole, claim, rule, NOW)  # noqa: E731
        delete = race.deleting(claim, work)
        put = child_of(saver, thread_id, head if has_parent else None)
        schedule.play(delete, race.whole("put", saver_connection, put))
        race.outcome(claim, delete)
        race.sweeper.runs.close(claim.run.run_id, NOW)
        sweep(race.sweeper, NOW)
        found = values(race.seeds, thread_id)
        if claim.batch.outcomes[0].outcome is Outcome.RESTARTED:
            assert found == WHOLE
            assert race.place.rows(thread_id)["checkpoints"] == 3
        elif has_parent:
            assert found is None
            assert race.place.rows(thread_id) == {}
        else:
            assert found == WHOLE

    assert every_schedule(play) > 3
    assert {Outcome.DELETED, Outcome.RESTARTED} <= set(race.outcomes)


def test_writes_of_a_task_that_land_in_a_delete_are_gone_after_the_look_again(
    race: Race, saver_connection: psycopg.Connection[Any]
) -> None:
    saver = PostgresSaver(saver_connection)

    def play(schedule: Schedule) -> None:
        thread_id, head, claim = race.thread()
        whole = sweep_of(race.sweeper, LocalDispatch(), NOW, filters=())
        rule = rule_of(claim)
        work = lambda: sweep_threads(whole, claim, rule, NOW)  # noqa: E731
        delete = race.deleting(claim, work)
        late = lambda: saver.put_writes(  # noqa: E731
            config_of(thread_id, checkpoint_id=head), [("messages", "late")], str(uuid.uuid4())
        )
        schedule.play(delete, race.whole("put", saver_connection, late))
        assert race.outcome(claim, delete) is Outcome.DELETED
        race.sweeper.runs.close(claim.run.run_id, NOW)
        sweep(race.sweeper, NOW)
        assert race.place.rows(thread_id) == {}

    assert every_schedule(play) > 3


def test_two_deletes_of_one_thread_delete_it_once(race: Race) -> None:
    thread_id, _, claim = race.thread()
    first = race.deleting(claim)
    while not race.place.query(ADVISORY_LOCKS):
        first.step()
    with race.place.store(clock=lambda: NOW) as store:
        store.deleter.settle(claim, [0], rule_of(claim).judge, {})
        assert claim.batch.outcomes[0].outcome is Outcome.BUSY
    first.finish()
    assert race.outcome(claim, first) is Outcome.DELETED
    assert race.place.rows(thread_id) == {}
