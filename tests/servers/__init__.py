"""Real PostgreSQL and Redis servers for the tests, started from wheels."""

from tests.servers.postgres import (
    ExternalPostgres,
    Postgres,
    PostgresServer,
    run_role_script,
)
from tests.servers.process import ServerFailedError, ServiceMissingError
from tests.servers.redis import ExternalRedis, Redis, RedisServer

__all__ = [
    "ExternalPostgres",
    "ExternalRedis",
    "Postgres",
    "PostgresServer",
    "Redis",
    "RedisServer",
    "ServerFailedError",
    "ServiceMissingError",
    "run_role_script",
]
