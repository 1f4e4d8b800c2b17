"""Listings: newest first, in pages, of one thread or of all."""

from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver

from stores.redis.containment import contains
from stores.redis.layout import keys_of
from stores.redis.saver import AsyncRedisRetentionSaver, RedisRetentionSaver
from tests.seeding import checkpoint_id_at, config_of, seed_thread, seed_threads

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def ids(items: Any) -> list[str]:
    """The ids of listed checkpoints."""
    return [item.config["configurable"]["checkpoint_id"] for item in items]


def thread(thread_id: str) -> Any:
    """A config that names a thread and no namespace."""
    return {"configurable": {"thread_id": thread_id}}


def test_more_than_a_page_is_listed_newest_first(saver: RedisRetentionSaver) -> None:
    seeded = seed_thread(saver, "t", NOW, 230)
    assert ids(saver.list(config_of("t"))) == seeded[::-1]
    assert ids(saver.list(thread("t"), limit=130)) == seeded[:99:-1]
    assert ids(saver.list(config_of("t"), filter={"source": "loop"})) == seeded[::-1]
    assert ids(saver.list(config_of("t"), filter={"step": 7})) == [seeded[7]]


def test_a_config_says_which_namespace_and_which_checkpoint(saver: RedisRetentionSaver) -> None:
    root = seed_thread(saver, "t", NOW, 3)
    sub = seed_thread(saver, "t", NOW - timedelta(milliseconds=500), 3, namespace="sub")
    alike = seed_thread(saver, "t", NOW, 1, namespace="sub\0")
    assert ids(saver.list(config_of("t"))) == root[::-1]
    assert ids(saver.list(config_of("t", "sub"))) == sub[::-1]
    assert ids(saver.list(thread("t"))) == sorted([*root, *sub, *alike], reverse=True)
    assert ids(saver.list(config_of("t", "sub", sub[1]))) == [sub[1]]
    assert ids(saver.list(config_of("t", "", sub[1]))) == []
    named: Any = {"configurable": {"thread_id": "t", "checkpoint_id": sub[1]}}
    assert ids(saver.list(named)) == [sub[1]]
    assert ids(saver.list(named, before=config_of("t", "", sub[1]))) == []
    assert ids(saver.list(named, before=config_of("t", "", sub[2]))) == [sub[1]]


def test_before_and_limit_cut(saver: RedisRetentionSaver) -> None:
    seeded = seed_thread(saver, "t", NOW, 5)
    seed_thread(saver, "u", NOW - timedelta(days=1), 2)
    before = config_of("t", "", seeded[2])
    assert ids(saver.list(config_of("t"), before=before)) == [seeded[1], seeded[0]]
    assert ids(saver.list(thread("t"), before=before, limit=1)) == [seeded[1]]
    assert len(ids(saver.list(None, before=before))) == 4
    assert ids(saver.list(config_of("t"), before=config_of("t"))) == seeded[::-1]
    assert ids(saver.list(config_of("t"), limit=0)) == []
    assert ids(saver.list(config_of("t"), limit=2)) == [seeded[4], seeded[3]]
    assert ids(saver.list(config_of("t"), filter={"source": "loop"}, limit=3)) == seeded[:1:-1]


def test_threads_are_merged_newest_first(saver: RedisRetentionSaver) -> None:
    """More threads than are opened at once, more of one bucket than are read at once."""
    expected = []
    for number in range(300):
        at = NOW - timedelta(seconds=number * 7919 % 3001)
        expected += seed_thread(saver, f"t{number}", at, 1 + number % 3)
    expected += seed_thread(saver, "long", NOW, 150)
    expected.sort(reverse=True)
    assert ids(saver.list(None)) == expected
    assert ids(saver.list(None, limit=7)) == expected[:7]
    assert ids(saver.list({}, filter={"step": 2})) == ids(saver.list(None, filter={"step": 2}))


def test_many_threads_of_one_bucket_and_one_instant_are_all_listed(
    saver: RedisRetentionSaver,
) -> None:
    names = [f"t{number}" for number in range(20_000)]
    alike = [name for name in names if keys_of(name)[0][:11] == keys_of("t0")[0][:11]][:50]
    for name in alike:
        seed_thread(saver, name, NOW, 2)
    found = list(saver.list(None))
    assert len(found) == 100
    assert {item.config["configurable"]["thread_id"] for item in found} == set(alike)
    assert ids(found) == sorted(ids(found), reverse=True)


def test_copies_with_the_same_ids_are_all_listed(saver: RedisRetentionSaver) -> None:
    seeded = seed_thread(saver, "t", NOW, 3)
    seed_thread(saver, "t", NOW, 1, namespace="sub")
    for number in range(20):
        saver.copy_thread("t", f"copy {number}")
    found = list(saver.list(None))
    assert len(found) == 84
    assert ids(found) == sorted(ids(found), reverse=True)
    assert ids(found).count(seeded[1]) == 21


