"""What is put is read back, and nothing else is."""

import asyncio
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, empty_checkpoint

from retention.errors import ThreadDeletedError
from stores.redis.layout import bucket_of, keys_of, raw
from stores.redis.saver import AsyncRedisRetentionSaver, RedisRetentionSaver
from tests.integration.redis.looking import dump, thread_of
from tests.seeding import checkpoint_id_at, config_of, seed_thread

NOW = datetime(2026, 6, 1, tzinfo=UTC)
METADATA: Any = {"source": "loop", "step": 1, "parents": {}}

#: Ids that a key pattern, a format, a separator or an encoding could take for something else.
STRANGE = [
    "a",
    "a:b",
    "*",
    "[x]",
    "{y}",
    "%s",
    "line\nbreak",
    "nul\0nul\0",
    "\0",
    "é𝄞",
    "x" * 2000,
    "\ud800",
    " ",
]


def a_checkpoint(**values: Any) -> Checkpoint:
    """A checkpoint of these channels, each in its first version."""
    checkpoint = empty_checkpoint()
    checkpoint["v"] = 4
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = dict.fromkeys(values, "1")
    return checkpoint


def put(
    saver: RedisRetentionSaver, thread_id: str, parent: str | None = None, **values: Any
) -> str:
    """Put a checkpoint; its id."""
    checkpoint = a_checkpoint(**values)
    versions = checkpoint["channel_versions"]
    saver.put(config_of(thread_id, "", parent), checkpoint, METADATA, versions)
    return checkpoint["id"]


@pytest.mark.parametrize("name", STRANGE, ids=repr)
def test_any_text_can_be_any_id(saver: RedisRetentionSaver, client: Any, name: str) -> None:
    for other in ("ab", "a:b:c", "x", "y", "s"):
        put(saver, other, text=other)
    before = dump(client)
    checkpoint = a_checkpoint(**{name: [name]})
    checkpoint["id"] = name
    config = config_of(name, name)
    at = saver.put(config, checkpoint, METADATA, checkpoint["channel_versions"])
    assert at == config_of(name, name, name)
    saver.put_writes(at, [(name, name)], name, name)
    found = saver.get_tuple(config)
    assert found == saver.get_tuple(at)
    assert found is not None
    assert found.config == at
    assert found.checkpoint["channel_values"] == {name: [name]}
    assert found.pending_writes == [(name, name, name)]
    assert list(saver.list(config)) == list(saver.list({"configurable": {"thread_id": name}}))
    assert list(saver.list(at)) == [found]
    saver.delete_thread(name)
    assert dump(client) == before


def test_eleven_thousand_writes_go_with_their_thread(
    saver: RedisRetentionSaver, client: Any
) -> None:
    seed_thread(saver, "neighbour", NOW, 2, interrupted=True)
    before, count = sorted(client.keys()), client.dbsize()
    place = config_of("t", "", put(saver, "t"))
    for task in range(11):
        writes = [("channel", number) for number in range(1000)]
        saver.put_writes(place, writes, f"task {task}", f"path {task}")
    found = saver.get_tuple(place)
    assert found is not None
    assert len(found.pending_writes or []) == 11_000
    saver.delete_thread("t")
    assert (sorted(client.keys()), client.dbsize()) == (before, count)


def test_writes_before_their_checkpoint_are_kept_and_not_shown(saver: RedisRetentionSaver) -> None:
    checkpoint = a_checkpoint(text="here")
    at = config_of("t", "", checkpoint["id"])
    saver.put_writes(at, [("text", "early")], "task")
    assert saver.get_tuple(at) is None
    assert saver.get_tuple(config_of("t")) is None
    assert list(saver.list(config_of("t"))) == []
    assert list(saver.list(None)) == []
    saver.put(config_of("t"), checkpoint, METADATA, {"text": "1"})
    found = saver.get_tuple(config_of("t"))
    assert found is not None
    assert found.pending_writes == [("task", "text", "early")]


def test_writes_come_in_the_order_in_which_a_run_applies_them(saver: RedisRetentionSaver) -> None:
    at = config_of("t", "", put(saver, "t"))
    saver.put_writes(at, [("c", 3), ("c", 4)], "task 2", "path b")
    saver.put_writes(at, [("c", 5)], "task 1", "path b")
    saver.put_writes(at, [("c", 1), ("c", 2)], "task 9", "path a")
    found = saver.get_tuple(at)
    assert found is not None
    assert [value for _, _, value in found.pending_writes or []] == [1, 2, 5, 3, 4]


def test_a_write_stays_as_it_was_and_a_special_one_is_replaced(saver: RedisRetentionSaver) -> None:
    at = config_of("t", "", put(saver, "t"))
    saver.put_writes(at, [("c", "first"), ("__interrupt__", "first")], "task")
    saver.put_writes(at, [("c", "second"), ("__interrupt__", "second"), ("c", "third")], "task")
    saver.put_writes(at, [], "task")
    found = saver.get_tuple(at)
    assert found is not None
    writes = [("task", "__interrupt__", "second"), ("task", "c", "first"), ("task", "c", "third")]
    assert found.pending_writes == writes


