"""Thread ids as owners give them.

What another saver wrote under an empty id can still be held, ended, erased and swept.
"""

from collections.abc import Collection

from retention.errors import ConfigurationError


def named(thread_ids: Collection[object]) -> list[str]:
    """Thread ids as text, each once; a single text is one id.

    Raises:
        ConfigurationError: One is empty or None: by that nobody could find the thread again.
    """
    ids = [thread_ids] if isinstance(thread_ids, str) else thread_ids
    return list(dict.fromkeys(map(named_one, ids)))


def named_one(thread_id: object) -> str:
    """One thread id as text.

    Raises:
        ConfigurationError: It is empty or None.
    """
    if thread_id is None or thread_id == "":
        raise ConfigurationError(f"a thread id must be a text that is not empty: {thread_id!r}")
    return str(thread_id)
