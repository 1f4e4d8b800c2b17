"""Opening a store on every kind of Redis, and what is said where that cannot be."""

import contextlib
import logging
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis

from retention.errors import ConfigurationError, StoreUnavailableError
from retention.threads import Hold
from stores import Access, StoreOptions, adopt_store, aopen_store, init_store, open_store
from stores.opening import store_ddl
from stores.redis.server_checks import _check
from tests.commands import retention_command
from tests.conftest import service
from tests.integration.sweeping import sweep
from tests.seeding import config_of, seed_threads
from tests.servers import RedisServer, SentinelRedis, TlsRedis
from tests.servers.redis import free_port

NOW = datetime.now(UTC)
SECRET = "geheim"
KINDS = ("single", "database", "unix", "tls", "sentinel", "cluster")


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest) -> str:
    """An empty Redis of each kind, as it is reached."""
    fixtures = {"tls": "redis_tls", "sentinel": "redis_sentinel", "cluster": "redis_cluster"}
    server: Any = request.getfixturevalue(fixtures.get(request.param, "redis_store_server"))
    server.flush()
    chosen: dict[str, Any] = {
        "database": lambda: server.url(3),
        "unix": lambda: server.socket_url(2),
        "cluster": server.url if request.param != "cluster" else server.full_url,
    }
    found: str = chosen.get(request.param, server.url)()
    return found


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A Redis that the test may set as it likes."""
    with service():
        made = RedisServer()
    with made:
        yield made


@contextlib.contextmanager
def administrator(server: RedisServer) -> Iterator[Any]:
    """A client that may do everything."""
    with contextlib.closing(redis.Redis.from_url(server.socket_url())) as client:
        yield client


def refused(
    address: str, kind: type[Exception] = ConfigurationError, access: Access = Access.CREATE
) -> str:
    """The one line with which a store does not open; it shows no password."""
    with (
        pytest.raises(kind) as caught,
        open_store(address, settings=StoreOptions(access=access)),
    ):
        pass
    line = str(caught.value)
    assert "\n" not in line
    assert SECRET not in line
    assert "redis." not in line
    return line


def opened(address: str, access: Access = Access.CREATE) -> None:
    """Open a store and close it."""
    with open_store(address, settings=StoreOptions(access=access)):
        pass


async def test_a_store_opens_by_every_kind_of_address_sync_and_async(address: str) -> None:
    with open_store(address) as store:
        # In more than one bucket, so in more than one node.
        names = seed_threads(store.saver, "t", 12, NOW)
        store.ledger.start(names)
    async with aopen_store(address) as other:
        assert other.threads.count_threads() == 12
        assert set(other.ledger.entries(names)) == set(names)
        for name in names:
            found = await other.saver.aget_tuple(config_of(name))
            assert found is not None
            assert found.checkpoint["channel_values"]["messages"] == ["message of step 0"]
        listed = [item async for item in other.saver.alist(None)]
        assert len(listed) == 12


def test_a_database_of_a_server_is_a_store_of_its_own(redis_store_server: RedisServer) -> None:
    redis_store_server.flush()
    with open_store(redis_store_server.url(3)) as store:
        seed_threads(store.saver, "t", 2, NOW)
    with open_store(redis_store_server.url(4)) as other:
        assert other.threads.count_threads() == 0


@pytest.mark.parametrize("user", [f":{SECRET}@", f"somebody:{SECRET}@"])
def test_a_refused_password_is_one_line_without_it(server: RedisServer, user: str) -> None:
    with administrator(server) as admin:
        admin.config_set("requirepass", "another")
        line = refused(server.url().replace("://", f"://{user}"))
        assert "invalid username-password pair" in line
        assert "Authentication required" in refused(server.url())
        opened(server.url().replace("://", "://:another@"))


async def test_an_async_store_is_refused_alike(server: RedisServer) -> None:
    with administrator(server) as admin:
        admin.config_set("requirepass", "another")
    with pytest.raises(ConfigurationError, match="Authentication required"):
        async with aopen_store(server.url()):
            pass


def test_a_server_that_is_down_may_be_tried_again(server: RedisServer) -> None:
    opened(server.url())
    server.stop()
    assert "Connection refused" in refused(server.url(), StoreUnavailableError)
    server.start()
    opened(server.url())


def test_a_store_outlives_a_restart_of_its_server(server: RedisServer) -> None:
    with open_store(server.url()) as store:
        server.stop()
        with pytest.raises(StoreUnavailableError, match="Connection refused"):
            store.threads.count_threads()
        server.start()
        # Its scripts are gone as well as its keys.
        store.ledger.start(["t"])
        assert set(store.ledger.entries(["t"])) == {"t"}


async def test_a_server_that_answers_nothing_holds_a_call_up_for_its_time_and_no_longer(
    server: RedisServer,
) -> None:
    options = StoreOptions(statement_timeout=timedelta(milliseconds=200))
    assert server.pid is not None
    async with aopen_store(server.url(), settings=options) as store:
        await store.saver.aget_tuple(config_of("t"))
        os.kill(server.pid, signal.SIGSTOP)
        try:
            with pytest.raises(StoreUnavailableError, match="Timeout"):
                store.threads.count_threads()
            with pytest.raises(StoreUnavailableError, match="Timeout"):
                await store.saver.aget_tuple(config_of("t"))
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert store.threads.count_threads() == 0
        assert await store.saver.aget_tuple(config_of("t")) is None


@pytest.mark.parametrize(
    ("scheme", "path"),
    [
        ("redis", "/0"),
        ("rediss", "/0"),
        ("redis+sentinel", "/main/0"),
        ("redis+cluster", ""),
    ],
)
def test_where_nothing_listens_is_one_line(scheme: str, path: str) -> None:
    address = f"{scheme}://:{SECRET}@127.0.0.1:{free_port()}{path}"
    line = refused(address, StoreUnavailableError)
    assert "Connection refused" in line or "No master found for 'main'" in line


def test_a_socket_that_is_missing_is_one_line() -> None:
    assert "No such file" in refused("unix:///tmp/there-is-none.sock", StoreUnavailableError)


def test_a_service_that_no_sentinel_knows_is_named(redis_sentinel: SentinelRedis) -> None:
    address = redis_sentinel.url().replace("/main/", "/other/")
    assert "No master found for 'other'" in refused(address, StoreUnavailableError)


@pytest.mark.parametrize("access", Access)
def test_a_server_that_evicts_is_refused_with_how_to_set_it(
    server: RedisServer, access: Access
) -> None:
    with administrator(server) as admin:
        admin.config_set("maxmemory-policy", "volatile-lru")
        line = refused(server.url(), access=access)
        assert "maxmemory-policy is volatile-lru" in line
        assert "CONFIG SET maxmemory-policy noeviction" in line
        # Where CONFIG is forbidden the server says so itself.
        rights = {"keys": ["*"], "categories": ["+@all"], "commands": ["-config"]}
        admin.acl_setuser("worker", enabled=True, passwords=["+word"], **rights)
        as_worker = server.url().replace("://", "://worker:word@")
        assert "volatile-lru" in refused(as_worker, access=access)
        assert admin.dbsize() == 0
        admin.config_set("maxmemory-policy", "noeviction")
        opened(as_worker)


def test_one_evicting_node_of_a_cluster_is_enough(redis_cluster: Any) -> None:
    node = redis_cluster.nodes[2]
    node.ask("CONFIG SET", "maxmemory-policy", "allkeys-random")
    try:
        assert "allkeys-random" in refused(redis_cluster.url())
    finally:
        node.ask("CONFIG SET", "maxmemory-policy", "noeviction")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was warned of since the last look."""
    found = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    caplog.clear()
    return found


