"""The official SQLite savers, with a put that tells a deleted thread."""

import json
from collections.abc import Iterable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from retention.errors import ThreadDeletedError, ThreadEndedError
from stores.configurable import with_text_id
from stores.relational.statements import load

_SQL = load("stores.sqlite", "put.sql")


class RetentionSqliteSaver(SqliteSaver):
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
        params = _put_params(self.serde, config, checkpoint, metadata)
        ended = None
        with self.cursor() as cursor:
            saved = cursor.execute(_SQL["put"], params).rowcount
            if not saved:
                ended = cursor.execute(_SQL["ended"], params).fetchone()
        return _saved(params, saved, ended)

    def delete_thread(self, thread_id: str) -> None:
        """Delete every checkpoint and write of a thread, at the application's own word.

        No hold keeps it: a hold exempts from sweeps and from an operator's erase. The ledger's
        entry stays, hold included, until a sweep finds nothing left or the hold is released.
        """
        super().delete_thread(thread_id)


class AsyncRetentionSqliteSaver(AsyncSqliteSaver):
    """Async twin of ``RetentionSqliteSaver``."""

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
        await self.setup()
        params = _put_params(self.serde, config, checkpoint, metadata)
        ended = None
        async with self.lock, self.conn.cursor() as cursor:
            await cursor.execute(_SQL["put"], params)
            saved = cursor.rowcount
            if not saved:
                await cursor.execute(_SQL["ended"], params)
                ended = await cursor.fetchone()
            await self.conn.commit()
        return _saved(params, saved, ended)

    async def adelete_thread(self, thread_id: str) -> None:
        """Async twin of ``RetentionSqliteSaver.delete_thread``."""
        await super().adelete_thread(thread_id)


def _put_params(
    serde: SerializerProtocol,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
) -> dict[str, Any]:
    configurable = with_text_id(config)["configurable"]
    kind, encoded = serde.dumps_typed(checkpoint)
    described = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False)
    return {
        "thread_id": configurable["thread_id"],
        "ns": configurable["checkpoint_ns"],
        "id": checkpoint["id"],
        "parent": configurable.get("checkpoint_id"),
        "type": kind,
        "checkpoint": encoded,
        "metadata": described.encode("utf-8", "ignore"),
    }


def _saved(params: dict[str, Any], rows: int, ended: Iterable[str] | None) -> RunnableConfig:
    """The config of a checkpoint that was saved; ``ended`` is who ended its thread, and why."""
    if ended is not None:
        by, reason = ended
        raise ThreadEndedError(params["thread_id"], by, reason)
    if rows == 0:
        raise ThreadDeletedError(params["thread_id"], params["parent"])
    return {
        "configurable": {
            "thread_id": params["thread_id"],
            "checkpoint_ns": params["ns"],
            "checkpoint_id": params["id"],
        }
    }
