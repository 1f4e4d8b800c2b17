"""A port where TLS is to be spoken, and is not, is said soon: within the time of a connection."""

import time

import pytest

from retention.errors import StoreUnavailableError
from stores import aopen_store, open_store
from stores.redis.handshake import check_tls
from stores.redis_address import parse
from tests.servers import RedisServer, TlsRedis
from tests.servers.redis import free_port

#: A statement has 60 seconds by default.
_SOON = 20
_FORMS = ("rediss://{}", "redis+cluster://{}?tls=true", "redis+sentinel://{}/agents?tls=true")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection has little time."""
    monkeypatch.setattr("stores.redis.client._CONNECT_SECONDS", 0.3)


def plain_place(server: RedisServer) -> str:
    """Host and port of a server without TLS."""
    return f"127.0.0.1:{server.port}"


@pytest.mark.parametrize("form", _FORMS)
def test_a_port_without_tls_is_named_within_the_time_of_a_connection(
    redis_store_server: RedisServer, form: str
) -> None:
    place, began = plain_place(redis_store_server), time.monotonic()
    with pytest.raises(StoreUnavailableError) as refused, open_store(form.format(place)):
        pass
    assert str(refused.value) == (
        f"Redis: no TLS is spoken at {place}: it answered nothing within 0.3 seconds; redis:// is "
        "without TLS"
    )
    assert time.monotonic() - began < _SOON


@pytest.mark.parametrize("form", _FORMS)
async def test_an_async_store_waits_no_longer(redis_store_server: RedisServer, form: str) -> None:
    began = time.monotonic()
    with pytest.raises(StoreUnavailableError):
        async with aopen_store(form.format(plain_place(redis_store_server))):
            pass
    assert time.monotonic() - began < _SOON


def test_the_first_node_that_can_be_reached_is_asked(redis_store_server: RedisServer) -> None:
    place = plain_place(redis_store_server)
    with (
        pytest.raises(StoreUnavailableError, match=f"no TLS is spoken at {place}"),
        open_store(f"redis+cluster://127.0.0.1:{free_port()},{place}?tls=true"),
    ):
        pass


def test_whoever_speaks_tls_or_is_away_is_left_to_the_driver(redis_tls: TlsRedis) -> None:
    check_tls(parse(redis_tls.bare_url()), 5)
    check_tls(parse(f"rediss://127.0.0.1:{free_port()}"), 5)
