"""Addresses of Redis stores: what each form means, and what is said of a wrong one."""

from collections.abc import Mapping
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retention.errors import ConfigurationError
from stores.address import SCHEMES, address_fault
from stores.redis_address import RedisPlace, parse

ENCODE = "/ ? # and @ written as %2F %3F %23 and %40 within its parts (as in a password)"
HOSTS = "hosts of letters, digits, dots and dashes, or IPv6 in brackets, none empty"
PORT = "a port from 1 to 65535 after the colon behind its host"
DATABASE = "a database number from 0 up at the end of its path"
SOCKET = "the path of its socket from the root, as in unix:///run/redis.sock"
PARAMETERS = "parameters of the form name=value&name=value after the ?"
SECRET = "hunter"


def refusal(address: str) -> str:
    """What is said of an address that is refused."""
    with pytest.raises(ConfigurationError) as refused:
        parse(address)
    return str(refused.value)


def single(host: str, port: int = 6379, database: int = 0, *, tls: bool = False) -> RedisPlace:
    """A place with nothing unusual about it."""
    return RedisPlace("single", ((host, port),), tls=tls, database=database)


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("redis://host", single("host")),
        ("redis://host/", single("host")),
        ("redis://host:6380/3", single("host", 6380, 3)),
        ("rediss://my_host.example-1.com/15", single("my_host.example-1.com", 6379, 15, tls=True)),
        ("redis://[::1]", single("::1")),
        ("redis://[2001:db8::7]:1/2", single("2001:db8::7", 1, 2)),
        ("redis://[fe80::1%eth0]:65535", single("fe80::1%eth0", 65_535)),
        ("redis://host?", single("host")),
        ("unix:///run/redis.sock", RedisPlace("unix", path="/run/redis.sock")),
        ("unix:///run/a%20b@c:d?db=2", RedisPlace("unix", path="/run/a b@c:d", database=2)),
        (
            "redis+sentinel://a,b:1,[::1]:2/main",
            RedisPlace("sentinel", (("a", 26_379), ("b", 1), ("::1", 2)), service="main"),
        ),
        (
            "redis+sentinel://a/my%2Fmain/4?tls=true",
            RedisPlace("sentinel", (("a", 26_379),), tls=True, service="my/main", database=4),
        ),
        ("redis+cluster://a:7001", RedisPlace("cluster", (("a", 7001),))),
        (
            "redis+cluster://a,[::1]:7002/?tls=TRUE",
            RedisPlace("cluster", (("a", 6379), ("::1", 7002)), tls=True),
        ),
        ("redis+cluster://a?tls=false", RedisPlace("cluster", (("a", 6379),))),
    ],
)
def test_each_form_of_an_address_names_its_place(address: str, place: RedisPlace) -> None:
    assert parse(address) == place
    assert address_fault("redis", address) is None


@pytest.mark.parametrize(
    ("user_info", "username", "password"),
    [
        (":p@", None, "p"),
        ("u:p@", "u", "p"),
        ("u:@", "u", None),
        (":@", None, None),
        ("us%3Aer:p%40ss%2Fw%3Aord%20%25@", "us:er", "p@ss/w:ord %"),
        (":p:q@", None, "p:q"),
        ("u:p@q@", None, None),
    ],
)
@pytest.mark.parametrize(
    "form",
    ["redis://{}host/1", "unix://{}/run/s", "redis+sentinel://{}a,b/main", "redis+cluster://{}a,b"],
)
def test_user_and_password_come_before_the_hosts_and_are_decoded(
    form: str, user_info: str, username: str | None, password: str | None
) -> None:
    address = form.format(user_info)
    if user_info == "u:p@q@":
        username, password = "u", "p@q"
    place = parse(address)
    assert (place.username, place.password) == (username, password)