def test_a_late_put_is_refused_and_leaves_nothing(saver: RedisRetentionSaver, client: Any) -> None:
    parent = put(saver, "t", text="kept")
    saver.delete_thread("t")
    with pytest.raises(ThreadDeletedError, match="'t' was deleted") as caught:
        put(saver, "t", parent)
    assert (caught.value.thread_id, caught.value.parent_id) == ("t", parent)
    assert client.keys() == []


def test_late_writes_on_a_deleted_thread_are_not_shown_and_go(
    saver: RedisRetentionSaver, client: Any
) -> None:
    at = config_of("t", "", put(saver, "t"))
    saver.delete_thread("t")
    saver.put_writes(at, [("c", "late")], "task")
    assert saver.get_tuple(at) is None
    assert list(saver.list(config_of("t"))) == []
    thread = [key for key in keys_of("t") if client.exists(key)]
    assert all(client.pttl(key) > 0 for key in thread)


def test_a_put_can_be_sent_again(saver: RedisRetentionSaver, client: Any) -> None:
    root = put(saver, "t", messages=["first"])
    checkpoint = a_checkpoint(messages=["second"], count=2)
    checkpoint["channel_versions"] = {"messages": "2", "count": "2"}
    versions: ChannelVersions = {"messages": "2", "count": "2"}
    args = (config_of("t", "", root), checkpoint, METADATA, versions)
    saver.put(*args)
    first = thread_of(client, "t")
    saver.put(*args)
    assert thread_of(client, "t") == first


@pytest.mark.parametrize("lost", range(5))
def test_a_thread_that_lost_a_key_is_gone_and_can_begin_anew(
    saver: RedisRetentionSaver, client: Any, lost: int
) -> None:
    ids = seed_thread(saver, "t", NOW, 3)
    client.delete(keys_of("t")[lost])
    assert saver.get_tuple(config_of("t")) is None
    assert saver.get_tuple(config_of("t", "", ids[0])) is None
    assert list(saver.list(config_of("t"))) == list(saver.list(None)) == []
    assert saver.get_delta_channel_history(config=config_of("t"), channels=["messages"]) == {
        "messages": {"writes": []}
    }
    with pytest.raises(ThreadDeletedError):
        put(saver, "t", ids[-1])
    fresh = put(saver, "t", text="anew")
    assert [item.checkpoint["id"] for item in saver.list(config_of("t"))] == [fresh]
    assert client.hlen(keys_of("t")[1]) == 1


@pytest.mark.parametrize("lost", [b"c:", b"b:", b"w:"])
def test_a_thread_that_lost_a_field_is_gone(
    saver: RedisRetentionSaver, client: Any, lost: bytes
) -> None:
    seed_thread(saver, "t", NOW, 3)
    key = bucket_of("t") + lost + b"t"
    client.hdel(key, client.hkeys(key)[0])
    assert saver.get_tuple(config_of("t")) is None


def test_a_value_that_did_not_change_is_stored_once(
    saver: RedisRetentionSaver, client: Any
) -> None:
    parent: str | None = None
    for step in range(5):
        checkpoint = a_checkpoint(document={"text": "x" * 1000}, step=[step])
        checkpoint["channel_versions"] = {"document": "1", "step": str(step)}
        news = {"step": str(step)} if step else checkpoint["channel_versions"]
        saver.put(config_of("t", "", parent), checkpoint, METADATA, dict(news))
        parent = checkpoint["id"]
    assert client.hlen(bucket_of("t") + b"b:t") == 6
    found = list(saver.list(config_of("t")))
    assert [item.checkpoint["channel_values"]["step"] for item in found] == [
        [4],
        [3],
        [2],
        [1],
        [0],
    ]
    assert all(len(item.checkpoint["channel_values"]["document"]["text"]) == 1000 for item in found)


