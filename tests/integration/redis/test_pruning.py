"""Prunes, and deletes by run: what stays is whole."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from retention.errors import StoreUnavailableError
from stores.options import now
from stores.redis.layout import bucket_of, keys_of, micros
from stores.redis.saver import AsyncRedisRetentionSaver, RedisRetentionSaver
from tests.integration.graphs import SyncAgent, answer, asking_twice, asking_within
from tests.integration.redis.looking import dump, expiries, thread_of
from tests.seeding import config_of, seed_thread

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def ids(saver: RedisRetentionSaver, thread_id: str) -> list[str]:
    """The ids of all a thread's checkpoints, newest first."""
    found = saver.list({"configurable": {"thread_id": thread_id}})
    return [item.checkpoint["id"] for item in found]


def put_run(saver: RedisRetentionSaver, run: str, parent: str | None = None, **more: Any) -> str:
    """Put a checkpoint of a run, with a write."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"log": [run], "kept": ["always"]}
    checkpoint["channel_versions"] = {"log": checkpoint["id"], "kept": "1"}
    metadata: Any = {"source": "loop", "step": 1, "run_id": run, **more}
    config = saver.put(
        config_of("t", "", parent), checkpoint, metadata, {"log": checkpoint["id"], "kept": "1"}
    )
    saver.put_writes(config, [("log", run)], f"task of {run}")
    return checkpoint["id"]


def test_a_pruned_thread_is_what_its_newest_checkpoint_alone_would_be(
    saver: RedisRetentionSaver, client: Any
) -> None:
    seeded = seed_thread(saver, "t", NOW, 700, interrupted=True)
    head = saver.get_tuple(config_of("t"))
    assert head is not None
    before = expiries(client, "t")
    saver.prune(["t", "missing"])
    assert ids(saver, "t") == seeded[-1:]
    assert saver.get_tuple(config_of("t")) == head._replace(parent_config=None)
    sizes = {name: len(value) for name, value in thread_of(client, "t").items()}
    _, checkpoints, members, blobs, writes = (sizes[key] for key in keys_of("t"))
    assert (checkpoints, members, blobs, writes) == (1, 3, 1, 3)
    assert expiries(client, "t") == before


def test_one_of_two_answered_interrupts_stays_answered(saver: RedisRetentionSaver) -> None:
    agent, config = SyncAgent(asking_twice(), saver), config_of("t")
    agent.run({"log": [], "count": 0}, config)
    answer(agent, config, "left")
    before = agent.state(config)
    saver.prune(["t"])
    after = agent.state(config)
    assert (after.values, after.next, after.interrupts) == (
        before.values,
        before.next,
        before.interrupts,
    )
    found = answer(agent, config, "right")
    assert found["log"] == ["left=yes", "right=yes", "join"]


def test_a_parked_subgraph_stays_and_a_finished_one_goes(saver: RedisRetentionSaver) -> None:
    agent, config = SyncAgent(asking_within(), saver), config_of("t")
    agent.run({"log": [], "count": 0}, config)
    saver.prune(["t"])
    namespaces = {i.config["configurable"]["checkpoint_ns"] for i in saver.list(None)}
    assert len(namespaces) == 2
    found = answer(agent, config, "ask")
    assert "ask=yes" in found["log"]
    assert found["log"][-1] == "last"
    saver.prune(["t"])
    (left,) = saver.list(None)
    assert left.config["configurable"]["checkpoint_ns"] == ""


def test_a_held_thread_is_left_alone(saver: RedisRetentionSaver, client: Any) -> None:
    for name, until in (("forever", ""), ("later", micros(now() + timedelta(days=1)))):
        seed_thread(saver, name, NOW, 3)
        client.hset(keys_of(name)[0], mapping={"hr": "why", "hu": until})
    seed_thread(saver, "over", NOW, 3)
    client.hset(keys_of("over")[0], mapping={"hr": "why", "hu": micros(now()) - 1})
    before = dump(client)
    saver.prune(["forever", "later"], strategy="keep_latest")
    saver.prune(["forever", "later"], strategy="delete")
    assert dump(client) == before
    saver.prune(["over"])
    assert len(ids(saver, "over")) == 1


def test_delete_leaves_nothing(saver: RedisRetentionSaver, client: Any) -> None:
    seed_thread(saver, "t", NOW, 3, interrupted=True)
    seed_thread(saver, "u", NOW, 1)
    before = thread_of(client, "u")
    saver.prune(["t"], strategy="delete")
    assert thread_of(client, "t") == {}
    assert thread_of(client, "u") == before


def test_what_cannot_be_pruned_is_refused(saver: RedisRetentionSaver, client: Any) -> None:
    seed_thread(saver, "t", NOW, 3)
    before = dump(client)
    with pytest.raises(ValueError, match="unknown prune strategy 'all': keep_latest or delete"):
        saver.prune(["t"], strategy="all")
    with pytest.raises(TypeError, match="not one text"):
        saver.prune("t")
    assert dump(client) == before


def test_a_checkpoint_put_while_a_thread_is_looked_at_is_not_lost(
    saver: RedisRetentionSaver,
) -> None:
    """A fork of an old checkpoint needs what the prune would drop."""
    seeded = seed_thread(saver, "t", NOW, 3)
    forks: list[str] = []
    real = saver._connection.send

    def send(calls: Any) -> Any:
        if calls[0].script.name == "drop" and not forks:
            forks.append(put_run(saver, "fork", seeded[0]))
        return real(calls)

    saver._connection.send = send  # type: ignore[method-assign]
    saver.prune(["t"])
    assert ids(saver, "t") == forks


def test_a_thread_that_always_changes_is_given_up(saver: RedisRetentionSaver) -> None:
    seed_thread(saver, "t", NOW, 3)
    real = saver._connection.send

    def send(calls: Any) -> Any:
        if calls[0].script.name == "drop":
            seed_thread(saver, "t", NOW, 1)
        return real(calls)

    saver._connection.send = send  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailableError, match="'t' changed each of 20 times"):
        saver.prune(["t"])


def test_a_thread_that_changes_between_two_pages_is_read_anew(saver: RedisRetentionSaver) -> None:
    seed_thread(saver, "t", NOW, 600)
    late: list[str] = []
    real = saver._connection.send

    def send(calls: Any) -> Any:
        if calls[0].script.name == "skeleton" and calls[0].args[1] and len(late) < 19:
            late.extend(seed_thread(saver, "t", NOW + timedelta(days=len(late)), 1))
        return real(calls)

    saver._connection.send = send  # type: ignore[method-assign]
    saver.prune(["t"])
    assert len(late) == 19
    assert ids(saver, "t") == late[-1:]


def test_a_thread_that_changes_between_any_two_pages_is_given_up(
    saver: RedisRetentionSaver,
) -> None:
    seed_thread(saver, "t", NOW, 600)
    real = saver._connection.send

    def send(calls: Any) -> Any:
        if calls[0].script.name == "skeleton" and calls[0].args[1]:
            seed_thread(saver, "t", NOW, 1)
        return real(calls)

    saver._connection.send = send  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailableError, match="'t' changed each of 20 times"):
        saver.prune(["t"])


def test_the_parent_of_an_old_head_stays_for_its_sends(saver: RedisRetentionSaver) -> None:
    root = put_run(saver, "one", put_run(saver, "one"))
    saver.put_writes(config_of("t", "", root), [("__pregel_tasks", "send")], "task")
    head = put_run(saver, "one", root)
    before = saver.get_tuple(config_of("t"))
    saver.prune(["t"])
    assert ids(saver, "t") == [head, root]
    assert saver.get_tuple(config_of("t")) == before
    assert before is not None
    assert before.checkpoint["channel_values"]["__pregel_tasks"] == ["send"]


def test_runs_are_taken_out_and_what_follows_follows_their_parents(
    saver: RedisRetentionSaver, client: Any
) -> None:
    root = put_run(saver, "one")
    middle = put_run(saver, "two", put_run(saver, "two", root))
    head = put_run(saver, "three", middle)
    before = expiries(client, "t")
    saver.delete_for_runs(["two"])
    assert ids(saver, "t") == [head, root]
    found = saver.get_tuple(config_of("t"))
    assert found is not None
    assert found.parent_config == config_of("t", "", root)
    assert found.checkpoint["channel_values"] == {"log": ["three"], "kept": ["always"]}
    assert found.pending_writes == [("task of three", "log", "three")]
    assert client.hlen(bucket_of("t") + b"b:t") == 3
    assert expiries(client, "t") == before
    saver.delete_for_runs(["one", "unknown"])
    assert saver.get_tuple(config_of("t")) == found._replace(parent_config=None)


def test_a_thread_of_one_run_goes_whole(saver: RedisRetentionSaver, client: Any) -> None:
    put_run(saver, "one", put_run(saver, "one"))
    saver.delete_for_runs(["one"])
    assert client.keys("*") == []


def test_a_thread_left_with_an_older_head_has_its_age(
    saver: RedisRetentionSaver, client: Any
) -> None:
    root = seed_thread(saver, "t", NOW, 1)[0]
    put_run(saver, "one", root)
    saver.delete_for_runs(["one"])
    at = b"%d" % micros(NOW)
    assert client.hmget(keys_of("t")[0], "head", "at") == [root.encode(), at]
    assert client.zscore(bucket_of("t") + b"live", "t") == int(at)


def test_a_thread_left_with_writes_alone_is_listed_no_more(
    saver: RedisRetentionSaver, client: Any
) -> None:
    saver.put_writes(config_of("t", "", "early"), [("c", 1)], "task")
    put_run(saver, "one")
    saver.delete_for_runs(["one"])
    assert client.zscore(bucket_of("t") + b"live", "t") is None
    assert client.hlen(bucket_of("t") + b"w:t") == 2
    assert client.hget(keys_of("t")[0], "head") is None


def test_many_threads_of_many_runs_are_found(saver: RedisRetentionSaver) -> None:
    for number in range(60):
        checkpoint = empty_checkpoint()
        metadata: Any = {"source": "loop", "step": 1, "run_id": f"run {number % 3}"}
        saver.put(config_of(f"t{number}"), checkpoint, metadata, {})
    saver.delete_for_runs(["run 0", "run 2"])
    assert {item.metadata["run_id"] for item in saver.list(None)} == {"run 1"}
    assert len(list(saver.list(None))) == 20
    saver.delete_for_runs([])
    assert len(list(saver.list(None))) == 20


async def test_the_async_saver_prunes_and_takes_runs_out(
    saver: RedisRetentionSaver, asaver: AsyncRedisRetentionSaver
) -> None:
    root = put_run(saver, "one")
    head = put_run(saver, "two", put_run(saver, "two", root))
    await asaver.adelete_for_runs(["one"])
    assert len(ids(saver, "t")) == 2
    await asaver.aprune(["t"])
    assert ids(saver, "t") == [head]
