"""The format record on Redis: made on first use, checked at each opening, never guessed."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from retention.errors import CheckpointStoreFormatError
from stores import Access, StoreOptions, aopen_store, init_store, open_saver, open_store
from stores.redis.client import connected
from stores.redis.layout import LOG
from stores.redis_address import parse
from tests.integration.test_formats import opens_and_writes
from tests.integration.test_opening_together import together
from tests.seeding import config_of, seed_thread
from tests.servers import Redis

NOW = datetime.now(UTC)
RECORD = LOG + b"format"


@pytest.fixture(params=["redis_store_server", "redis_cluster"])
def server(request: pytest.FixtureRequest) -> Redis:
    """An empty Redis, and an empty cluster."""
    found: Redis = request.getfixturevalue(request.param)
    found.flush()
    return found


@pytest.fixture
def address(server: Redis) -> str:
    """Its address."""
    return server.url()


@pytest.fixture
def direct(address: str) -> Iterator[Any]:
    """A client of the test's own."""
    with connected(parse(address), StoreOptions()) as connection:
        yield connection.client


def opened(address: str, access: Access = Access.WRITE) -> None:
    """Open a store and close it."""
    with open_store(address, settings=StoreOptions(access=access)):
        pass


def refused(open_it: Callable[[], None]) -> str:
    """The one line with which a store is refused for its format."""
    with pytest.raises(CheckpointStoreFormatError) as caught:
        open_it()
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 400
    return line


def test_the_first_use_of_an_empty_store_records_the_format(address: str, direct: Any) -> None:
    clock = datetime(2026, 6, 1, 12, tzinfo=UTC)
    with open_store(address, settings=StoreOptions(clock=lambda: clock)) as store:
        made = direct.hgetall(RECORD)
        assert made == {
            b"generation": b"10",
            b"compression": b"on",
            b"buckets": b"256",
            b"recorded_at": b"2026-06-01T12:00:00+00:00",
        }
        seed_thread(store.saver, "t", NOW)
    opened(address)
    init_store(address)
    assert direct.hgetall(RECORD) == made


async def test_an_async_store_records_and_checks_alike(address: str, direct: Any) -> None:
    async with aopen_store(address):
        assert direct.hget(RECORD, "generation") == b"10"
    direct.hset(RECORD, "generation", "11")
    with pytest.raises(CheckpointStoreFormatError, match="'11'"):
        async with aopen_store(address):
            pass


def test_reading_an_empty_store_makes_nothing(address: str, direct: Any) -> None:
    with open_store(address, settings=StoreOptions(access=Access.READ)) as store:
        assert store.threads.count_threads() == 0
        assert (store.runs.live(), store.runs.history(10), store.runs.totals()) == (None, [], {})
        assert store.ledger.entries(["t"]) == {}
        assert store.saver.get_tuple(config_of("t")) is None
    assert list(direct.scan_iter()) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("generation", "11"),
        ("generation", ""),
        ("generation", "ten \u00e9\U0001f9ff"),
        ("generation", " 10"),
        ("generation", "1" * 4_000),
        ("compression", "maybe"),
        ("buckets", "255"),
        ("buckets", "many"),
    ],
)
def test_another_format_or_garbage_is_refused_whatever_is_asked_of_the_store(
    address: str, direct: Any, field: str, value: str
) -> None:
    with open_store(address) as store:
        seed_thread(store.saver, "old", NOW)
    direct.hset(RECORD, field, value)
    before = sorted(direct.scan_iter())
    for access in Access:
        line = refused(lambda a=access: opened(address, a))  # type: ignore[misc]
        assert repr(value[:40]) in line
        assert "reads generation 10 with 256 buckets only" in line
        assert "reset the checkpoint store" in line
    refused(lambda: init_store(address))
    with pytest.raises(CheckpointStoreFormatError), open_saver(address):
        pass
    assert direct.hget(RECORD, field) == value.encode()
    assert sorted(direct.scan_iter()) == before


def test_a_record_that_lacks_a_field_or_is_no_utf8_is_refused(address: str, direct: Any) -> None:
    direct.hset(RECORD, "generation", "10")
    assert "compression ''" in refused(lambda: opened(address))
    direct.hset(RECORD, "compression", b"\xff\xfe")
    assert "'\ufffd\ufffd'" in refused(lambda: opened(address))


@pytest.mark.parametrize("kind", ["string", "list"])
def test_a_record_that_is_none_at_all_is_refused(address: str, direct: Any, kind: str) -> None:
    if kind == "list":
        direct.rpush(RECORD, "10")
    else:
        direct.set(RECORD, "10")
    assert f"'a {kind}'" in refused(lambda: opened(address))


@pytest.mark.parametrize("held", ["a checkpoint", "a write alone", "a start alone"])
def test_a_record_that_is_gone_from_a_store_in_use_is_refused(
    address: str, direct: Any, held: str
) -> None:
    with open_store(address) as store:
        if held == "a checkpoint":
            seed_thread(store.saver, "old", NOW - timedelta(days=8))
        elif held == "a write alone":
            store.saver.put_writes(config_of("old", "", "some-id"), [("a", 1)], "task")
        else:
            store.ledger.start(["old"])
    direct.delete(RECORD)
    for access in Access:
        line = refused(lambda a=access: opened(address, a))  # type: ignore[misc]
        assert "holds checkpoints and no record of their format" in line
        assert "lgr:{log}:format" in line
    assert not direct.exists(RECORD)


def test_the_check_is_made_once_for_an_opened_store(address: str, direct: Any) -> None:
    with open_store(address) as store:
        seed_thread(store.saver, "old", NOW)
        direct.delete(RECORD)
        seed_thread(store.saver, "older", NOW)
        assert store.threads.count_threads() == 2


@pytest.mark.parametrize(("compression", "is_smaller"), [("on", True), ("off", False)])
def test_the_compression_recorded_first_stays_and_decides(
    address: str, direct: Any, compression: str, is_smaller: bool
) -> None:
    init_store(address)
    direct.hset(RECORD, "compression", compression)
    with open_store(address, settings=StoreOptions(compress_above=100)) as store:
        config = config_of("t", "", "an-id")
        store.saver.put_writes(config, [("messages", "x" * 10_000)], "task")
    (writes,) = direct.scan_iter(match="lgr:*:w:t")
    stored = sum(map(len, direct.hvals(writes)))
    assert (stored < 10_000) == is_smaller
    assert direct.hget(RECORD, "compression") == compression.encode()


def test_four_processes_that_use_an_empty_store_first_agree_on_one_record(
    address: str, direct: Any
) -> None:
    assert together(opens_and_writes, address, 4) == [None] * 4
    assert direct.hget(RECORD, "generation") == b"10"
    with open_store(address) as store:
        assert store.threads.count_threads() == 8