def test_a_value_neither_given_nor_stored_is_left_out(saver: RedisRetentionSaver) -> None:
    checkpoint = a_checkpoint(known=["x"], unknown=["y"], small=1, none=None)
    saver.put(config_of("t"), checkpoint, METADATA, {"known": "1"})
    found = saver.get_tuple(config_of("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"known": ["x"], "small": 1, "none": None}
    assert found.checkpoint["channel_versions"] == checkpoint["channel_versions"]


@pytest.mark.parametrize("version", [1, 1.5, "1", "00000000000000000000000000000001.0.5"])
def test_versions_keep_their_type(saver: RedisRetentionSaver, version: Any) -> None:
    checkpoint = a_checkpoint(text=["x"])
    checkpoint["channel_versions"] = {"text": version}
    saver.put(config_of("t"), checkpoint, METADATA, {"text": version})
    found = saver.get_tuple(config_of("t"))
    assert found is not None
    kept = found.checkpoint["channel_versions"]["text"]
    assert (type(kept), kept) == (type(version), version)


def test_versions_grow_and_no_two_are_the_same(saver: RedisRetentionSaver) -> None:
    versions = [saver.get_next_version(None, None)]
    for _ in range(20):
        versions.append(saver.get_next_version(versions[-1], None))
    assert versions == sorted(set(versions))
    other = saver.get_next_version(versions[3], None)
    assert other != versions[4]
    assert other.partition(".")[0] == versions[4].partition(".")[0]


def test_an_old_checkpoint_has_the_sends_of_its_parent(saver: RedisRetentionSaver) -> None:
    root = put(saver, "t", text="x")
    saver.put_writes(config_of("t", "", root), [("__pregel_tasks", "send")], "task")
    checkpoint = a_checkpoint(text="x")
    checkpoint["v"] = 3
    saver.put(config_of("t", "", root), checkpoint, METADATA, {})
    found = saver.get_tuple(config_of("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"text": "x", "__pregel_tasks": ["send"]}
    assert found.checkpoint["channel_versions"] == {"text": "1", "__pregel_tasks": "1"}


def test_the_age_of_a_thread_is_that_of_its_newest_checkpoint(
    saver: RedisRetentionSaver, client: Any
) -> None:
    live, meta = bucket_of("t") + b"live", keys_of("t")[0]
    ids = seed_thread(saver, "t", NOW, 3)
    micros = int(NOW.timestamp() * 1_000_000)
    assert client.zrange(live, 0, -1, withscores=True) == [(b"t", micros)]
    assert client.hmget(meta, "head", "at", "undated") == [raw(ids[-1]), b"%d" % micros, None]
    old = a_checkpoint()
    old["id"] = checkpoint_id_at(datetime(2020, 1, 1, tzinfo=UTC))
    saver.put(config_of("t", "sub"), old, METADATA, {})
    assert client.hmget(meta, "head", "at") == [raw(ids[-1]), b"%d" % micros]
    foreign = a_checkpoint()
    foreign["id"], foreign["ts"] = "foreign", "yesterday"
    saver.put(config_of("t"), foreign, METADATA, {})
    assert client.hmget(meta, "head", "undated") == [b"foreign", b"1"]
    assert client.zscore(live, "t") == float("inf")


def test_ids_of_another_type_are_their_text(saver: RedisRetentionSaver) -> None:
    number: Any = 7
    at = put(saver, number, text="x")
    place: Any = config_of(number, "", at)
    saver.put_writes(place, [("text", "w")], "task")
    found = saver.get_tuple(config_of("7"))
    assert found is not None
    assert found.config == config_of("7", "", at)
    assert saver.get_tuple(place) == found
    assert list(saver.list(config_of(number))) == [found]
    identity: Any = uuid.UUID(int=7)
    put(saver, identity)
    saver.copy_thread(identity, number)
    saver.prune([identity], strategy="delete")
    saver.delete_thread(number)
    assert list(saver.list(None)) == []


def test_metadata_hold_what_the_config_says_of_the_run(saver: RedisRetentionSaver) -> None:
    config: Any = {
        "configurable": {"thread_id": "t", "checkpoint_ns": "", "run_id": "r1", "user": "u"},
        "metadata": {"agent": "a", "thread_id": "t"},
    }
    metadata: Any = {**METADATA, "writes": {"node": 1}, "note": "a\0b"}
    saver.put(config, a_checkpoint(), metadata, {})
    found = saver.get_tuple(config_of("t"))
    assert found is not None
    said = {"run_id": "r1", "user": "u", "agent": "a", "note": "ab"}
    assert found.metadata == {**METADATA, **said}


async def test_an_async_caller_may_use_the_sync_saver(saver: RedisRetentionSaver) -> None:
    checkpoint = a_checkpoint(text="x")
    at = await saver.aput(config_of("t"), checkpoint, METADATA, {"text": "1"})
    await saver.aput_writes(at, [("text", "w")], "task")
    found = await saver.aget_tuple(config_of("t"))
    assert [item async for item in saver.alist(config_of("t"))] == [found]
    await saver.adelete_thread("t")
    assert await saver.aget_tuple(at) is None


async def test_another_thread_may_use_the_async_saver(asaver: AsyncRedisRetentionSaver) -> None:
    checkpoint = a_checkpoint(text="x")

    def work() -> Any:
        at = asaver.put(config_of("t"), checkpoint, METADATA, {"text": "1"})
        asaver.put_writes(at, [("text", "w")], "task")
        found = list(asaver.list(config_of("t")))
        assert found == [asaver.get_tuple(at)]
        asaver.delete_thread("t")
        return asaver.get_tuple(at)

    assert await asyncio.to_thread(work) is None


async def test_a_sync_call_in_the_saver_s_own_loop_is_refused(
    asaver: AsyncRedisRetentionSaver,
) -> None:
    with pytest.raises(asyncio.InvalidStateError, match="await the method"):
        asaver.get_tuple(config_of("t"))
