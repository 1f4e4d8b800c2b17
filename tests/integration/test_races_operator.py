"""Who wins when an operator ends or erases a thread that somebody writes to or starts."""

import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
import pytest

from retention.ending import EndRule, end
from retention.errors import StoreUnavailableError, ThreadDeletedError, ThreadEndedError
from retention.threads import Ended
from stores import Store
from stores.postgres.saver import RetentionPostgresSaver
from tests.integration import test_races_sqlite as on_sqlite
from tests.integration.test_races_postgres import (
    NOW,
    OLD,
    Race,
    child_of,
    race,
    saver_connection,
)
from tests.seeding import seed_thread
from tests.stepping import Schedule, every_schedule

__all__ = ["race", "saver_connection"]

WORD = Ended(NOW, "ops", "stuck")


def erase(store: Store, thread_id: str) -> object:
    """Erase a thread, whatever is known of it."""
    return store.deleter.erase(thread_id, lambda facts: True)  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def warm(request: pytest.FixtureRequest) -> None:
    """A store that has looked for its tables once takes the same steps each time."""
    if "race" in request.fixturenames:
        played: Race = request.getfixturevalue("race")
        for store in (played.sweeper, played.other):
            store.ledger.entries(["nobody"])


def old_thread(race: Race) -> tuple[str, str]:
    """An old thread and its head."""
    thread_id = f"thread-{next(race._numbers)}"
    return thread_id, seed_thread(race.seeds, thread_id, OLD, checkpoints=2)[-1]


def test_our_put_leaves_no_row_of_an_erased_thread_in_every_order(
    race: Race, saver_connection: psycopg.Connection[Any]
) -> None:
    saver = RetentionPostgresSaver(saver_connection)
    ends: Counter[str] = Counter()

    def play(schedule: Schedule) -> None:
        thread_id, head = old_thread(race)
        work = partial(erase, race.sweeper, thread_id)
        erasing = race.gated("erase", race.connection(race.sweeper), work)
        put = race.gated("put", saver_connection, child_of(saver, thread_id, head))
        schedule.play(erasing, put)
        assert erasing.error is None
        # What comes first is erased with the thread; what comes later has no parent any more.
        assert put.error is None or isinstance(put.error, ThreadDeletedError)
        ends[type(put.error).__name__] += 1
        left = race.place.rows(thread_id)
        # The writes of the put are a transaction of their own, which may come after the erase.
        assert set(left) <= {"checkpoint_writes"}
        if put.error is not None:
            assert left == {}

    assert every_schedule(play) > 20
    assert set(ends) == {"NoneType", "ThreadDeletedError"}


def test_a_start_is_erased_with_its_thread_or_begins_a_new_one_in_every_order(race: Race) -> None:
    seen: Counter[int] = Counter()

    def play(schedule: Schedule) -> None:
        thread_id, _ = old_thread(race)
        work = partial(erase, race.sweeper, thread_id)
        erasing = race.gated("erase", race.connection(race.sweeper), work)
        owner = race.connection(race.other)
        start = race.gated("start", owner, lambda: race.other.ledger.start([thread_id]))
        schedule.play(erasing, start)
        assert erasing.error is start.error is None
        rows = race.place.rows(thread_id)
        assert rows in ({}, {"retention_threads": 1})
        seen[len(rows)] += 1

    assert every_schedule(play) > 12
    assert set(seen) == {0, 1}


@pytest.mark.parametrize("what", ["put", "start"])
def test_an_end_and_what_would_go_on_never_both_succeed_in_every_order(
    race: Race, saver_connection: psycopg.Connection[Any], what: str
) -> None:
    saver = RetentionPostgresSaver(saver_connection)
    refusals: Counter[str] = Counter()

    def play(schedule: Schedule) -> None:
        thread_id, head = old_thread(race)
        answers: list[str | None] = []

        def work() -> None:
            answers.append(end(race.sweeper, thread_id, WORD, EndRule(NOW, head=head)))

        def start() -> None:
            race.other.ledger.start([thread_id])

        ending = race.gated("end", race.connection(race.sweeper), work)
        if what == "put":
            goes_on = race.gated("put", saver_connection, child_of(saver, thread_id, head))
        else:
            goes_on = race.gated("start", race.connection(race.other), start)
        schedule.play(ending, goes_on)
        assert ending.error is None
        (why,) = answers
        assert (why is None) is isinstance(goes_on.error, ThreadEndedError)
        assert goes_on.error is None or why is None
        entry = race.other.ledger.entries([thread_id]).get(thread_id)
        assert (entry is not None and entry.ended is not None) is (why is None)
        words = ("at work", "was active at")
        refusals[next((w for w in words if why and w in why), str(why))] += 1

    assert every_schedule(play) > 12
    assert set(refusals) == {"None", "at work", "was active at"}


@pytest.fixture
def file_race(sqlite_place: Any) -> Iterator[on_sqlite.Race]:
    """Two opened stores on one file."""
    options: dict[str, Any] = {"clock": lambda: NOW, "lock_timeout": on_sqlite.NO_WAIT}
    with sqlite_place.store(**options) as sweeper, sqlite_place.store(**options) as owner:
        yield on_sqlite.Race(sqlite_place, sweeper, owner)


@contextmanager
def told_to_wait(waited: list[str]) -> Iterator[None]:
    """Take note of whoever SQLite's one writer keeps out."""
    try:
        yield
    except (StoreUnavailableError, sqlite3.OperationalError) as error:
        waited.append(str(error))


@pytest.mark.parametrize("what", ["put", "start"])
@pytest.mark.parametrize("verb", ["end", "erase"])
def test_on_sqlite_one_is_whole_before_the_other_begins(
    file_race: on_sqlite.Race, verb: str, what: str
) -> None:
    race, ended_by = file_race, {"end": ThreadEndedError, "erase": ThreadDeletedError}
    errors: list[type[BaseException]] = []
    for steps in itertools.count():
        thread_id = f"{verb}-{what}-{steps}"
        head = seed_thread(race.owner.saver, thread_id, OLD, checkpoints=2)[-1]
        acts: dict[str, Callable[[], object]] = {
            "end": partial(end, race.sweeper, thread_id, WORD, EndRule(NOW, head=head)),
            "erase": partial(erase, race.sweeper, thread_id),
            "put": partial(seed_thread, race.owner.saver, thread_id, NOW, parent=head),
            "start": partial(race.owner.ledger.start, [thread_id]),
        }
        side = on_sqlite.gated(verb, race.sweeper, acts[verb])
        for _ in range(steps):
            side.step()
        under_way = steps > 0 and not side.done
        waited: list[str] = []
        try:
            with told_to_wait(waited):
                acts[what]()
        except (ThreadEndedError, ThreadDeletedError) as error:
            assert side.done
            errors.append(type(error))
        assert bool(waited) is under_way
        side.finish()
        assert side.error is None
        if side.steps == steps:
            break
    # An erased thread's id may be started anew; its checkpoints have no parent any more.
    assert errors == ([] if (verb, what) == ("erase", "start") else [ended_by[verb]])
