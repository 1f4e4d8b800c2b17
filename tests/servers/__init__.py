"""Real PostgreSQL, Redis and RabbitMQ servers for the tests."""

from tests.servers.postgres import (
    ExternalPostgres,
    Postgres,
    PostgresServer,
    run_role_script,
)
from tests.servers.process import ServerFailedError, ServiceMissingError
from tests.servers.rabbit import ExternalRabbit, Rabbit, RabbitServer
from tests.servers.redis import ExternalRedis, Redis, RedisServer

__all__ = [
    "ExternalPostgres",
    "ExternalRabbit",
    "ExternalRedis",
    "Postgres",
    "PostgresServer",
    "Rabbit",
    "RabbitServer",
    "Redis",
    "RedisServer",
    "ServerFailedError",
    "ServiceMissingError",
    "run_role_script",
]
