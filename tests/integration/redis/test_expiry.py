"""A thread goes whole, and only when nobody has written to it for its retention."""

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.types import Command

from retention.policy import RetentionPolicy, ThreadRetention
from stores.codec import FaithfulCodec
from stores.options import StoreOptions
from stores.redis.connection import Connection
from stores.redis.layout import bucket_of, keys_of
from stores.redis.saver import RedisRetentionSaver
from tests.integration import graphs
from tests.integration.redis.looking import age, dump, expiries
from tests.seeding import config_of, seed_thread

NOW = datetime(2026, 6, 1, tzinfo=UTC)
WEEK = 7 * 24 * 3600 * 1000
GRAPHS: list[Callable[[], Any]] = [
    graphs.chain,
    graphs.asking,
    graphs.asking_within,
    graphs.asking_deep_within,
    graphs.asking_within_memory,
    graphs.branching,
    graphs.asking_twice,
]


class Sequences:
    """Random work on some threads; any of it may park a run, and an answer may come or not."""

    def __init__(self, saver: RedisRetentionSaver, seed: int) -> None:
        self.saver = saver
        self.names = ["a", "a:b", "*", "{y}"]
        self._random = random.Random(seed)
        self._agents = {
            name: graphs.SyncAgent(self._random.choice(GRAPHS)(), saver) for name in self.names
        }

    def step(self) -> None:
        """Do one thing to one thread."""
        name = self._random.choice(self.names)
        work = self._random.choice([self.run, self.run, self.read, self.copy, self.edit, self.cut])
        work(name, config_of(name))

    def run(self, name: str, config: Any) -> None:
        agent = self._agents[name]
        interrupts = agent.state(config).interrupts
        given: Any = {"log": [], "count": 0}
        if interrupts:
            given = Command(resume={self._random.choice(interrupts).id: "yes"})
        agent.run(given, config, self._random.choice(["sync", "async", "exit"]))

    def read(self, name: str, config: Any) -> None:
        before = dump(self.saver._connection.client)
        self._agents[name].history(config)
        list(self.saver.list(None, limit=5))
        assert dump(self.saver._connection.client) == before

    def copy(self, name: str, config: Any) -> None:
        target = f"copy of {name}"
        if self.saver.get_tuple(config) and target not in self.names:
            self.saver.copy_thread(name, target)
            self.names.append(target)
            self._agents[target] = self._agents[name]

    def edit(self, name: str, config: Any) -> None:
        state = self._agents[name].state(config)
        if state.next and not state.interrupts:
            self._agents[name].update(config, {"log": ["edit"], "count": 0})
        elif state.config["configurable"].get("checkpoint_id"):
            at = state.config
            self.saver.put_writes(at, [("log", "stray")], f"task {self._random.random()}")

    def cut(self, name: str, config: Any) -> None:
        if self._random.random() < 0.5:
            self.saver.prune([name])
        else:
            self.saver.delete_thread(name)


@pytest.mark.parametrize("seed", range(12))
def test_all_keys_of_a_thread_have_one_expiry_after_any_sequence(
    saver: RedisRetentionSaver, client: Any, seed: int
) -> None:
    sequences = Sequences(saver, seed)
    for _ in range(25):
        sequences.step()
        for name in sequences.names:
            assert len(expiries(client, name)) <= 1
            assert -1 not in expiries(client, name)
    of_threads = {key for name in sequences.names for key in keys_of(name)}
    indexes = {bucket_of(name) + kind for name in sequences.names for kind in (b"live", b"expiry")}
    assert set(client.keys("*")) <= of_threads | indexes
    for name in sequences.names:
        saver.delete_thread(name)
    assert client.keys("*") == []


def test_a_write_gives_the_whole_thread_its_time_anew(
    saver: RedisRetentionSaver, client: Any
) -> None:
    ids = seed_thread(saver, "t", NOW, 3)
    (first,) = expiries(client, "t")
    age(client, "t", WEEK - 60_000)
    saver.get_tuple(config_of("t"))
    (aged,) = expiries(client, "t")
    assert aged == pytest.approx(first - WEEK + 60_000, abs=5000)
    saver.put_writes(config_of("t", "", ids[-1]), [("c", 1)], "task")
    (renewed,) = expiries(client, "t")
    assert renewed >= first
    assert client.zscore(bucket_of("t") + b"expiry", "t") == pytest.approx(renewed, abs=5)
    assert len(list(saver.list(config_of("t")))) == 3


def test_a_parked_run_goes_on_where_part_of_its_time_has_passed(
    saver: RedisRetentionSaver, client: Any
) -> None:
    agent, config = graphs.SyncAgent(graphs.asking_within(), saver), config_of("t")
    agent.run({"log": [], "count": 0}, config)
    age(client, "t", WEEK // 2)
    saver.put_writes(agent.state(config).config, [("log", ["stray"])], "another task")
    age(client, "t", WEEK // 2 + 60_000)
    assert len({client.exists(key) for key in keys_of("t")}) == 1
    assert graphs.answer(agent, config, "ask")["log"][-1] == "last"


def test_a_thread_whose_time_has_passed_is_gone_whole(
    saver: RedisRetentionSaver, client: Any
) -> None:
    agent, config = graphs.SyncAgent(graphs.asking_within(), saver), config_of("t")
    agent.run({"log": [], "count": 0}, config)
    age(client, "t", WEEK + 1)
    assert [client.exists(key) for key in keys_of("t")] == [0] * 5
    assert saver.get_tuple(config) is None
    assert list(saver.list(None)) == []
    seed_thread(saver, "t", NOW, 1)
    assert len(list(saver.list(config))) == 1


@pytest.mark.parametrize(
    ("own", "declared", "minutes"),
    [(None, None, 100), (40, None, 40), (40, b"30", 30), (40, b"", 100), (None, b"500", 100)],
)
def test_the_declared_waiting_retention_is_the_time_to_live(
    client: Any, own: int | None, declared: bytes | None, minutes: int
) -> None:
    retention = None if own is None else ThreadRetention(waiting_minutes=own)
    options = StoreOptions(policy=RetentionPolicy(100, 10), retention=retention)
    saver = RedisRetentionSaver(Connection(client), FaithfulCodec(), options)
    root = seed_thread(saver, "t", NOW, 1)[0]
    if declared is not None:
        client.hset(keys_of("t")[0], "dw", declared)
        seed_thread(saver, "t", NOW, 1, parent=root)
    assert client.pttl(keys_of("t")[0]) == pytest.approx(minutes * 60_000, abs=20_000)


@pytest.mark.parametrize("is_endless", [True, False])
def test_a_write_leaves_a_held_thread_held(
    saver: RedisRetentionSaver, client: Any, is_endless: bool
) -> None:
    root = seed_thread(saver, "t", NOW, 1)[0]
    seconds, _ = client.time()
    end = seconds * 1000 + WEEK + 3_600_000
    client.hset(keys_of("t")[0], mapping={"hr": "why", "hu": "" if is_endless else end * 1000})
    seed_thread(saver, "t", NOW, 2, parent=root)
    (found,) = expiries(client, "t")
    assert found == pytest.approx(-1 if is_endless else end, abs=5)
    indexed = client.zscore(bucket_of("t") + b"expiry", "t")
    assert indexed == (float("inf") if is_endless else end)
