"""LangGraph's savers on Redis: every operation described once, run sync or async."""

import asyncio
import random
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from stores.options import StoreOptions
from stores.redis.checkpoints import Checkpoints
from stores.redis.connection import AsyncConnection, Connection
from stores.redis.history import delta_history
from stores.redis.listing import Listing
from stores.redis.records import Codec
from stores.redis.requests import Result, Steps
from stores.redis.rewriting import Rewrites


class _Saver(BaseCheckpointSaver[str]):
    """Both APIs over one description; a subclass says how an operation is run."""

    def __init__(self, codec: Codec, options: StoreOptions, *, keeps_format: bool) -> None:
        super().__init__()
        self._checkpoints = Checkpoints(codec, options, keeps_format=keeps_format)
        self._rewrites = Rewrites(self._checkpoints, options)

    @abstractmethod
    def _run(self, steps: Steps[Result]) -> Result:
        """Carry out an operation for a sync caller."""

    @abstractmethod
    async def _arun(self, steps: Steps[Result]) -> Result:
        """Carry out an operation for an async caller."""

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
            CheckpointSerializationError: A value cannot be encoded.
        """
        return self._run(self._checkpoints.put(config, checkpoint, metadata, new_versions))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Async twin of ``put``."""
        return await self._arun(self._checkpoints.put(config, checkpoint, metadata, new_versions))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save the writes of a task; its checkpoint may come later."""
        self._run(self._checkpoints.put_writes(config, writes, task_id, task_path))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Async twin of ``put_writes``."""
        await self._arun(self._checkpoints.put_writes(config, writes, task_id, task_path))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint, by default the newest of its namespace."""
        return self._run(self._checkpoints.get(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Async twin of ``get_tuple``."""
        return await self._arun(self._checkpoints.get(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Read checkpoints, newest first, page by page.

        Args:
            config: The thread; with a ``checkpoint_ns`` one namespace, else all of them; with a
                ``checkpoint_id`` that checkpoint alone. None lists all threads, newest first by
                id as far as ids are LangGraph's own.
            filter: What the metadata must contain: mappings and lists may hold more.
            before: A config whose ``checkpoint_id`` all ids must sort before.
            limit: The most checkpoints to read.
        """
        listing = Listing(self._checkpoints, config, filter, before, limit)
        while not listing.is_done:
            yield from self._run(listing.page())

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Async twin of ``list``."""
        listing = Listing(self._checkpoints, config, filter, before, limit)
        while not listing.is_done:
            for item in await self._arun(listing.page()):
                yield item

    def delete_thread(self, thread_id: str) -> None:
        """Delete all of a thread, at the application's own word; no hold keeps it.

        The ledger's entry goes too, hold included: it lives and dies with its thread.
        """
        self._run(self._checkpoints.delete(str(thread_id)))

    async def adelete_thread(self, thread_id: str) -> None:
        """Async twin of ``delete_thread``."""
        await self._arun(self._checkpoints.delete(str(thread_id)))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread, but no mark, declaration or hold.

        What the target holds already stays, but for places that the source has too. The copy lives
        as long as a thread written now.
        """
        self._run(self._rewrites.copy(str(source_thread_id), str(target_thread_id)))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Async twin of ``copy_thread``."""
        await self._arun(self._rewrites.copy(str(source_thread_id), str(target_thread_id)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Drop checkpoints of threads; those that are held are left alone.

        ``keep_latest`` keeps the newest checkpoint of each namespace with its writes, and the
        ancestors that a delta channel of it is rebuilt from; a finished call of a subgraph goes
        with its caller. ``delete`` keeps nothing. No thread lives longer or shorter for it.

        Raises:
            ValueError: The strategy is unknown.
            TypeError: ``thread_ids`` is one text.
            StoreUnavailableError: A thread changes all the time.
        """
        self._run(self._rewrites.prune(thread_ids, strategy))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Async twin of ``prune``."""
        await self._arun(self._rewrites.prune(thread_ids, strategy))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints whose metadata name these runs, with their writes.

        What followed them follows their parents then.

        Raises:
            NotImplementedError: What stays could no longer rebuild a delta channel; nothing is
                deleted then.
            StoreUnavailableError: A thread changes all the time.
        """
        self._run(self._rewrites.delete_for_runs(run_ids))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Async twin of ``delete_for_runs``."""
        await self._arun(self._rewrites.delete_for_runs(run_ids))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What channels are rebuilt from: their writes since the nearest value, and that value."""
        return self._run(delta_history(self._checkpoints, config, channels))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Async twin of ``get_delta_channel_history``."""
        return await self._arun(delta_history(self._checkpoints, config, channels))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The version after this one, in the official savers' form, so that threads can move.

        It sorts above the one before, and no other branch of the thread comes to the same.
        """
        count = int(str(current or 0).partition(".")[0]) + 1
        return f"{count:032}.{random.random():016}"  # noqa: S311  # no secret


class RedisRetentionSaver(_Saver):
    """For sync callers; an async one has each operation run in a thread of its own."""

    def __init__(
        self,
        connection: Connection,
        codec: Codec,
        options: StoreOptions,
        *,
        keeps_format: bool = False,
    ) -> None:
        """Save through this connection; ``keeps_format`` as for ``Checkpoints``."""
        super().__init__(codec, options, keeps_format=keeps_format)
        self._connection = connection

    def _run(self, steps: Steps[Result]) -> Result:
        return self._connection.run(steps)

    async def _arun(self, steps: Steps[Result]) -> Result:
        return await asyncio.to_thread(self._connection.run, steps)


class AsyncRedisRetentionSaver(_Saver):
    """For async callers; a sync one may be in any other thread than that of the saver's loop."""

    def __init__(
        self,
        connection: AsyncConnection,
        codec: Codec,
        options: StoreOptions,
        *,
        keeps_format: bool = False,
    ) -> None:
        """Save through this connection, in the loop that runs now."""
        super().__init__(codec, options, keeps_format=keeps_format)
        self._connection = connection
        self._loop = asyncio.get_running_loop()

    def _run(self, steps: Steps[Result]) -> Result:
        if _running_loop() is self._loop:
            steps.close()
            raise asyncio.InvalidStateError(
                "a sync call of an async saver would wait for its own event loop: await the"
                " method whose name begins with an a, or call from another thread"
            )
        return asyncio.run_coroutine_threadsafe(self._arun(steps), self._loop).result()

    async def _arun(self, steps: Steps[Result]) -> Result:
        return await self._connection.run(steps)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
