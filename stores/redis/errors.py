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
#: What redis-py says of a server that is no cluster, by the class of one that is away.
_NO_CLUSTER = "Cluster mode is not enabled"


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
    line = f"Redis: {' '.join(str(error).split()) or type(error).__name__}"
    if isinstance(error, _REFUSALS) or _NO_CLUSTER in line:
        return ConfigurationError(line)
    return StoreUnavailableError(line) if isinstance(error, _PASSING) else StoreError(line)