def test_a_thread_with_undated_ids_is_listed_with_the_others(saver: RedisRetentionSaver) -> None:
    seeded = seed_thread(saver, "t", NOW, 2)
    for name, ts in (("zzz", "never"), ("000", "9999-12-31T23:59:59.999999+00:00")):
        checkpoint = empty_checkpoint()
        checkpoint["id"], checkpoint["ts"] = name, ts
        metadata: Any = {"source": "loop", "step": 1, "parents": {}}
        saver.put(config_of(name), checkpoint, metadata, {})
    assert ids(saver.list(None)) == ["zzz", *seeded[::-1], "000"]


def test_threads_that_are_gone_are_passed_over(saver: RedisRetentionSaver, client: Any) -> None:
    seed_threads(saver, "gone", 5, NOW, 2)
    seeded = seed_thread(saver, "t", NOW - timedelta(days=1), 2)
    for number in range(5):
        client.delete(*keys_of(f"gone-{number:04}"))
    assert ids(saver.list(None)) == seeded[::-1]


def test_a_checkpoint_that_goes_between_two_pages_is_left_out(saver: RedisRetentionSaver) -> None:
    seeded = seed_thread(saver, "t", NOW, 30)
    listing = saver.list(config_of("t"))
    assert next(listing).config["configurable"]["checkpoint_id"] == seeded[-1]
    saver.prune(["t"])
    assert ids(listing) == seeded[-2:9:-1]


def test_bodies_are_read_only_of_what_the_filter_matches(
    saver: RedisRetentionSaver, client: Any
) -> None:
    seed_thread(saver, "t", NOW, 50)
    client.config_resetstat()
    assert len(list(saver.list(config_of("t"), filter={"step": 3}))) == 1
    stats = client.info("commandstats")
    # Its one blob; each checkpoint's record, for its metadata, and that one's twice.
    assert stats["cmdstat_hmget"]["calls"] == 1
    assert "cmdstat_keys" not in stats
    assert "cmdstat_scan" not in stats


#: Filters, and the steps whose metadata match them.
FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({"deep": {"a": 1}}, [0]),
    ({"deep": {"a": 1, "b": {"c": [2]}}}, [0]),
    ({"deep": {}}, [0, 1]),
    ({"deep": {"b": {"c": [3, 2]}}}, [0]),
    ({"tags": ["x"]}, [0, 1]),
    ({"tags": ["y", "x"]}, [0]),
    ({"tags": []}, [0, 1]),
    ({"tags": "x"}, []),
    ({"number": 1}, [0]),
    ({"number": 1.0}, [0]),
    ({"number": True}, [1]),
    ({"nothing": None}, [0]),
    ({"step": 1, "source": "loop"}, [1]),
    ({"step": 1, "source": "input"}, []),
]


def test_a_filter_matches_what_postgresql_s_containment_does(
    saver: RedisRetentionSaver, postgres_dsn: str
) -> None:
    described: list[Any] = [
        {"deep": {"a": 1, "b": {"c": [2, 3]}}, "tags": ["x", "y"], "number": 1, "nothing": None},
        {"deep": {"a": 2}, "tags": ["x"], "number": True},
    ]
    with PostgresSaver.from_conn_string(postgres_dsn) as stock:
        stock.setup()
        for step, more in enumerate(described):
            checkpoint = empty_checkpoint()
            checkpoint["id"] = checkpoint_id_at(NOW + timedelta(seconds=step))
            metadata: Any = {"source": "loop", "step": step, "parents": {}, **more}
            for each in (saver, stock):
                each.put(config_of("t"), checkpoint, metadata, {})
        for wanted, steps in FILTERS:
            for each in (saver, stock):
                found = [item.metadata["step"] for item in each.list(None, filter=wanted)]
                assert (wanted, found) == (wanted, steps[::-1])


def test_a_pair_in_metadata_is_filtered_as_a_list() -> None:
    value: Any = {"counters": {"c": (1, 2)}}
    assert contains(value, {"counters": {"c": [2, 1]}})
    assert not contains(value, {"counters": {"c": [3]}})


async def test_the_async_saver_lists_the_same(
    saver: RedisRetentionSaver, asaver: AsyncRedisRetentionSaver
) -> None:
    seed_threads(saver, "t", 40, NOW, 3)
    assert [item async for item in asaver.alist(None)] == list(saver.list(None))
    found = [item async for item in asaver.alist(config_of("t-0001"), filter={"step": 1}, limit=5)]
    assert [item.metadata["step"] for item in found] == [1]
