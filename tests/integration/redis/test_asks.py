"""Asks on Redis: answers that get lost, writers at the same time, and keys that live as long."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from retention.asks import Outcome
from retention.errors import StoreUnavailableError
from stores.options import StoreOptions
from stores.redis.asks import RedisAsks
from stores.redis.connection import Connection
from stores.redis.layout import bucket_of
from tests.contract.lab import POLICY, SettableClock
from tests.integration.redis.looking import dump, expiries
from tests.integration.redis.parts import Parts, Resending
from tests.seeding import config_of, seed_thread

LATER = timedelta(minutes=30)


def asks_over(connection: Connection, clock: SettableClock) -> RedisAsks:
    """The asks of a store whose clock stands still."""
    return RedisAsks(connection, StoreOptions(policy=POLICY, clock=clock))


@pytest.fixture
def asks(parts: Parts, client: Any) -> RedisAsks:
    """The asks of a store with a thread ``t``."""
    seed_thread(parts.saver, "t", parts.clock.now, 2)
    return asks_over(Connection(client), parts.clock)


def test_a_call_that_is_sent_twice_is_told_what_the_first_did(
    parts: Parts, asks: RedisAsks, client: Any
) -> None:
    resent = asks_over(Resending(client), parts.clock)
    deadline = parts.clock.now + LATER
    for ask_id in "ab":
        resent.open_ask("t", ask_id, deadline)
    resent.open_barrier("t", "both", ["a", "b"], deadline)
    assert resent.answer("t", "a").outcome is Outcome.ANSWERED
    answered = resent.answer("t", "b")
    assert (answered.outcome, len(answered.barriers)) == (Outcome.ANSWERED, 1)
    assert asks.answer("t", "b").outcome is Outcome.ANSWERED_BEFORE


def test_of_many_answers_at_once_each_is_taken_once_and_one_completes_the_barrier(
    parts: Parts, asks: RedisAsks
) -> None:
    names = [f"a-{number}" for number in range(8)]
    for ask_id in names:
        asks.open_ask("t", ask_id, parts.clock.now + LATER)
    asks.open_barrier("t", "all", names, parts.clock.now + LATER)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda ask_id: asks.answer("t", ask_id), names * 2))
    outcomes = sorted(answer.outcome for answer in answers)
    assert outcomes == [Outcome.ANSWERED] * 8 + [Outcome.ANSWERED_BEFORE] * 8
    assert sum(len(answer.barriers) for answer in answers) == 1


def test_a_thread_that_others_park_all_the_time_is_unavailable(
    parts: Parts, asks: RedisAsks, client: Any
) -> None:
    others = asks_over(Connection(client), parts.clock)
    opened = 0

    class Interrupted(Connection):
        def send(self, calls: Any) -> list[Any]:
            nonlocal opened
            if calls[0].script.name == "asks_write":
                opened += 1
                others.open_ask("t", f"other-{opened}", parts.clock.now + LATER)
            return super().send(calls)

    unlucky = asks_over(Interrupted(client), parts.clock)
    with pytest.raises(StoreUnavailableError, match="'t' waits for changed each of 50 times"):
        unlucky.open_ask("t", "mine", parts.clock.now + LATER)
    assert len(asks.book("t").asks) == opened == 50


def test_all_keys_of_a_parked_thread_live_as_long_whatever_is_written(
    parts: Parts, asks: RedisAsks, client: Any
) -> None:
    asks.open_ask("t", "a", parts.clock.now + LATER)
    assert len(expiries(client, "t")) == 1
    seed_thread(parts.saver, "t", parts.clock.now, 1)
    parts.saver.put_writes(config_of("t", "", "late"), [("messages", "late")], "task")
    parts.ledger.start(["t"])
    asks.answer("t", "a")
    assert len(expiries(client, "t")) == 1


def test_a_deleted_thread_leaves_no_key_of_what_it_waited_for(
    parts: Parts, asks: RedisAsks, client: Any
) -> None:
    asks.open_ask("t", "a", parts.clock.now + LATER)
    parts.saver.delete_thread("t")
    assert dump(client) == {}


def test_a_copy_has_no_asks(parts: Parts, asks: RedisAsks) -> None:
    asks.open_ask("t", "a", parts.clock.now + LATER)
    parts.saver.copy_thread("t", "copy")
    assert asks.book("copy").asks == {}
    assert asks.open_asks(["t", "copy"]) == {"t"}


def test_a_thread_whose_keys_expired_leaves_the_index_of_deadlines(
    parts: Parts, asks: RedisAsks, client: Any
) -> None:
    asks.open_ask("t", "a", parts.clock.now + LATER)
    for key in client.keys("*:?:t"):
        client.delete(key)
    assert asks.expire(parts.clock.now + LATER, 10).asks == ()
    assert client.keys("*:asks") == []


def test_a_thread_cut_down_to_its_asks_keeps_them(parts: Parts, asks: RedisAsks) -> None:
    parts.saver.put_writes(config_of("early", "", "c"), [("messages", "x")], "task")
    asks.open_ask("early", "a", parts.clock.now + LATER)
    parts.deleter.remove_dead("early", "zzz", parts.clock.now + LATER)
    assert asks.open_asks(["early"]) == {"early"}


@pytest.mark.parametrize("parked", [1, 6])
def test_few_and_many_parked_threads_of_a_bucket_are_told_alike(
    parts: Parts, asks: RedisAsks, parked: int
) -> None:
    names = [name for name in map(str, range(4_000)) if bucket_of(name) == bucket_of("t")][:6]
    for name in names:
        seed_thread(parts.saver, name, parts.clock.now)
    for name in names[:parked]:
        asks.open_ask(name, "a", parts.clock.now + LATER)
    assert asks.open_asks(names) == set(names[:parked])
    assert asks.open_asks(names[:1]) == {names[0]}
    assert asks.open_asks(names[-1:]) == (set(names[-1:]) if parked == 6 else set())
