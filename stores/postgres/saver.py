"""The official PostgreSQL savers, with a put that tells a deleted thread."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.postgres.base import BasePostgresSaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from psycopg.types.json import Jsonb

from retention.errors import ThreadDeletedError, ThreadEndedError
from stores.configurable import with_text_id
from stores.postgres.database import statements

_SQL = statements("stores.postgres", "put.sql")


@dataclass(frozen=True, slots=True)
class _Put:
    """One put as its statements need it."""

    params: dict[str, Any]
    blobs: Sequence[Sequence[Any]]

    def saved(self, row: Mapping[str, Any] | None) -> RunnableConfig:
        """The config of the checkpoint, by the row of the put.

        Raises:
            ThreadEndedError: An operator ended the thread.
            ThreadDeletedError: Its parent is gone.
        """
        thread_id, parent = self.params["thread_id"], self.params["parent"]
        assert row is not None, "the statement always answers with one row"
        if row["ended_reason"] is not None:
            raise ThreadEndedError(thread_id, row["ended_by"], row["ended_reason"])
        if not row["saved"]:
            raise ThreadDeletedError(thread_id, parent)
        return {
            "configurable": {
                "thread_id": thread_id,
                "checkpoint_ns": self.params["ns"],
                "checkpoint_id": self.params["id"],
            }
        }


class RetentionPostgresSaver(PostgresSaver):
    """Refuses a checkpoint whose parent is gone, so that no hollow thread comes about."""

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
        put = _prepare(self, config, checkpoint, metadata, new_versions)
        with self._cursor() as cursor, cursor.connection.transaction():
            cursor.execute(_SQL["lock"], put.params)
            if put.blobs:
                cursor.executemany(self.UPSERT_CHECKPOINT_BLOBS_SQL, put.blobs)
            return put.saved(cursor.execute(_SQL["put"], put.params).fetchone())

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save the writes of a task; its checkpoint may come later."""
        super().put_writes(with_text_id(config), writes, task_id, task_path)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint, by default the newest."""
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
        yield from super().list(config, filter=filter, before=before, limit=limit)

    def delete_thread(self, thread_id: str) -> None:
        """Delete every checkpoint, write and blob of a thread, at the application's own word.

        Its asks and barriers go too. No hold keeps it: a hold exempts from sweeps and from an
        operator's erase. The ledger's entry stays, hold included, until a sweep finds nothing left
        or the hold is released.
        """
        params = {"thread_id": str(thread_id)}
        with self._cursor() as cursor, cursor.connection.transaction():
            cursor.execute(_SQL["lock_alone"], params)
            cursor.execute(_SQL["delete"], params)


class AsyncRetentionPostgresSaver(AsyncPostgresSaver):
    """Async twin of ``RetentionPostgresSaver``."""

    async def aput(
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
        put = _prepare(self, config, checkpoint, metadata, new_versions)
        async with self._cursor() as cursor, cursor.connection.transaction():
            await cursor.execute(_SQL["lock"], put.params)
            if put.blobs:
                await cursor.executemany(self.UPSERT_CHECKPOINT_BLOBS_SQL, put.blobs)
            await cursor.execute(_SQL["put"], put.params)
            return put.saved(await cursor.fetchone())

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save the writes of a task; its checkpoint may come later."""
        await super().aput_writes(with_text_id(config), writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read one checkpoint, by default the newest."""
        return await super().aget_tuple(with_text_id(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Read checkpoints, newest first."""
        config = with_text_id(config) if config else None
        async for item in super().alist(config, filter=filter, before=before, limit=limit):
            yield item

    async def adelete_thread(self, thread_id: str) -> None:
        """Async twin of ``RetentionPostgresSaver.delete_thread``."""
        params = {"thread_id": str(thread_id)}
        async with self._cursor() as cursor, cursor.connection.transaction():
            await cursor.execute(_SQL["lock_alone"], params)
            await cursor.execute(_SQL["delete"], params)


def _prepare(
    saver: BasePostgresSaver,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    new_versions: ChannelVersions,
) -> _Put:
    """Encode a checkpoint in the official row shape."""
    configurable = with_text_id(config)["configurable"]
    thread_id, namespace = configurable["thread_id"], configurable["checkpoint_ns"]
    inline, apart = _split(checkpoint["channel_values"])
    versions = {channel: v for channel, v in new_versions.items() if channel in apart}
    params = {
        "thread_id": thread_id,
        "ns": namespace,
        "id": checkpoint["id"],
        "parent": configurable.get("checkpoint_id"),
        "checkpoint": Jsonb({**checkpoint, "channel_values": inline}),
        "metadata": Jsonb(get_serializable_checkpoint_metadata(config, metadata)),
    }
    return _Put(params, saver._dump_blobs(thread_id, namespace, apart, versions))  # noqa: SLF001


def _split(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values that the official saver keeps within the checkpoint's JSON, and those it does not.

    A delta snapshot leaves a ``true`` in the JSON beside its blob.
    """
    inline: dict[str, Any] = {}
    apart: dict[str, Any] = {}
    for channel, value in values.items():
        if isinstance(value, _DeltaSnapshot):
            inline[channel], apart[channel] = True, value
        elif value is None or isinstance(value, str | int | float | bool):
            inline[channel] = value
        else:
            apart[channel] = value
    return inline, apart
