"""Stock stores of any age are looked at, taken over, swept, and shared with stock savers."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.checkpoint.postgres.base import MIGRATIONS

from retention.errors import ConfigurationError, StoreError
from retention.ids import lowest_id_at
from stores import StoreOptions, adopt_store, open_store
from stores.inspection import Inspection
from tests.commands import retention_command
from tests.integration import graphs
from tests.integration.graphs import NOTHING, agent_on
from tests.integration.places import Place
from tests.integration.sweeping import sweep
from tests.integration.test_formats import recorded, tables
from tests.seeding import config_of, seed_thread

NOW = datetime.now(UTC).replace(microsecond=0)
OLD = NOW - timedelta(days=8)
OLDER = NOW - timedelta(days=30)
#: Larger than what is compressed by default, and easy to compress.
LARGE = "large value " * 10_000


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """The command sets up the log of its process: here that is the tests'."""
    handlers = list(logging.getLogger().handlers)
    yield
    logging.getLogger().handlers[:] = handlers


def seed_stock(place: Place) -> None:
    """Three threads by a stock saver; one has an id that holds no time."""
    with place.stock_saver() as saver:
        seed_thread(saver, "older", OLDER, checkpoints=2)
        seed_thread(saver, "young", NOW)
        seed_thread(saver, "foreign", OLD)
    place.query("UPDATE checkpoints SET checkpoint_id = 'run-1' WHERE thread_id = 'foreign'")


def look(place: Place) -> Inspection:
    """Look at a store without taking it over."""
    return adopt_store(place.address)


def types(inspection: Inspection) -> dict[tuple[str, str], int]:
    """How many rows of each type each table has."""
    return {(count.table, count.type): count.rows for count in inspection.types}


def adopt_command(place: Place, *arguments: str) -> Any:
    """`retention store adopt` on a store."""
    return retention_command("store", "adopt", "--storage", place.address, *arguments)


VALUES = {"sqlite": "writes", "postgres": "checkpoint_writes"}
VALUE = {"sqlite": "value", "postgres": "blob"}


def bytes_of(place: Place) -> int:
    """The bytes of all values, counted by reading them all."""
    table = VALUES[place.provider]
    stored = place.query(f"SELECT {VALUE[place.provider]} FROM {table}")
    if place.provider == "sqlite":
        stored += place.query("SELECT checkpoint FROM checkpoints")
    else:
        stored += place.query("SELECT blob FROM checkpoint_blobs WHERE blob IS NOT NULL")
    return sum(len(bytes(row[0])) for row in stored)


def test_a_look_counts_threads_rows_bytes_types_and_ages_and_makes_nothing(place: Place) -> None:
    seed_stock(place)
    before = tables(place)
    found = look(place)
    assert (found.ids.threads, found.ids.checkpoints, found.ids.undatable) == (3, 4, 1)
    assert found.newest == NOW
    assert found.oldest == OLDER - timedelta(seconds=1)
    assert sum(count.bytes for count in found.types) == bytes_of(place)
    assert found.bytes > bytes_of(place)
    assert (
        types(found)
        == {
            "sqlite": {("checkpoints", "msgpack"): 4, ("writes", "msgpack"): 4},
            "postgres": {("checkpoint_blobs", "msgpack"): 4, ("checkpoint_writes", "msgpack"): 4},
        }[place.provider]
    )
    assert found.unreadable == ()
    assert tables(place) == before


def test_an_empty_store_can_be_looked_at_and_adopted(place: Place) -> None:
    with place.stock_saver():
        pass
    found = look(place)
    assert (found.ids.threads, found.bytes, found.oldest, found.newest) == (0, 0, None, None)
    place.adopt()
    assert recorded(place) == [("10", "off")]