def test_whoever_writes_is_warned_once_of_a_server_that_expires_keys_in_its_main_thread(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    line = "expiry_blocks setting=lazyfree-lazy-expire value=no"
    with administrator(server) as admin:
        admin.config_set("lazyfree-lazy-expire", "no")
        for access in (Access.CREATE, Access.WRITE):
            opened(server.url(), access)
            assert warnings(caplog) == [line]
        opened(server.url(), Access.READ)
        assert warnings(caplog) == []
        admin.config_set("lazyfree-lazy-expire", "yes")
        opened(server.url())
        assert warnings(caplog) == []


def test_a_replica_is_read_and_not_written_to(server: RedisServer) -> None:
    with open_store(server.url()) as store:
        (thread_id,) = seed_threads(store.saver, "t", 1, NOW)
        with administrator(server) as master:
            master.config_set("repl-diskless-sync-delay", "0")
    with RedisServer(settings={"replicaof": f"127.0.0.1 {server.port}"}) as replica:
        with administrator(replica) as client, administrator(server) as master:
            master.wait(1, 5_000)
            assert client.info("replication")["role"] == "slave"
        for access in (Access.CREATE, Access.WRITE):
            assert "is a replica" in refused(replica.url(), access=access)
        with open_store(replica.url(), settings=StoreOptions(access=Access.READ)) as store:
            assert store.threads.facts([thread_id])[thread_id].head is not None
            assert store.saver.get_tuple(config_of(thread_id)) is not None


def test_a_cluster_and_a_single_server_are_not_taken_for_each_other(
    redis_store_server: RedisServer, redis_cluster: Any
) -> None:
    node = redis_cluster.url().replace("redis+cluster://", "redis://")
    assert "begin the address with redis+cluster://" in refused(node)
    single = redis_store_server.url().replace("redis://", "redis+cluster://").rpartition("/")[0]
    assert "Cluster mode is not enabled" in refused(single)


def test_a_database_that_the_server_does_not_have_is_refused(
    redis_store_server: RedisServer,
) -> None:
    assert "out of range" in refused(redis_store_server.url(15).replace("/15", "/99"))


def test_a_certificate_that_nobody_trusts_is_refused(redis_tls: TlsRedis) -> None:
    assert "CERTIFICATE_VERIFY_FAILED" in refused(redis_tls.bare_url())
    missing = refused(f"{redis_tls.bare_url()}?ssl_ca_certs=/there/is/none.pem")
    assert "a file at the path in its parameter ssl_ca_certs" in missing
    redis_tls.flush()
    opened(f"{redis_tls.bare_url()}?ssl_cert_reqs=none")
    opened(f"{redis_tls.url()}&ssl_check_hostname=true&health_check_interval=5")


@pytest.mark.parametrize("version", ["6.0.16", "5.0.7", "3.2", "0"])
def test_a_release_before_6_2_is_refused(version: str) -> None:
    said = {"redis_version": version, "maxmemory_policy": "noeviction", "role": "master"}
    with pytest.raises(ConfigurationError, match=f"release {version}; 6.2 is the oldest"):
        _check(said, Access.READ, is_cluster=False)


def test_there_is_nothing_to_adopt_and_no_sql_to_print(redis_store_url: str) -> None:
    with pytest.raises(ConfigurationError, match="nothing to adopt"):
        adopt_store(redis_store_url, compresses=True)
    with pytest.raises(ConfigurationError, match="no tables"):
        store_ddl(redis_store_url)
    for verb in ("adopt", "init --print-sql"):
        ran = retention_command("store", *verb.split(), "--storage", redis_store_url)
        assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    with contextlib.closing(redis.Redis.from_url(redis_store_url)) as client:
        assert client.dbsize() == 0


def test_a_sentinel_may_ask_for_another_password_than_its_master(
    redis_sentinel: SentinelRedis,
) -> None:
    redis_sentinel.flush()
    with administrator(redis_sentinel) as sentinel, administrator(redis_sentinel.master) as master:
        everything = {"keys": ["*"], "categories": ["+@all"]}
        master.acl_setuser("app", enabled=True, passwords=[f"+{SECRET}"], **everything)
        address = redis_sentinel.url().replace("://", f"://app:{SECRET}@")
        sentinel.execute_command("ACL SETUSER", "default", "resetpass", ">of-the-sentinel")
        try:
            assert "No master found" in refused(address, StoreUnavailableError)
            opened(f"{address}?sentinel_password=of-the-sentinel")
        finally:
            sentinel.execute_command("ACL SETUSER", "default", "nopass")
            master.acl_deluser("app")


def test_the_documented_rights_are_enough(server: RedisServer) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "redis.md"
    (line,) = [line for line in page.read_text().splitlines() if line.startswith("ACL SETUSER")]
    with administrator(server) as admin:
        admin.execute_command(*line.split())
    with open_store(server.url().replace("://", "://retention:password@")) as store:
        names = seed_threads(store.saver, "t", 20, NOW - timedelta(days=9))
        store.ledger.start(names)
        store.ledger.hold(names[:1], Hold("audit"))
        assert len(list(store.saver.list(None))) == 20
        with open_store(
            server.url().replace("://", "://retention:password@"),
            settings=StoreOptions(clock=lambda: NOW - timedelta(days=8)),
        ) as then:
            then.ledger.mark_finished(names)
        assert sweep(store).to_json()["swept_count"] == 19
        store.ledger.release(names)
        store.saver.delete_thread(names[0])


def test_init_records_the_format_and_is_done_twice(redis_store_url: str) -> None:
    for _ in range(2):
        ran = retention_command("store", "init", "--storage", redis_store_url)
        assert ran.status == 0
        assert "redis store is ready" in ran.out
    init_store(redis_store_url)
    with contextlib.closing(redis.Redis.from_url(redis_store_url)) as client:
        assert client.keys() == [b"lgr:{log}:format"]
