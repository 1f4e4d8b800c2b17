"""Copies: all of a thread, and nothing of its ledger."""

from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint

from stores.redis.layout import keys_of
from stores.redis.saver import AsyncRedisRetentionSaver, RedisRetentionSaver
from tests.integration.redis.looking import dump, expiries, thread_of
from tests.seeding import config_of, seed_thread

NOW = datetime(2026, 6, 1, tzinfo=UTC)
METADATA: Any = {"source": "loop", "step": 1, "parents": {}}


def listed(saver: RedisRetentionSaver, thread_id: str) -> list[Any]:
    """All a thread shows, but for its name."""
    found = saver.list({"configurable": {"thread_id": thread_id}})
    return [
        (
            item.config["configurable"]["checkpoint_ns"],
            item.checkpoint,
            item.metadata,
            item.parent_config and item.parent_config["configurable"]["checkpoint_id"],
            item.pending_writes,
        )
        for item in found
    ]


def test_a_copy_has_every_namespace_write_blob_and_parent(
    saver: RedisRetentionSaver, client: Any
) -> None:
    seed_thread(saver, "t", NOW, 3, interrupted=True)
    seed_thread(saver, "t", NOW, 2, namespace="sub")
    before = thread_of(client, "t")
    saver.copy_thread("t", "copy")
    assert thread_of(client, "t") == before
    assert listed(saver, "copy") == listed(saver, "t")
    assert len(listed(saver, "copy")) == 5
    copied = thread_of(client, "copy")
    assert [*copied.values()] == [*before.values()]


def test_a_copy_has_the_expiry_of_a_fresh_write_and_nothing_of_the_ledger(
    saver: RedisRetentionSaver, client: Any
) -> None:
    seed_thread(saver, "t", NOW, 2)
    ledger = {
        "mk": "1",
        "due": "2",
        "ow": "o",
        "dw": "5",
        "df": "5",
        "hr": "why",
        "hu": "",
        "st": 1,
    }
    client.hset(keys_of("t")[0], mapping=ledger)
    for key in keys_of("t"):
        client.persist(key)
    saver.copy_thread("t", "copy")
    assert not set(client.hgetall(keys_of("copy")[0])) & {name.encode() for name in ledger}
    (expiry,) = expiries(client, "copy")
    assert expiry > 0
    assert expiries(client, "t") == {-1}


def test_copying_again_changes_nothing(saver: RedisRetentionSaver, client: Any) -> None:
    seed_thread(saver, "t", NOW, 3, interrupted=True)
    saver.copy_thread("t", "copy")
    before = thread_of(client, "copy")
    saver.copy_thread("t", "copy")
    assert thread_of(client, "copy") == before
    saver.copy_thread("t", "t")
    assert len(listed(saver, "t")) == 3


def test_what_the_target_holds_stays_beside_the_copy(saver: RedisRetentionSaver) -> None:
    ids = seed_thread(saver, "t", NOW, 2)
    saver.copy_thread("t", "copy")
    saver.put_writes(config_of("copy", "", ids[-1]), [("c", "of the copy")], "mine")
    saver.put_writes(config_of("t", "", ids[-1]), [("c", "of the source")], "yours")
    newer = seed_thread(saver, "copy", NOW + timedelta(days=1), 1, parent=ids[-1])
    saver.copy_thread("t", "copy")
    found = saver.get_tuple(config_of("copy", "", ids[-1]))
    assert found is not None
    values = [value for _, _, value in found.pending_writes or []]
    assert sorted(values) == ["of the copy", "of the source", "write of step 1"]
    head = saver.get_tuple(config_of("copy"))
    assert head is not None
    assert head.checkpoint["id"] == newer[0]


def test_a_source_that_holds_nothing_changes_nothing(
    saver: RedisRetentionSaver, client: Any
) -> None:
    seed_thread(saver, "t", NOW, 2)
    before = dump(client)
    saver.copy_thread("missing", "t")
    saver.copy_thread("missing", "other")
    assert dump(client) == before


def test_an_undated_thread_is_undated_as_a_copy(saver: RedisRetentionSaver, client: Any) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["id"], checkpoint["ts"] = "foreign", "never"
    saver.put(config_of("t"), checkpoint, METADATA, {})
    saver.copy_thread("t", "copy")
    assert client.hmget(keys_of("copy")[0], "head", "undated") == [b"foreign", b"1"]


def test_a_thread_of_many_fields_is_copied_whole(saver: RedisRetentionSaver) -> None:
    config = config_of("t", "", seed_thread(saver, "t", NOW, 1)[0])
    for task in range(9_000):
        if task % 1000 == 0:
            saver.put_writes(config, [("c", number) for number in range(500)], f"big {task}")
    checkpoint = empty_checkpoint()
    names = [f"channel {number}" for number in range(5_000)]
    checkpoint["channel_values"] = {name: [name] for name in names}
    checkpoint["channel_versions"] = dict.fromkeys(names, "1")
    saver.put(config_of("t"), checkpoint, METADATA, checkpoint["channel_versions"])
    saver.copy_thread("t", "copy")
    assert listed(saver, "copy") == listed(saver, "t")


async def test_the_async_saver_copies(
    saver: RedisRetentionSaver, asaver: AsyncRedisRetentionSaver
) -> None:
    seed_thread(saver, "t", NOW, 3)
    await asaver.acopy_thread("t", "copy")
    assert listed(saver, "copy") == listed(saver, "t")
