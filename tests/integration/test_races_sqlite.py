"""Who wins on SQLite: it has one writer, so a side is in before the other, or is told to wait."""

import itertools
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from retention.errors import StoreUnavailableError, ThreadDeletedError
from retention.ports import Claim
from retention.runs import Candidate, Outcome
from retention.threads import Horizon
from stores import Store
from tests.integration.places import Place
from tests.integration.sweeping import claimed, rule_of
from tests.seeding import config_of, seed_thread
from tests.stepping import Side, gate_sqlite

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
#: A side that is not let in gives up at once.
NO_WAIT = timedelta(milliseconds=1)


@dataclass
class Race:
    """A sweeper and an owner on one file; each race is about a thread of its own."""

    place: Place
    sweeper: Store
    owner: Store
    outcomes: Counter[str] = field(default_factory=Counter)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def thread(self) -> tuple[str, str, Claim]:
        """An old thread, its head, and a claimed batch that holds it alone."""
        thread_id = f"thread-{next(self._numbers)}"
        head = seed_thread(self.owner.saver, thread_id, OLD, checkpoints=2)[-1]
        candidate = Candidate(thread_id, Horizon.WAITING, head)
        return thread_id, head, claimed(self.sweeper, [candidate], NOW)

    def settle(self, claim: Claim) -> None:
        """Delete the thread of a claim, if it may go."""
        self.sweeper.deleter.settle(claim, [0], rule_of(claim).judge, {})

    def outcome(self, claim: Claim) -> Outcome:
        """What became of the thread; its batch is closed."""
        outcome = claim.batch.outcomes[0].outcome
        self.outcomes[outcome] += 1
        self.sweeper.runs.finish_batch(claim, NOW)
        return outcome


@pytest.fixture
def race(sqlite_place: Place) -> Iterator[Race]:
    """Two opened stores on one file."""
    options: dict[str, Any] = {"clock": lambda: NOW, "lock_timeout": NO_WAIT}
    with sqlite_place.store(**options) as sweeper, sqlite_place.store(**options) as owner:
        yield Race(sqlite_place, sweeper, owner)


def gated(name: str, store: Store, work: Callable[[], object]) -> Side:
    """A side stopped after each statement of its store's own database."""
    parts: Any = store.deleter
    side = Side(name, work)
    if hasattr(parts._db.connection, "_connection"):
        parts._db.connection = parts._db.connection._connection
    gate_sqlite(parts._db, side.pause)
    return side


def at_each_step(race: Race, meet: Callable[[str, str], bool]) -> int:
    """Let something meet a delete after each of its statements; it says whether it got in.

    Whoever is not let in has to wait, as long as the delete is under way and no longer.
    """
    for steps in itertools.count():
        thread_id, head, claim = race.thread()
        delete = gated("delete", race.sweeper, partial(race.settle, claim))
        for _ in range(steps):
            delete.step()
        under_way = steps > 0 and not delete.done
        assert meet(thread_id, head) is not under_way
        delete.finish()
        assert delete.error is None
        outcome = race.outcome(claim)
        assert outcome is (Outcome.RESTARTED if steps == 0 else Outcome.DELETED)
        if delete.steps == steps:
            return steps
    raise AssertionError


def test_a_start_keeps_everything_or_waits_for_the_whole_delete(race: Race) -> None:
    def meet(thread_id: str, head: str) -> bool:
        before = race.place.rows(thread_id)
        try:
            race.owner.ledger.start([thread_id])
        except StoreUnavailableError:
            return False
        assert race.place.rows(thread_id) == {**before, "retention_threads": 1}
        return True

    assert at_each_step(race, meet) > 5


def test_our_put_keeps_the_thread_alive_waits_or_is_refused(race: Race) -> None:
    refused = []

    def meet(thread_id: str, head: str) -> bool:
        before = race.place.rows(thread_id)
        try:
            seed_thread(race.owner.saver, thread_id, NOW, parent=head)
        except ThreadDeletedError:
            refused.append(thread_id)
            assert race.place.rows(thread_id) == before == {}
        except sqlite3.OperationalError:
            return False
        else:
            assert race.place.rows(thread_id)["checkpoints"] == before["checkpoints"] + 1
        return True

    assert at_each_step(race, meet) > 5
    assert len(refused) == 1


def test_a_delete_waits_while_an_owner_is_in(race: Race) -> None:
    for steps in (1, 2):
        thread_id, _, claim = race.thread()
        start = gated("start", race.owner, partial(race.owner.ledger.start, [thread_id]))
        for _ in range(steps):
            start.step()
        with pytest.raises(StoreUnavailableError, match="locked"):
            race.settle(claim)
        start.finish()
        race.settle(claim)
        assert race.outcome(claim) is Outcome.RESTARTED
        found = race.owner.saver.get_tuple(config_of(thread_id))
        assert found is not None
        assert race.place.rows(thread_id)["retention_threads"] == 1