def postgres_of_version(place: Place, version: int) -> None:
    """The tables as the stock saver of that version made them, with rows."""
    for number, migration in enumerate(MIGRATIONS[: version + 1]):
        place.query(migration.replace("CONCURRENTLY", ""))
        place.query(f"INSERT INTO checkpoint_migrations (v) VALUES ({number})")
    head = lowest_id_at(OLD)
    place.query(
        "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint)"
        f' VALUES (\'old\', \'{head}\', \'{{"v": 4, "id": "{head}", "ts": "{OLD.isoformat()}",'
        ' "channel_values": {}, "channel_versions": {"messages": "1.0"}, "versions_seen": {}}\')'
    )
    place.query(
        "INSERT INTO checkpoint_blobs (thread_id, channel, version, type, blob)"
        " VALUES ('old', 'messages', '1.0', 'msgpack', '\\xa568656c6c6f')"
    )
    place.query(
        "INSERT INTO checkpoint_writes"
        " (thread_id, checkpoint_id, task_id, idx, channel, type, blob)"
        f" VALUES ('old', '{head}', 't', 0, 'messages', 'json', '\\x31')"
    )


def check_old_store(place: Place) -> None:
    """Look at one old thread, adopt it as it is, read it, and sweep it."""
    found = look(place)
    assert (found.ids.threads, found.newest, found.unreadable) == (1, OLD, ())
    place.adopt()
    assert recorded(place) == [("10", "off")]
    with place.store() as store:
        assert sweep(store, OLD + timedelta(days=6)).counts.everything() == 0
        (read,) = store.saver.list(config_of("old"))
        assert read.pending_writes == [("t", "messages", 1)]
        assert sweep(store, NOW).to_json()["waiting_swept"] == ["old"]
    assert place.threads() == set()


@pytest.mark.parametrize("version", range(4, len(MIGRATIONS)))
def test_a_postgres_store_of_any_migration_level_is_adopted(
    postgres_place: Place, version: int
) -> None:
    postgres_of_version(postgres_place, version)
    check_old_store(postgres_place)


def test_a_sqlite_store_from_before_task_paths_is_adopted(sqlite_place: Place) -> None:
    with sqlite_place.stock_saver() as saver:
        seed_thread(saver, "old", OLD)
    sqlite_place.query("ALTER TABLE writes DROP COLUMN task_path")
    sqlite_place.query("UPDATE writes SET task_id = 't', channel = 'messages', type = 'json'")
    sqlite_place.query("UPDATE writes SET value = CAST('1' AS BLOB)")
    check_old_store(sqlite_place)


UNREADABLE = ("pickle", "msgpack+aes", "zstd:pickle", None)


@pytest.mark.parametrize("kind", UNREADABLE)
def test_values_that_cannot_be_read_are_named_and_the_store_is_left_as_it_is(
    place: Place, kind: str | None
) -> None:
    seed_stock(place)
    table, before = VALUES[place.provider], tables(place)
    value = "NULL" if kind is None else f"'{kind}'"
    place.query(f"UPDATE {table} SET type = {value} WHERE thread_id = 'young'")
    for arguments in ((), ("--yes",), ("--yes", "--compress", "--json")):
        ran = adopt_command(place, *arguments)
        assert ran.status == 1
        named = f"1 of type {kind or '(none)'!r} in {table}"
        assert ran.err.strip().endswith(f"it holds values that cannot be read back: {named}")
        assert ran.err.count("\n") == 1
    (unreadable,) = ran.answer["unreadable"]
    assert (unreadable["table"], unreadable["type"]) == (table, kind or "(none)")
    assert ran.answer["adopted"] is False
    assert place.adopt().unreadable != ()
    assert tables(place) == before


def test_a_checkpoint_that_cannot_be_read_is_found_as_well(place: Place) -> None:
    seed_stock(place)
    table = {"sqlite": "checkpoints", "postgres": "checkpoint_blobs"}[place.provider]
    place.query(f"UPDATE {table} SET type = 'pickle' WHERE thread_id = 'older'")
    assert [(c.table, c.type, c.rows) for c in look(place).unreadable] == [(table, "pickle", 2)]


def test_an_empty_channel_is_no_unreadable_value(postgres_place: Place) -> None:
    seed_stock(postgres_place)
    postgres_place.query(
        "INSERT INTO checkpoint_blobs (thread_id, channel, version, type)"
        " VALUES ('young', 'gone', '1', 'empty')"
    )
    found = look(postgres_place)
    assert types(found)["checkpoint_blobs", "empty"] == 1
    assert found.unreadable == ()


