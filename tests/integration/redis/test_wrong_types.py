"""A key of another type in the place of an index or of the run log is named, and how to mend it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from retention.errors import StoreError
from retention.threads import Hold
from stores import Store, aopen_store, open_store
from stores.redis.layout import LOG, bucket_of, text
from tests.commands import retention_command
from tests.seeding import config_of, seed_thread

OLD = datetime.now(UTC) - timedelta(days=2)
MEND = (
    "delete that key: each thread of this bucket is listed there again from its next write or mark "
    "on, and goes by its keys' time to live until then"
)


@pytest.fixture
def store(redis_store_url: str, client: Any) -> Iterator[Store]:
    """A store with one finished thread that is due."""
    with open_store(redis_store_url) as store:
        seed_thread(store.saver, "t", OLD)
        store.ledger.mark_finished(["t"])
        client.zadd(index("marks"), {"t": 1})
        yield store


def index(name: str) -> bytes:
    """The key of an index of the thread's bucket."""
    return bucket_of("t") + name.encode()


def line(key: bytes, kind: str, mend: str) -> str:
    """What is said of a key that holds a string."""
    return f"Redis: WRONGTYPE: the key {text(key)} holds a string and must be a {kind}: {mend}"


@pytest.mark.usefixtures("store")
def test_a_sweep_names_the_broken_index_and_goes_on_once_it_is_deleted(
    redis_store_url: str, client: Any
) -> None:
    client.set(index("marks"), "by hand")
    swept = retention_command("sweep", "run", "--json", "--storage", redis_store_url)
    assert (swept.status, swept.answer["outcome"]) == (1, "failed")
    assert swept.answer["reason"] == line(index("marks"), "sorted set", MEND)
    client.delete(index("marks"))
    with open_store(redis_store_url) as store:
        store.ledger.mark_finished(["t"])
    assert client.zscore(index("marks"), "t") is not None
    client.zadd(index("marks"), {"t": 1})
    swept = retention_command("sweep", "run", "--json", "--storage", redis_store_url)
    assert (swept.status, swept.answer["outcome"]) == (0, "completed")


@pytest.mark.parametrize("name", ["live", "expiry"])
def test_whoever_writes_is_told_which_index_is_broken_and_goes_on_once_it_is_deleted(
    store: Store, client: Any, name: str
) -> None:
    client.set(index(name), "by hand")
    with pytest.raises(StoreError) as refused:
        seed_thread(store.saver, "t", OLD)
    assert str(refused.value) == line(index(name), "sorted set", MEND)
    client.delete(index(name))
    seed_thread(store.saver, "t", OLD)
    assert client.zscore(index(name), "t") is not None


async def test_the_async_saver_says_the_same(
    store: Store, client: Any, redis_store_url: str
) -> None:
    stored = store.saver.get_tuple(config_of("t"))
    assert stored is not None
    client.set(index("live"), "by hand")
    async with aopen_store(redis_store_url) as own:
        with pytest.raises(StoreError) as refused:
            await own.saver.aput(config_of("t"), stored.checkpoint, stored.metadata, {})
    assert str(refused.value) == line(index("live"), "sorted set", MEND)


@pytest.mark.parametrize("name", ["expiry", "marks", "holds"])
def test_a_command_on_all_threads_names_it_in_one_line(
    store: Store, client: Any, redis_store_url: str, name: str
) -> None:
    store.ledger.hold(["t"], Hold("audit"))
    client.delete(index(name))
    client.set(index(name), "by hand")
    verb = {"expiry": "policy preview --waiting-minutes 5000", "holds": "thread holds"}
    command = verb.get(name, "sweep run --dry-run").split()
    ran = retention_command(*command, "--storage", redis_store_url)
    assert ran.status == 1
    assert line(index(name), "sorted set", MEND) in ran.out + ran.err


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("name", ["undelivered", "runs", "unpublished"])
def test_a_broken_key_of_the_run_log_is_named(client: Any, redis_store_url: str, name: str) -> None:
    key = LOG + name.encode()
    client.set(key, "by hand")
    command = "run" if name == "unpublished" else "status"
    ran = retention_command("sweep", command, "--storage", redis_store_url)
    assert ran.status == 1
    said = line(key, "sorted set", "put what it held back, or delete it")
    assert ran.err.endswith(f"retention: {said}\n")


def test_another_error_and_a_broken_thread_stay_as_they_are(store: Store, client: Any) -> None:
    client.delete(bucket_of("t") + b"c:t")
    client.set(bucket_of("t") + b"c:t", "by hand")
    with pytest.raises(StoreError, match=r"^Redis: WRONGTYPE Operation"):
        store.deleter.holdings("t")  # type: ignore[attr-defined]
