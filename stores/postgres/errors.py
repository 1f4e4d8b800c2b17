"""psycopg's errors as this project's."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from retention.errors import (
    ConfigurationError,
    StoreError,
    StoreTimeoutError,
    StoreUnavailableError,
)

#: What a server says when it is there and does not let us in: no other try helps.
_REFUSALS = (
    "password authentication failed",
    "no password supplied",
    "does not exist",
    "no pg_hba.conf entry",
    "Peer authentication failed",
    # What the driver itself says of an address with a wrong option, such as sslmode=maybe.
    "invalid integer value",
    " value: ",
)

#: Passing troubles of one transaction: it may be the same threads every time, so that the batch
#: is halved rather than tried again as it was.
_OF_THE_ROWS = (errors.QueryCanceled, errors.LockNotAvailable)


@contextmanager
def translated() -> Iterator[None]:
    """Turn psycopg's errors into this project's, each as one line.

    Raises:
        ConfigurationError: The server refuses the user, the database or a right.
        StoreUnavailableError: The server cannot be reached, or broke the transaction off.
        StoreTimeoutError: A statement, or its wait for a lock, ran out of time.
        StoreError: Anything else it refuses.
    """
    try:
        yield
    except psycopg.Error as error:
        raise _translate(error) from error
    except UnicodeEncodeError as error:
        raise StoreError(f"PostgreSQL: {error.object[:40]!r} is no UTF-8 text") from error


@contextmanager
def awaiting_lock() -> Iterator[None]:
    """Say of a wait for threads that ran out of time that another try may work.

    Raises:
        StoreUnavailableError: Another transaction, such as a delete, held a thread for too long.
    """
    try:
        yield
    except errors.LockNotAvailable as error:
        raise StoreUnavailableError(f"PostgreSQL: {_first_sentence(error)}") from error


def _translate(error: psycopg.Error) -> Exception:
    line = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, errors.InsufficientPrivilege):
        return ConfigurationError(f"PostgreSQL: {_first_sentence(error)}: the role lacks a right")
    if isinstance(error, _OF_THE_ROWS):
        return StoreTimeoutError(f"PostgreSQL: {_first_sentence(error)}")
    if not isinstance(error, psycopg.OperationalError):
        return StoreError(f"PostgreSQL: {_first_sentence(error)}")
    if error.sqlstate is None and any(refusal in line for refusal in _REFUSALS):
        return ConfigurationError(f"PostgreSQL: {line}")
    return StoreUnavailableError(f"PostgreSQL: {line}")


def _first_sentence(error: psycopg.Error) -> str:
    """The server's own message, without the context it may quote data in."""
    return " ".join((error.diag.message_primary or str(error)).split())