def test_the_command_only_looks_unless_told_yes(place: Place) -> None:
    seed_stock(place)
    before = tables(place)
    looked = adopt_command(place, "--json")
    assert looked.status == 0
    assert looked.answer["adopted"] is False
    assert {n: looked.answer[n] for n in ("threads", "checkpoints", "undatable_ids")} == {
        "threads": 3,
        "checkpoints": 4,
        "undatable_ids": 1,
    }
    assert datetime.fromisoformat(looked.answer["newest"]) == NOW
    shown = adopt_command(place)
    assert "nothing was changed; --yes takes the store over" in shown.out
    assert tables(place) == before
    done = adopt_command(place, "--json", "--yes")
    assert done.answer == {**looked.answer, "adopted": True}
    assert recorded(place) == [("10", "off")]


def test_adopting_again_changes_whether_values_are_compressed(place: Place) -> None:
    seed_stock(place)
    for arguments, wanted in (((), "off"), (("--compress",), "on"), ((), "off")):
        ran = adopt_command(place, "--yes", *arguments)
        assert ran.status == 0, ran
        assert "compressed" in ran.out or wanted == "off"
        assert recorded(place) == [("10", wanted)]
    assert adopt_command(place).status == 0
    assert recorded(place) == [("10", "off")]


@pytest.mark.parametrize(
    "verb",
    [
        ("sweep", "run"),
        ("sweep", "run", "--dry-run"),
        ("sweep", "status"),
        ("sweep", "history"),
        ("sweep", "cancel", "--yes"),
        ("store", "init"),
    ],
    ids=" ".join,
)
def test_every_command_on_a_store_that_nobody_adopted_names_the_one_that_does(
    place: Place, verb: tuple[str, ...]
) -> None:
    seed_stock(place)
    before = tables(place)
    ran = retention_command(*verb, "--storage", place.address)
    assert ran.status == 1
    assert "`retention store adopt`" in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""
    assert tables(place) == before
    assert place.threads() == {"older", "young", "foreign"}


@pytest.mark.parametrize("arguments", [(), ("--yes",)], ids=["look", "yes"])
def test_a_mistyped_address_is_refused_and_nothing_is_made(
    sqlite_place: Place, postgres_place: Place, arguments: tuple[str, ...]
) -> None:
    ran = adopt_command(sqlite_place, *arguments)
    assert (ran.status, "no such file" in ran.err) == (2, True)
    with pytest.raises(ConfigurationError):
        adopt_store(sqlite_place.address, settings=StoreOptions(), compresses=True)
    ran = adopt_command(postgres_place, *arguments)
    assert (ran.status, "checkpoint tables are missing" in ran.err) == (2, True)
    assert tables(postgres_place) == set()
    with pytest.raises(sqlite3.OperationalError):
        sqlite3.connect(f"file:{sqlite_place.address}?mode=ro", uri=True)


def test_a_memory_store_has_nothing_to_adopt() -> None:
    with pytest.raises(ConfigurationError, match="nothing to adopt"):
        adopt_store("memory://", compresses=False)


def large_put(saver: Any, thread_id: str) -> None:
    """One checkpoint whose value is large, and a large write beside it."""
    seed_thread(saver, thread_id, NOW)
    (item,) = saver.list(config_of(thread_id))
    version = saver.get_next_version(item.checkpoint["channel_versions"]["messages"], None)
    grown = {
        **item.checkpoint,
        "channel_values": {"messages": [LARGE], "count": 1},
        "channel_versions": {**item.checkpoint["channel_versions"], "messages": version},
    }
    saver.put(config_of(thread_id), grown, item.metadata, {"messages": version})
    saver.put_writes(item.config, [("messages", LARGE)], "large-task")


def values_of(saver: Any, thread_id: str) -> tuple[Any, list[Any]]:
    """What a thread holds: its list, and its pending writes."""
    found = saver.get_tuple(config_of(thread_id))
    return found.checkpoint["channel_values"]["messages"], [w[2] for w in found.pending_writes]


