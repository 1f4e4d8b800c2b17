"""redis-py's clients for a parsed address: a server, a sentinel's master or a cluster.

Opened after a worker's fork, never at import: a connection cannot be shared with a child.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import Redis
from redis._parsers.commands import CommandPolicies, RequestPolicy, ResponsePolicy
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.cluster import ClusterNode as AsyncNode
from redis.asyncio.cluster import RedisCluster as AsyncCluster
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import ExponentialWithJitterBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.commands.policies import StaticPolicyResolver
from redis.exceptions import ConnectionError as LostError
from redis.retry import Retry
from redis.sentinel import Sentinel

from retention.errors import ConfigurationError
from stores.options import StoreOptions
from stores.redis.connection import AsyncConnection, Connection
from stores.redis.errors import translated
from stores.redis.handshake import check_tls
from stores.redis.wrong_types import AsyncNamingConnection, NamingConnection
from stores.redis_address import RedisPlace

#: A server that is there answers sooner; one that is not must not hold up a sweep.
_CONNECT_SECONDS = 5.0
#: Each run at work has a connection: as many as a server takes by default, where redis-py would
#: refuse the 101st.
_CONNECTIONS = 10_000
#: A lost connection is made anew so often, with pauses that begin and end at these seconds.
_RETRIES = 3
_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 1.0


@dataclass(frozen=True, slots=True)
class _Driver:
    """The sync or the async half of redis-py."""

    client: Any
    sentinel: Any
    cluster: Any
    node: Any
    retry: Any


_SYNC = _Driver(Redis, Sentinel, RedisCluster, ClusterNode, Retry)
_ASYNC = _Driver(AsyncRedis, AsyncSentinel, AsyncCluster, AsyncNode, AsyncRetry)
_BY_KEY = CommandPolicies(RequestPolicy.DEFAULT_KEYED, ResponsePolicy.DEFAULT_KEYED)


class _ScriptsByKey(StaticPolicyResolver):
    """Sends a script in a cluster to where its key lies.

    Left alone, the sync client asks a node each time which of the arguments are keys.
    """

    def resolve(self, command_name: str) -> CommandPolicies | None:
        return _BY_KEY if command_name == "evalsha" else super().resolve(command_name)


@contextmanager
def connected(place: RedisPlace, options: StoreOptions) -> Iterator[Connection]:
    """A sync connection to a place; closed at the end.

    Raises:
        ConfigurationError: The server refuses the user, or is no cluster.
        StoreUnavailableError: It cannot be reached.
    """
    if place.tls:
        # The async half gives a handshake no longer than a connection by itself.
        check_tls(place, _connect_seconds(options))
    with ExitStack() as stack:
        with translated():
            clients = _clients(_SYNC, place, options)
        for client in clients:
            stack.callback(client.close)
        yield NamingConnection(clients[0])


@asynccontextmanager
async def aconnected(place: RedisPlace, options: StoreOptions) -> AsyncIterator[AsyncConnection]:
    """An async connection to a place, for the running loop; it connects at the first use."""
    async with AsyncExitStack() as stack:
        with translated():
            clients = _clients(_ASYNC, place, options)
        for client in clients:
            stack.push_async_callback(client.aclose)
        yield AsyncNamingConnection(clients[0])


def _clients(driver: _Driver, place: RedisPlace, options: StoreOptions) -> list[Any]:
    """The client for commands, then those that must be closed with it."""
    settings = _settings(driver, place, options)
    if place.kind == "unix":
        return [driver.client(unix_socket_path=place.path, db=place.database, **settings)]
    if place.kind == "single":
        ((host, port),) = place.nodes
        return [driver.client(host=host, port=port, db=place.database, **settings)]
    if place.kind == "cluster":
        nodes = [driver.node(host, port) for host, port in place.nodes]
        if driver is _SYNC:
            settings["policy_resolver"] = _ScriptsByKey()
        return [driver.cluster(startup_nodes=nodes, **settings)]
    sentinel = driver.sentinel(
        place.nodes, sentinel_kwargs=_sentinel_settings(place, settings), **settings
    )
    return [sentinel.master_for(place.service, db=place.database), *sentinel.sentinels]


def _settings(driver: _Driver, place: RedisPlace, options: StoreOptions) -> dict[str, Any]:
    _check_files(place)
    seconds = options.statement_timeout.total_seconds()
    pauses = ExponentialWithJitterBackoff(_LONGEST_PAUSE_SECONDS, _PAUSE_SECONDS)
    given = {name: value for name, value in place.options.items() if name not in _SENTINEL}
    return {
        "username": place.username,
        "password": place.password,
        "protocol": 2,
        "decode_responses": False,
        "max_connections": _CONNECTIONS,
        "socket_timeout": seconds,
        "socket_connect_timeout": _connect_seconds(options),
        # What took the whole time once is not asked for again: the caller's time is bounded too.
        "retry": driver.retry(pauses, _RETRIES, supported_errors=(LostError,)),
        **({"ssl": True} if place.tls else {}),
        **{name: _TYPES.get(name, str)(value) for name, value in given.items()},
    }


def _connect_seconds(options: StoreOptions) -> float:
    return min(_CONNECT_SECONDS, options.statement_timeout.total_seconds())


def _check_files(place: RedisPlace) -> None:
    """A missing file would otherwise look like a server that is away."""
    for name in _FILES & set(place.options):
        if not Path(place.options[name]).is_file():
            raise ConfigurationError(f"redis needs a file at the path in its parameter {name}")


_FILES = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"}
#: The user at the sentinels, who is another than the master's.
_SENTINEL = {"sentinel_username": "username", "sentinel_password": "password"}
_TYPES: dict[str, Any] = {"health_check_interval": int, "ssl_check_hostname": "true".__eq__}


def _sentinel_settings(place: RedisPlace, settings: dict[str, Any]) -> dict[str, Any]:
    user = {name: place.options.get(option) for option, name in _SENTINEL.items()}
    return {**settings, **user, "socket_timeout": settings["socket_connect_timeout"]}
