"""Names of modules that an application allows the codec to import."""

from collections.abc import Collection
from typing import Any

from retention.errors import ConfigurationError

_LONGEST = 500


def is_module_name(name: Any) -> bool:
    """Whether something is a dotted module name, as ``myapp.state``."""
    return (
        isinstance(name, str)
        and len(name) <= _LONGEST
        and all(map(str.isidentifier, name.split(".")))
    )


def checked_modules(names: Collection[str], source: str = "allowed_modules") -> tuple[str, ...]:
    """Names of modules or packages, without doubles.

    Raises:
        ConfigurationError: One is no dotted module name; ``source`` is where they were given.
    """
    if isinstance(names, str):
        raise ConfigurationError(f"{source}={names!r} must be a collection of module names")
    for name in names:
        if not is_module_name(name):
            raise ConfigurationError(f"{source}: {name!r} is no module name, as 'myapp.state' is")
    return tuple(dict.fromkeys(names))
