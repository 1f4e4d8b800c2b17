"""What a server must be and be set to, looked at when a store is opened."""

import logging
from collections.abc import Mapping
from typing import Any

from redis.cluster import RedisCluster
from redis.exceptions import ResponseError

from retention.errors import ConfigurationError
from retention.events import event
from stores.options import Access
from stores.redis.connection import Connection
from stores.redis.errors import translated

_LOG = logging.getLogger(__name__)
_OLDEST = (6, 2)
_POLICY = "noeviction"
_LAZY = "lazyfree-lazy-expire"


def check_servers(connection: Connection, access: Access) -> None:
    """Refuse a server, or any master of a cluster, on which threads would not be safe.

    Raises:
        ConfigurationError: It is too old, evicts keys, or is a replica that is to be written to.
        StoreUnavailableError: It cannot be reached.
    """
    with translated():
        client = connection.client
        is_cluster = isinstance(client, RedisCluster)
        servers = _masters(client) if is_cluster else [client]
        for server in servers:
            _check(server.info(), access, is_cluster=is_cluster)
        if access is not Access.READ and any(map(_expires_slowly, servers)):
            event(_LOG, logging.WARNING, "expiry_blocks", setting=_LAZY, value="no")


def _masters(client: Any) -> list[Any]:
    return [client.get_redis_connection(node) for node in client.get_primaries()]


def _check(said: Mapping[str, Any], access: Access, *, is_cluster: bool) -> None:
    version = str(said.get("redis_version", "0"))
    if _parts(version) < _OLDEST:
        raise ConfigurationError(f"Redis: the server is release {version}; 6.2 is the oldest known")
    if said.get("cluster_enabled") and not is_cluster:
        raise ConfigurationError(
            "Redis: the server is a node of a cluster: begin the address with redis+cluster://"
        )
    policy = said.get("maxmemory_policy")
    if policy != _POLICY:
        raise ConfigurationError(
            f"Redis: the server's maxmemory-policy is {policy}, which evicts parts of threads: "
            f"set it to {_POLICY} (CONFIG SET maxmemory-policy {_POLICY}, and in its configuration)"
        )
    if access is not Access.READ and said.get("role") == "slave":
        raise ConfigurationError(
            "Redis: the server is a replica, which takes no writes: name its master in the address"
        )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())


def _expires_slowly(server: Any) -> bool:
    """Whether a thread that expires holds up everybody; where nobody may ask, it is not said."""
    try:
        return bool(server.config_get(_LAZY).get(_LAZY) == "no")
    except ResponseError:
        return False
