"""The addresses of Redis stores, taken apart. Nothing is connected to, and no driver needed.

::

    redis://[user:password@]host[:port][/database]        rediss:// is the same over TLS
    unix://[user:password@]/path[?db=database]
    redis+sentinel://[user:password@]host[:port],…/service[/database]
    redis+cluster://[user:password@]host[:port],…

What a URL gives a meaning of its own (``/ ? # @ : %``) is percent-encoded in user, password, path
and service. Options follow the ``?``.
"""

import difflib
import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NoReturn
from urllib.parse import unquote

from retention.errors import ConfigurationError

Kind = Literal["single", "unix", "sentinel", "cluster"]

SCHEMES: Mapping[str, Kind] = MappingProxyType(
    {
        "redis": "single",
        "rediss": "single",
        "unix": "unix",
        "redis+sentinel": "sentinel",
        "redis+cluster": "cluster",
    }
)
"""What is found at an address of each scheme."""

_PORT = 6379
_SENTINEL_PORT = 26379
_BOOLEANS = frozenset({"ssl_check_hostname", "tls"})
_SSL = frozenset(
    {"ssl_cert_reqs", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname"}
)
_SENTINEL = frozenset({"sentinel_username", "sentinel_password"})
_OF_ALL = frozenset({"health_check_interval"})
_KNOWN: Mapping[Kind, frozenset[str]] = {
    "single": _OF_ALL | _SSL,
    "unix": _OF_ALL | {"db"},
    "sentinel": _OF_ALL | _SSL | _SENTINEL | {"tls"},
    "cluster": _OF_ALL | _SSL | {"tls"},
}
# What an option's value must be, where not any text will do.
_RULES: Mapping[str, tuple[re.Pattern[str], str]] = {
    "db": (re.compile(r"[0-9]{1,9}"), "a database number from 0 up"),
    "health_check_interval": (re.compile(r"[0-9]{1,9}"), "a whole number of seconds"),
    "ssl_cert_reqs": (re.compile("none|optional|required"), "none, optional or required"),
    "ssl_check_hostname": (re.compile("true|false"), "true or false"),
    "tls": (re.compile("true|false"), "true or false"),
}
# Where these were meant, as other programs write them so.
_ELSEWHERE: Mapping[tuple[Kind, str], str] = {
    ("single", "db"): "the database follows the host, as in redis://host:6379/1",
    ("single", "tls"): "TLS is asked for by rediss://",
    ("sentinel", "db"): "the database follows the service, as in …/service/1",
    ("cluster", "db"): "a cluster has no database to choose",
}
_HOST = re.compile(r"[\w.-]+")
_DATABASE = re.compile(r"[0-9]{1,9}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_OPTION = re.compile(r"[a-z_]+")


@dataclass(frozen=True, slots=True)
class RedisPlace:
    """Where a Redis store is.

    ``nodes`` are hosts with their ports: the server, the sentinels, or some nodes of the cluster;
    none for a Unix socket, whose file is ``path``. ``service`` is the name by which sentinels know
    the master. ``options`` are the parameters that were given, as text, by the driver's names.
    Neither the password nor the options are in the representation.
    """

    kind: Kind
    nodes: tuple[tuple[str, int], ...] = ()
    tls: bool = False
    path: str | None = None
    database: int = 0
    service: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}), repr=False, hash=False
    )


def parse(address: str) -> RedisPlace:
    """Take an address apart.

    Raises:
        ConfigurationError: Its form is wrong. The one line says what is, and shows no part of the
            address in which a password could stand.
    """
    scheme, separator, rest = address.partition("://")
    kind = SCHEMES.get(scheme)
    if not separator or kind is None:
        _refuse("an address that begins with " + " or ".join(f"{name}://" for name in SCHEMES))
    if _CONTROL.search(rest):
        _refuse("an address without control characters")
    authority, path, query = _split(kind, rest)
    user_info, at, hosts = authority.rpartition("@")
    username, password = _user(user_info) if at else (None, None)
    options = _options(kind, query)
    return RedisPlace(
        kind=kind,
        nodes=_nodes(kind, hosts),
        tls=_tls(scheme, options),
        path=_socket(path) if kind == "unix" else None,
        database=_database(kind, path, options),
        service=_service(path) if kind == "sentinel" else None,
        username=username,
        password=password,
        options=MappingProxyType(options),
    )


def _refuse(needed: str) -> NoReturn:
    raise ConfigurationError(f"redis needs {needed}")


