"""Store addresses: which provider one belongs to, and what is wrong with its form."""

from typing import Literal

from retention.errors import ConfigurationError
from stores import redis_address

Provider = Literal["redis", "postgres", "sqlite", "memory"]

SCHEMES: dict[Provider, tuple[str, ...]] = {
    "redis": tuple(redis_address.SCHEMES),
    "postgres": ("postgresql", "postgres"),
    "sqlite": ("sqlite",),
    "memory": ("memory",),
}
"""The schemes of each provider's addresses; SQLite takes a bare path too."""


def provider_of(address: str) -> Provider | None:
    """Name the provider that an address belongs to, or None where its scheme is nobody's."""
    scheme, separator, _ = address.partition("://")
    if not separator:
        return "sqlite"
    return next((name for name, schemes in SCHEMES.items() if scheme in schemes), None)


def address_fault(provider: Provider, address: str) -> str | None:
    """Say what is wrong with an address of a provider, or None where nothing is.

    Only its form is looked at; nothing is opened.
    """
    if provider == "sqlite":
        return _sqlite_fault(address)
    if provider == "memory":
        return None if address == "memory://" else "memory takes no address but memory://"
    if provider == "redis":
        return _redis_fault(address)
    scheme, separator, _ = address.partition("://")
    if separator and scheme in SCHEMES[provider]:
        return None
    needed = " or ".join(f"{name}://" for name in SCHEMES[provider])
    return f"{provider} needs an address that begins with {needed}{_driver_hint(scheme)}"


def sqlite_path(address: str) -> str:
    """The path in a SQLite address: ``sqlite:///relative``, ``sqlite:////from/root`` or bare."""
    return address.removeprefix("sqlite:///")


def _driver_hint(scheme: str) -> str:
    base, separator, _ = scheme.partition("+")
    if not separator or base not in SCHEMES["postgres"]:
        return ""
    return f" (the driver in {scheme}:// is SQLAlchemy's own notation: leave it out)"


def _redis_fault(address: str) -> str | None:
    try:
        redis_address.parse(address)
    except ConfigurationError as error:
        return str(error)
    return None


def _sqlite_fault(address: str) -> str | None:
    scheme, separator, rest = address.partition("://")
    if separator:
        wrong = scheme != "sqlite" or not rest.startswith("/")
        path = rest.removeprefix("/")
    else:
        # SQLite's own URI and a URL with too few slashes would both become a file of that name.
        wrong = address.startswith(("file:", "sqlite:"))
        path = address
    if path == ":memory:":
        return "a database in memory is gone with its connection: choose the provider memory"
    if wrong or not path or "\0" in path:
        return "sqlite needs a path, bare or as sqlite:///path (sqlite:////path from the root)"
    return None
