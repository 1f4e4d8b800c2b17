"""Thread ids as owners give them: any string is one, an empty one included."""

from collections.abc import Collection

from retention.errors import ConfigurationError


def named(thread_ids: Collection[object]) -> list[str]:
    """Thread ids as text, each once; a single text is one id.

    Raises:
        ConfigurationError: One is None, as of a setting that is missing.
    """
    ids = [thread_ids] if isinstance(thread_ids, str) else thread_ids
    return list(dict.fromkeys(map(named_one, ids)))


def named_one(thread_id: object) -> str:
    """One thread id as text.

    Raises:
        ConfigurationError: It is None.
    """
    if thread_id is None:
        raise ConfigurationError("a thread id must be a text, not None")
    return str(thread_id)