def _decoded(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        _refuse("UTF-8 in what is percent-encoded")


def _split(kind: Kind, rest: str) -> tuple[str, str, str]:
    """User and hosts, path, and query."""
    before, _, query = rest.partition("?")
    authority, slash, path = before.partition("/")
    # A special character in a password ends a part too early, and the rest would be taken for a
    # port or a parameter. Only the path of a socket may hold one as it is.
    in_path = "@" in path and (kind != "unix" or authority)
    if "#" in rest or "@" in query or in_path:
        _refuse("/ ? # and @ written as %2F %3F %23 and %40 within its parts (as in a password)")
    return authority, slash + path, query


def _user(text: str) -> tuple[str | None, str | None]:
    username, colon, password = text.partition(":")
    if not colon:
        _refuse("user:password@ or :password@ before its host")
    return _decoded(username) or None, _decoded(password) or None


def _nodes(kind: Kind, hosts: str) -> tuple[tuple[str, int], ...]:
    if kind == "unix":
        if hosts:
            _refuse("the path of its socket from the root, as in unix:///run/redis.sock")
        return ()
    nodes = tuple(_node(text, kind) for text in hosts.split(","))
    if kind == "single" and len(nodes) > 1:
        _refuse("redis+sentinel:// or redis+cluster:// before several hosts")
    if len(set(nodes)) < len(nodes):
        _refuse("each of its hosts named once")
    return nodes


def _node(text: str, kind: Kind) -> tuple[str, int]:
    if text.startswith("["):
        host, bracket, after = text[1:].partition("]")
        wrong = not (bracket and _is_ipv6(host)) or after[:1] not in {"", ":"}
        colon, port = after[:1], after[1:]
    else:
        host, colon, port = text.partition(":")
        wrong = _HOST.fullmatch(host) is None
    if ":" in port:
        _refuse("an IPv6 host in brackets, as in redis://[::1]:6379")
    if wrong:
        _refuse("hosts of letters, digits, dots and dashes, or IPv6 in brackets, none empty")
    return host, _port(port) if colon else (_SENTINEL_PORT if kind == "sentinel" else _PORT)


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def _port(text: str) -> int:
    number = int(text) if re.fullmatch("[0-9]{1,5}", text) else 0
    if not 1 <= number <= 65_535:
        _refuse("a port from 1 to 65535 after the colon behind its host")
    return number


def _socket(path: str) -> str:
    if path in {"", "/"}:
        _refuse("the path of its socket from the root, as in unix:///run/redis.sock")
    found = _decoded(path)
    if _CONTROL.search(found):
        _refuse("a path of its socket without control characters")
    return found


def _database(kind: Kind, path: str, options: dict[str, str]) -> int:
    if kind == "unix":
        return int(options.pop("db", "0"))
    text = path.removeprefix("/")
    if kind == "cluster" and text:
        _refuse("no database on a cluster: leave out what follows its hosts")
    if kind == "sentinel":
        text = text.partition("/")[2]
    if text and not _DATABASE.fullmatch(text):
        _refuse("a database number from 0 up at the end of its path")
    return int(text or "0")


def _service(path: str) -> str:
    service = _decoded(path.removeprefix("/").partition("/")[0])
    if not service:
        _refuse("the name of a service after its sentinels, as in redis+sentinel://host/service/0")
    return service


def _tls(scheme: str, options: dict[str, str]) -> bool:
    tls = scheme == "rediss" or options.pop("tls", None) == "true"
    useless = _SSL & set(options)
    if useless and not tls:
        how = "begin with rediss://" if scheme == "redis" else "add tls=true"
        _refuse(f"TLS for its {min(useless)}: {how}")
    return tls


def _options(kind: Kind, query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for name, value in _pairs(query):
        if name not in _KNOWN[kind]:
            _refuse_option(kind, name)
        if name in options:
            _refuse(f"its parameter {name} once only")
        pattern, rule = _RULES.get(name, (None, "a value"))
        options[name] = value.lower() if name in _BOOLEANS else value
        if not value or (pattern is not None and not pattern.fullmatch(options[name])):
            _refuse(f"{rule} for its parameter {name}")
    return options


def _pairs(query: str) -> Iterator[tuple[str, str]]:
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        if not _OPTION.fullmatch(name):
            _refuse("parameters of the form name=value&name=value after the ?")
        yield name, _decoded(value)


def _refuse_option(kind: Kind, name: str) -> NoReturn:
    if (kind, name) in _ELSEWHERE:
        _refuse(f"no parameter {name}: {_ELSEWHERE[kind, name]}")
    near = difflib.get_close_matches(name, _KNOWN[kind], n=1, cutoff=0.6)
    if near:
        _refuse(f"no parameter {name}: did you mean {near[0]}?")
    # What is like no known name may be a piece of a password, so it is not shown.
    _refuse(f"no parameters but {', '.join(sorted(_KNOWN[kind]))}")