@given(st.text(min_size=1), st.text(min_size=1))
def test_whatever_is_percent_encoded_comes_back(username: str, password: str) -> None:
    place = parse(f"redis://{quote(username, safe='')}:{quote(password, safe='')}@host")
    assert (place.username, place.password) == (username, password)


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("redis://h?health_check_interval=30", {"health_check_interval": "30"}),
        ("unix:///s?db=1&health_check_interval=5", {"health_check_interval": "5"}),
        (
            "rediss://h?ssl_cert_reqs=none&ssl_check_hostname=False",
            {"ssl_cert_reqs": "none", "ssl_check_hostname": "false"},
        ),
        (
            "redis+cluster://h?tls=true&ssl_ca_certs=%2Fa%20b.pem&ssl_certfile=/c&ssl_keyfile=/k",
            {"ssl_ca_certs": "/a b.pem", "ssl_certfile": "/c", "ssl_keyfile": "/k"},
        ),
        (
            "redis+sentinel://h/main?sentinel_username=u&sentinel_password=p%40ss",
            {"sentinel_username": "u", "sentinel_password": "p@ss"},
        ),
    ],
)
def test_options_are_kept_by_the_drivers_names(address: str, options: Mapping[str, str]) -> None:
    assert dict(parse(address).options) == options


@pytest.mark.parametrize(
    ("address", "needed"),
    [
        # Hosts and ports.
        ("redis://", HOSTS),
        ("redis:///0", HOSTS),
        ("redis://:6379", HOSTS),
        ("redis://a b", HOSTS),
        ("redis://[]", HOSTS),
        ("redis://[::1", HOSTS),
        ("redis://[host]:1", HOSTS),
        ("redis://[::1]6379", HOSTS),
        ("redis+cluster://a,,b", HOSTS),
        ("redis+sentinel://a,/main", HOSTS),
        ("redis://::1:6379", "an IPv6 host in brackets, as in redis://[::1]:6379"),
        ("redis://h:", PORT),
        ("redis://h:0", PORT),
        ("redis://h:65536", PORT),
        ("redis://h:-1", PORT),
        ("redis://h:٣", PORT),
        ("redis://a:1,b:2", "redis+sentinel:// or redis+cluster:// before several hosts"),
        ("redis+cluster://a,b,a:6379", "each of its hosts named once"),
        # Databases and services.
        ("redis://h/-1", DATABASE),
        ("redis://h/one", DATABASE),
        ("redis://h/1/2", DATABASE),
        ("redis://h/9999999999", DATABASE),
        ("redis+sentinel://h/main/-1", DATABASE),
        ("redis+sentinel://h/main/1/2", DATABASE),
        ("redis+cluster://h/0", "no database on a cluster: leave out what follows its hosts"),
        (
            "redis+cluster://h?db=0",
            "no parameter db: a cluster has no database to choose",
        ),
        (
            "redis+sentinel://h",
            "the name of a service after its sentinels, as in redis+sentinel://host/service/0",
        ),
        (
            "redis+sentinel://h//0",
            "the name of a service after its sentinels, as in redis+sentinel://host/service/0",
        ),
        (
            "redis+sentinel://h/main?db=1",
            "no parameter db: the database follows the service, as in …/service/1",
        ),
        (
            "redis://h?db=1",
            "no parameter db: the database follows the host, as in redis://host:6379/1",
        ),
        ("unix:///s?db=-1", "a database number from 0 up for its parameter db"),
        # Sockets.
        ("unix://", SOCKET),
        ("unix:///", SOCKET),
        ("unix://run/redis.sock", SOCKET),
        ("unix://u:p@run/redis.sock", SOCKET),
        ("unix:///run/%00", "a path of its socket without control characters"),
        ("redis://h?decode_responses=1", "no parameters but health_check_interval, ssl_ca_certs,"),
        ("unix:///run/\n", "an address without control characters"),
        # Users and passwords.
        ("redis://u@h", "user:password@ or :password@ before its host"),
        ("redis://:a/b@h", ENCODE),
        ("redis://:a?b@h", ENCODE),
        ("redis://:a#b@h", ENCODE),
        ("redis://h/0#b", ENCODE),
        ("unix://u:p/q@/run/s", ENCODE),
        ("redis://:%ff@h", "UTF-8 in what is percent-encoded"),
        # Parameters.
        (
            "redis://h?health_check_intervall=1",
            "no parameter health_check_intervall: did you mean health_check_interval?",
        ),
        (
            "unix:///s?tls=true",
            "no parameters but db, health_check_interval",
        ),
        ("redis://h?tls=true", "no parameter tls: TLS is asked for by rediss://"),
        ("redis://h?0=1", PARAMETERS),
        ("redis://h?=1", PARAMETERS),
        ("redis://h?health_check_interval", "a whole number of seconds for its parameter"),
        ("redis://h?health_check_interval=1.5", "a whole number of seconds for its parameter"),
        (
            "redis://h?health_check_interval=1&health_check_interval=2",
            "its parameter health_check_interval once only",
        ),
        ("rediss://h?ssl_ca_certs=", "a value for its parameter ssl_ca_certs"),
        (
            "rediss://h?ssl_cert_reqs=never",
            "none, optional or required for its parameter ssl_cert_reqs",
        ),
        ("rediss://h?ssl_check_hostname=1", "true or false for its parameter ssl_check_hostname"),
        ("redis+cluster://h?tls=yes", "true or false for its parameter tls"),
        # What checks a certificate would check nothing without TLS.
        ("redis://h?ssl_ca_certs=/c", "TLS for its ssl_ca_certs: begin with rediss://"),
        ("redis+cluster://h?ssl_ca_certs=/c", "TLS for its ssl_ca_certs: add tls=true"),
        ("redis+sentinel://h/m?tls=false&ssl_keyfile=/k", "TLS for its ssl_keyfile: add tls=true"),
    ],
)
def test_what_is_wrong_with_an_address_is_said_in_one_line(address: str, needed: str) -> None:
    line = refusal(address)
    assert line.startswith(f"redis needs {needed}")
    assert len(line.splitlines()) == 1
    assert address_fault("redis", address) == line


