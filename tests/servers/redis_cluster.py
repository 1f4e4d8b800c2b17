"""A Redis Cluster for tests: three masters that share all slots, without replicas."""

import contextlib
import time
from contextlib import ExitStack
from typing import Any, Self

import redis

from tests.servers.process import ServerFailedError
from tests.servers.redis import Redis, RedisServer, free_port

_SLOTS = 16_384
_NODES = 3
_JOIN_SECONDS = 30


class ClusterNode(RedisServer):
    """One node. It talks with the others on a second port."""

    def __init__(self) -> None:
        super().__init__(settings={"cluster-enabled": "yes", "cluster-node-timeout": "3000"})
        self._bus: tuple[int, int] | None = None

    @property
    def bus_port(self) -> int:
        """The port for the other nodes."""
        assert self._bus is not None, "the node was never started"
        return self._bus[1]

    def ask(self, *command: str | int) -> Any:
        """What this node answers to a command."""
        with contextlib.closing(redis.Redis.from_url(self.socket_url())) as client:
            send: Any = client.execute_command
            return send(*command)

    def _command(self, port: int) -> list[str]:
        # A node started again keeps both ports; one whose port was taken gets two new ones.
        if self._bus is None or self._bus[0] != port:
            self._bus = port, free_port()
        return [*super()._command(port), "--cluster-port", str(self.bus_port)]


class RedisCluster(Redis):
    """Three nodes of our own; a test that stops one of `nodes` starts its own cluster."""

    def __init__(self) -> None:
        self.nodes: list[ClusterNode] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.nodes = [stack.enter_context(ClusterNode()) for _ in range(_NODES)]
            self._join()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def url(self, database: int = 0) -> str:
        """The address of the first node; a cluster has the database 0 only."""
        return self._url(self.nodes[:1], database)

    def full_url(self) -> str:
        """The address that names every node."""
        return self._url(self.nodes)

    def flush(self) -> None:
        """Empty every node."""
        for node in self.nodes:
            node.flush()

    def node_of(self, key: str) -> ClusterNode:
        """The node that holds a key."""
        slot = int(self.nodes[0].ask("CLUSTER KEYSLOT", key))
        return self.nodes[slot * _NODES // _SLOTS]

    def _url(self, nodes: list[ClusterNode], database: int = 0) -> str:
        if database:
            raise ValueError("a cluster has one database only")
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)

    def _join(self) -> None:
        first = self.nodes[0]
        for number, node in enumerate(self.nodes):
            # Each needs an epoch of its own, or two of them settle it among themselves first.
            node.ask("CLUSTER SET-CONFIG-EPOCH", number + 1)
            node.ask("CLUSTER ADDSLOTSRANGE", _first_slot(number), _first_slot(number + 1) - 1)
        for node in self.nodes[1:]:
            node.ask("CLUSTER MEET", "127.0.0.1", str(first.port), first.bus_port)
        deadline = time.monotonic() + _JOIN_SECONDS
        while not all(map(_knows_all, self.nodes)):
            if time.monotonic() > deadline:
                raise ServerFailedError(f"the cluster did not form:\n{first.log[-4000:]}")
            time.sleep(0.02)


def _first_slot(number: int) -> int:
    # The lowest slot that `node_of` gives to this node.
    return -(-number * _SLOTS // _NODES)


def _knows_all(node: ClusterNode) -> bool:
    info = node.ask("CLUSTER INFO")
    wanted = {
        "cluster_state": "ok",
        "cluster_known_nodes": str(_NODES),
        "cluster_size": str(_NODES),
    }
    return all(info[name] == value for name, value in wanted.items())
