"""redis-py's errors as this project's."""

from collections.abc import Iterator
from contextlib import contextmanager

from redis import exceptions

from retention.errors import ConfigurationError, StoreError, StoreUnavailableError

#: What no other try can help. A refused password is a ConnectionError too.
_REFUSALS = (
    exceptions.AuthenticationError,
    exceptions.AuthenticationWrongNumberOfArgsError,
    exceptions.AuthorizationError,
    exceptions.NoPermissionError,
)
#: What passes: the server is away, starting, failing over, or full.
_PASSING = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ClusterError,
    exceptions.ReadOnlyError,
    exceptions.TryAgainError,
    exceptions.OutOfMemoryError,
    exceptions.RedisClusterException,
    OSError,
)
#: What no other try can help either, though redis-py gives it the class of a server that is away.
_WRONG_ADDRESS = (
    "Cluster mode is not enabled",
    "CERTIFICATE_VERIFY_FAILED",
    "DB index is out of range",
)
#: What redis-py says where every node that it asked sent it to another one or to later.
_NO_NODE = "TTL exhausted."
#: Where redis-py begins to print its own objects behind what happened.
_OBJECTS = " : <redis."

#: How release 6.2 passes on what a call within a script met: inside an error of the script.
_PASSING_IN_SCRIPT = ("-OOM ", "-READONLY ")


@contextmanager
def translated() -> Iterator[None]:
    """Turn redis-py's errors into this project's, each as one line.

    Raises:
        ConfigurationError: The server refuses the user or a command, or is no cluster.
        StoreUnavailableError: The server cannot be reached, is not ready, or is full.
        StoreError: Anything else it refuses.
    """
    try:
        yield
    except (exceptions.RedisError, exceptions.RedisClusterException, OSError) as error:
        raise translate(error) from error


def translate(error: Exception) -> Exception:
    """This project's error for one of redis-py's."""
    said = " ".join(str(error).split()).partition(_OBJECTS)[0]
    if said == _NO_NODE:
        said = "no node of the cluster takes the call: its slot is on the way to another one"
    line = f"Redis: {said or type(error).__name__}"
    if isinstance(error, _REFUSALS) or any(wrong in said for wrong in _WRONG_ADDRESS):
        return ConfigurationError(line)
    is_passing = isinstance(error, _PASSING) or any(sign in said for sign in _PASSING_IN_SCRIPT)
    return StoreUnavailableError(line) if is_passing else StoreError(line)
