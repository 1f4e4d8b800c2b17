"""Calls of a sweep one by one: others come in between, and what fails on the way is sent again."""

import threading
from hashlib import sha1
from typing import Any

import pytest

from retention.errors import StoreError, StoreUnavailableError
from retention.ports import BatchPlan
from retention.runs import BatchKind, Candidate, Run
from retention.threads import Horizon
from stores.options import StoreOptions
from stores.redis.client import connected
from stores.redis.connection import Connection
from stores.redis.layout import bucket
from stores.redis.requests import Call
from stores.redis.room import AMPLE, NARROW
from stores.redis.scripts import Script, script, thread_script
from stores.redis_address import parse
from tests.contract.lab import POLICY
from tests.contract.pool import LEASE
from tests.integration.redis.parts import Parts, of_one_bucket
from tests.seeding import seed_thread

_COUNTING = thread_script("live_count")


def counts(buckets: range) -> list[Call]:
    return [Call(_COUNTING, bucket(number)) for number in buckets]


@pytest.fixture
def alone(parts: Parts) -> Connection:
    """A connection that found nobody else on the server."""
    connection = parts.connection
    connection.look_around()
    connection.look_around()
    assert connection.room == AMPLE
    return connection


def test_replies_come_in_the_order_of_their_calls(parts: Parts, alone: Connection) -> None:
    one, *_ = of_one_bucket(1)
    seed_thread(parts.saver, one, parts.clock.now)
    assert sum(alone.stream(counts(range(256)))) == 1
    assert [*alone.stream(counts(range(256)))] == alone.send(counts(range(256)))
    assert [*alone.stream([])] == []


def test_a_script_that_the_server_forgot_is_loaded_again(alone: Connection, client: Any) -> None:
    replies = alone.stream(counts(range(6)))
    assert next(replies) == 0
    client.script_flush()
    assert [*replies] == [0] * 5


def test_calls_of_a_script_that_the_server_does_not_know_are_carried_out_in_order(
    alone: Connection, client: Any
) -> None:
    text = "return redis.call('RPUSH', KEYS[1] .. 'order', ARGV[1])"
    pushing = Script("pushing", text, sha1(text.encode(), usedforsecurity=False).hexdigest())
    calls = [Call(pushing, bucket(0), (number,)) for number in range(7)]
    assert [*alone.stream(calls)] == [*range(1, 8)]
    assert client.lrange(bucket(0) + b"order", 0, -1) == [b"%d" % n for n in range(7)]


def test_a_plan_counts_each_of_its_batches_where_the_server_forgot_the_script(
    parts: Parts, alone: Connection, client: Any
) -> None:
    parts.runs.open(Run("r", POLICY, parts.clock.now, parts.clock.now + LEASE), "mine")
    plans = [BatchPlan(BatchKind.SWEEP, [Candidate(f"t{n}", Horizon.FINISHED)]) for n in range(3)]
    client.script_flush()
    parts.runs.add_batches("r", "mine", 0, plans, parts.clock.now + LEASE)
    assert parts.runs.count_batches("r") == 3
    assert parts.runs.count_open("r") == 3


def test_a_connection_that_is_lost_on_the_way_is_made_anew(
    redis_store_url: str, client: Any
) -> None:
    with connected(parse(redis_store_url), StoreOptions()) as connection:
        replies = connection.stream(counts(range(6)))
        assert next(replies) == 0
        for other in client.client_list():
            if int(other["id"]) != client.client_id():
                client.client_kill_filter(_id=other["id"])
        assert [*replies] == [0] * 5


def test_one_that_is_refused_ends_the_stream_and_harms_no_other(
    alone: Connection, client: Any
) -> None:
    client.set(bucket(2) + b"live", "no index")
    replies = alone.stream(counts(range(6)))
    assert [next(replies), next(replies)] == [0, 0]
    with pytest.raises(StoreError, match="WRONGTYPE"):
        next(replies)
    client.delete(bucket(2) + b"live")
    assert [*alone.stream(counts(range(6)))] == [0] * 6


def test_whoever_stops_early_leaves_no_reply_to_the_next(alone: Connection) -> None:
    for _ in range(3):
        replies = alone.stream(counts(range(6)))
        next(replies)
        replies.close()  # type: ignore[attr-defined]
        assert alone.client.eval("return 'mine'", 0) == b"mine"
    assert [*alone.stream(counts(range(3)))] == [0, 0, 0]


def test_a_server_that_is_gone_is_unavailable(parts: Parts) -> None:
    client = parts.connection.client
    pool = client.connection_pool
    pool.connection_kwargs["port"] = 1
    pool.disconnect()
    with pytest.raises(StoreUnavailableError):
        [*Connection(client).stream(counts(range(2)))]


def test_an_agent_is_noticed_and_then_little_is_asked_at_once(
    parts: Parts, alone: Connection, client: Any
) -> None:
    parts.over(Connection(client)).saver.put_writes(
        {"configurable": {"thread_id": "t", "checkpoint_id": "c", "checkpoint_ns": ""}},
        [("channel", 1)],
        "task",
    )
    alone.look_around()
    assert alone.room == AMPLE, "one call is no agent at work"
    for number in range(5):
        seed_thread(parts.over(Connection(client)).saver, f"t{number}", parts.clock.now)
    alone.look_around()
    assert alone.room == NARROW


def test_calls_of_this_process_are_no_agent(parts: Parts, alone: Connection) -> None:
    parts.seed_due("a", "b", "c")
    assert parts.run().counts.values == {"deleted:finished": 3}
    alone.look_around()
    assert alone.room == AMPLE


def test_threads_of_a_process_count_together(alone: Connection) -> None:
    def work() -> None:
        for _ in range(20):
            assert sum(alone.stream(counts(range(16)))) == 0

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    alone.look_around()
    assert alone.room == AMPLE


def test_the_count_is_none_of_anybody_else_s_commands(alone: Connection, client: Any) -> None:
    for _ in range(100):
        client.ping()
    counting = Call(script("calls"), bucket(0))
    before = alone.send([counting])[0]
    assert alone.send([counting])[0] == before + 1
