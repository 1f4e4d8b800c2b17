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
from tests.servers.redis_cluster import RedisCluster
from tests.servers.redis_sentinel import SentinelRedis
from tests.servers.redis_tls import TlsRedis

__all__ = [
    "ExternalPostgres",
    "ExternalRabbit",
    "ExternalRedis",
    "Postgres",
    "PostgresServer",
    "Rabbit",
    "RabbitServer",
    "Redis",
    "RedisCluster",
    "RedisServer",
    "SentinelRedis",
    "ServerFailedError",
    "ServiceMissingError",
    "TlsRedis",
    "run_role_script",
]
