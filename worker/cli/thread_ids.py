"""What the commands on one thread share: its id, who asks, and a thread that is none."""

import getpass
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from retention.errors import RetentionError

Command = TypeVar("Command", bound=Callable[..., Any])

#: An id that begins with a dash comes behind ``--``.
thread_argument = click.argument("thread_id", metavar="ID")

by_option = click.option(
    "--by", metavar="NAME", help="Who says so, for the record. Default: the user at this machine."
)


def unknown_thread(thread_id: str) -> RetentionError:
    """The error of a thread that the store does not have."""
    return RetentionError(f"no thread {thread_id!r} in this store")


def who(by: str | None) -> str:
    """The name for the record: the one given, else that of the user at this machine."""
    if by is not None:
        return by
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        # In a container the user may have a number and no name.
        return f"user {os.getuid()}"