def test_an_adopted_store_is_shared_with_stock_savers(place: Place, mode: str) -> None:
    seed_stock(place)
    place.adopt()
    with place.store() as store:
        assert "older" in sweep(store, NOW).to_json()["waiting_swept"]
    config = config_of("shared")
    for who in ("stock", "ours", "stock"):
        with agent_on(place, graphs.chain(), who, mode) as agent:
            agent.run(NOTHING, config)
            count = agent.state(config).values["count"]
    assert count == 9
    with place.saver("ours") as ours, place.stock_saver() as stock:
        large_put(ours, "by-ours")
        large_put(stock, "by-stock")
        for thread_id in ("by-ours", "by-stock"):
            assert values_of(ours, thread_id)[0] == [LARGE]
            assert values_of(ours, thread_id) == values_of(stock, thread_id)
    assert all(not kind.startswith("zstd") for _, kind in types(look(place)))


@pytest.fixture(params=[None, 0, 65_536], ids=["off", "everything", "default"])
def threshold(request: pytest.FixtureRequest) -> int | None:
    """A setting of the threshold."""
    found: int | None = request.param
    return found


def test_each_setting_reads_what_every_other_wrote(place: Place, threshold: int | None) -> None:
    init_compressing(place)
    with open_store(place.address, settings=StoreOptions(compress_above=threshold)) as store:
        large_put(store.saver, "t")
        seed_thread(store.saver, "small", NOW)
    compressed = {(t, k): n for (t, k), n in types(look(place)).items() if k.startswith("zstd")}
    assert bool(compressed) == (threshold is not None)
    for other in (None, 0, 65_536):
        with open_store(place.address, settings=StoreOptions(compress_above=other)) as store:
            value, writes = values_of(store.saver, "t")
            assert value == [LARGE]
            assert LARGE in writes
            assert values_of(store.saver, "small")[0] == ["message of step 0"]


def init_compressing(place: Place) -> None:
    """A stock store whose operator has turned compression on."""
    with place.stock_saver():
        pass
    place.adopt(compresses=True)


async def test_async_savers_compress_alike(place: Place) -> None:
    init_compressing(place)
    with place.saver("ours") as saver:
        large_put(saver, "t")
    async with place.asaver("ours") as asaver:
        found = await asaver.aget_tuple(config_of("t"))
        assert found is not None
        assert found.checkpoint["channel_values"]["messages"] == [LARGE]
        await asaver.aput_writes(found.config, [("messages", LARGE)], "async-task")
    counted = types(look(place))
    assert counted[VALUES[place.provider], "zstd:msgpack"] == 2


def test_turning_compression_off_leaves_what_is_compressed_readable(place: Place) -> None:
    init_compressing(place)
    with place.saver("ours") as saver:
        large_put(saver, "compressed")
    before = look(place)
    place.adopt(compresses=False)
    with place.saver("ours") as saver:
        large_put(saver, "plain")
        assert values_of(saver, "compressed") == values_of(saver, "plain")
    after = look(place)
    assert types(after)[VALUES[place.provider], "zstd:msgpack"] == 1
    assert after.bytes > before.bytes + 2 * len(LARGE)


def test_a_statement_on_sqlite_that_runs_out_of_time_is_ended(sqlite_place: Place) -> None:
    with sqlite_place.stock_saver() as saver:
        seed_thread(saver, "old", OLD)
    with closing(sqlite3.connect(sqlite_place.address)) as connection, connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
            " INSERT INTO writes"
            " SELECT 't' || i, '', '', 'task', '', 0, 'c', 'msgpack', x'c0' FROM n"
        )
    short = StoreOptions(statement_timeout=timedelta(milliseconds=1))
    with pytest.raises(StoreError, match="ran out of its time"):
        adopt_store(sqlite_place.address, settings=short)
    assert look(sqlite_place).ids.threads == 1


def test_a_role_that_only_reads_can_look(postgres_place: Place) -> None:
    seed_stock(postgres_place)
    reading = f"{postgres_place.address}&options=-cdefault_transaction_read_only%3Don"
    assert retention_command("store", "adopt", "--storage", reading, "--json").status == 0
    refused = retention_command("store", "adopt", "--storage", reading, "--yes")
    assert (refused.status, refused.err.count("\n")) == (1, 1)