@pytest.mark.parametrize("address", ["postgresql://h", "REDIS://h", "host:6379", "redis:/h", ""])
def test_an_address_of_another_scheme_is_told_the_known_ones(address: str) -> None:
    known = " or ".join(f"{scheme}://" for scheme in SCHEMES["redis"])
    assert refusal(address) == f"redis needs an address that begins with {known}"


@pytest.mark.parametrize(
    "form",
    [
        "redis://:{}@h:x",
        "redis://{}",
        "redis://{}@h",
        "redis://u:{}",
        "redis://h:{}",
        "redis://h/{}",
        "redis://:{}@h?x=1",
        "unix://u:{}@/s?x=1",
        "redis+sentinel://:{}@a,b",
        "redis+cluster://:{}@a,b/0",
        "redis+sentinel://a/main?sentinel_password={}&x=1",
    ],
)
@pytest.mark.parametrize("special", ["", "/", "?", "#", "@", ":", "&", "=", "%", "[", "]", "?x="])
def test_no_line_shows_a_password_however_it_is_written(form: str, special: str) -> None:
    for password in (f"a{special}{SECRET}", f"{SECRET}{special}b", f"{special}{SECRET}{special}"):
        fault = address_fault("redis", form.format(password))
        assert SECRET not in (fault or "")


def test_the_representation_of_a_place_shows_neither_password_nor_options() -> None:
    place = parse("redis+sentinel://u:hunter2@h/main?sentinel_password=hunter3")
    assert "hunter" not in repr(place)
    assert "'u'" in repr(place)


def test_a_place_can_be_a_key_and_cannot_be_changed() -> None:
    place = parse("redis://h?health_check_interval=1")
    assert {place: 1}[parse("redis://h?health_check_interval=1")] == 1
    with pytest.raises(TypeError):
        place.options["db"] = "1"  # type: ignore[index]
