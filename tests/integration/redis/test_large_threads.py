"""What an operation costs does not grow with its thread: commands and bytes are counted."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from stores.redis.saver import RedisRetentionSaver
from tests.seeding import config_of, seed_thread

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SIZE = 10_000


def cost(client: Any, work: Callable[[], Any]) -> tuple[dict[str, int], int, int]:
    """What some work sends: calls of each command, bytes received and sent by the server."""
    client.config_resetstat()
    work()
    stats = client.info("commandstats")
    calls = {
        name.removeprefix("cmdstat_"): value["calls"]
        for name, value in stats.items()
        if not name.startswith(("cmdstat_config", "cmdstat_info"))
    }
    found = client.info("stats")
    return calls, found["total_net_input_bytes"], found["total_net_output_bytes"]


@pytest.fixture
def heads(saver: RedisRetentionSaver) -> dict[str, str]:
    """The heads of a small and of a large thread, whose newest checkpoints are alike."""
    found = {}
    for name, size in (("small", 30), ("large", SIZE)):
        ids = seed_thread(saver, name, NOW, size)
        found[name] = ids[-1]
    return found


def test_a_thread_of_ten_thousand_checkpoints_stays_fast(
    saver: RedisRetentionSaver, client: Any, heads: dict[str, str]
) -> None:
    days = count(1)
    works: dict[str, Callable[[str], Any]] = {
        "get": lambda name: saver.get_tuple(config_of(name)),
        "get one": lambda name: saver.get_tuple(config_of(name, "", heads[name])),
        "list": lambda name: list(saver.list(config_of(name), limit=10)),
        "list all namespaces": lambda name: list(
            saver.list({"configurable": {"thread_id": name}}, limit=10)
        ),
        "put_writes": lambda name: saver.put_writes(
            config_of(name, "", heads[name]), [("c", 1)], str(uuid.uuid4())
        ),
        "put": lambda name: seed_thread(
            saver, name, NOW + timedelta(days=next(days)), 2, parent=heads[name]
        ),
    }
    for what, work in works.items():
        work("small")
        small = cost(client, partial(work, "small"))
        large = cost(client, partial(work, "large"))
        assert (what, large[0]) == (what, small[0])
        assert large[1] == pytest.approx(small[1], abs=2000)
        assert large[2] == pytest.approx(small[2], abs=3000)
        whole = {"hgetall", "hkeys", "hvals", "hscan", "zrange", "keys", "scan", "zscan"}
        assert not whole & large[0].keys()
    assert small[0]["evalsha"] == 4


def test_each_operation_is_one_round_trip(saver: RedisRetentionSaver, client: Any) -> None:
    heads = {name: seed_thread(saver, name, NOW, 30)[-1] for name in ("warm", "t")}
    works: list[Callable[[str], Any]] = [
        lambda name: saver.get_tuple(config_of(name)),
        lambda name: saver.put_writes(config_of(name, "", heads[name]), [("c", 1)], "task"),
        lambda name: saver.get_delta_channel_history(config=config_of(name), channels=["count"]),
        saver.delete_thread,
    ]
    for work in works:
        work("warm")
        assert cost(client, partial(work, "t"))[0]["evalsha"] == 1
