"""The library's in-memory saver, with a put that tells a deleted thread."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.memory import InMemorySaver

from retention.errors import ThreadDeletedError, ThreadEndedError
from retention.threads import Ended
from stores.configurable import with_text_id


class RetentionMemorySaver(InMemorySaver):
    """Writes under the lock that a sweep holds while it deletes. Its async methods are these."""

    def __init__(
        self, lock: threading.RLock, ended: Callable[[str], Ended | None] = lambda _: None
    ) -> None:
        """Share a lock with the sweep; ``ended`` tells threads that an operator ended."""
        super().__init__()
        self._lock = lock
        self._ended = ended

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint.

        Raises:
            ThreadDeletedError: Its parent is gone: the thread was deleted under the run.
            ThreadEndedError: An operator ended the thread.
        """
        config = with_text_id(config)
        configurable = config["configurable"]
        thread_id, parent = configurable["thread_id"], configurable.get("checkpoint_id")
        with self._lock:
            ended = self._ended(thread_id)
            if ended is not None:
                raise ThreadEndedError(thread_id, ended.by, ended.reason)
            held = self.storage.get(thread_id, {}).get(configurable["checkpoint_ns"], {})
            if parent is not None and parent not in held:
                raise ThreadDeletedError(thread_id, parent)
            return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save the writes of a task; its checkpoint may come later."""
        with self._lock:
            super().put_writes(with_text_id(config), writes, task_id, task_path)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint, by default the newest."""
        with self._lock:
            return super().get_tuple(with_text_id(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Read checkpoints, newest first."""
        config = with_text_id(config) if config else None
        with self._lock:
            found = [*super().list(config, filter=filter, before=before, limit=limit)]
        yield from found

    def delete_thread(self, thread_id: str) -> None:
        """Delete every checkpoint, write and blob of a thread, at the application's own word.

        No hold keeps it: a hold exempts from sweeps and from an operator's erase. The ledger's
        entry stays, hold included, until a sweep finds nothing left or the hold is released.
        """
        with self._lock:
            super().delete_thread(str(thread_id))
