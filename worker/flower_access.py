"""Who reaches Flower: it shows every task and lets its user stop workers."""

import ipaddress
from typing import Any

import click

from retention.errors import ConfigurationError

LOOPBACK = "127.0.0.1"
"""Where Flower listens unless told otherwise; by itself it would listen on every interface."""


def check_access(options: Any) -> None:
    """Let Flower listen on this machine alone, or ask for a password.

    Args:
        options: Flower's options, as tornado has them; a missing address is set.

    Raises:
        ConfigurationError: It would listen for other machines and ask nobody who they are, or a
            password is none.
    """
    for entry in options.basic_auth or ():
        user, _, password = entry.partition(":")
        if not user or not password:
            raise ConfigurationError(
                "FLOWER_BASIC_AUTH (--basic-auth) is refused: user:password is needed, several "
                "joined by commas"
            )
    options.address = options.address or LOOPBACK
    if options.unix_socket or options.basic_auth or options.auth or is_loopback(options.address):
        return
    raise ConfigurationError(
        f"flower --address={options.address} is refused, as it would ask nobody for a password: "
        f"set FLOWER_BASIC_AUTH=user:password, or listen on {LOOPBACK}"
    )


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address; of a name that is not known to be so."""
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address == "localhost"


def flower_options() -> Any:
    """Flower's options, where the command that runs is `celery flower`; None anywhere else."""
    context = click.get_current_context(silent=True)
    if context is None or context.info_name != "flower":
        return None
    from tornado.options import options

    return options
