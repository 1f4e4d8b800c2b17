"""Threads with a past, written through a real saver."""

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    Checkpoint,
    CheckpointMetadata,
    empty_checkpoint,
)
from langgraph.types import Interrupt

from retention.ids import lowest_id_at

#: The time between two checkpoints of a seeded thread.
STEP = timedelta(seconds=1)


def checkpoint_id_at(instant: datetime) -> str:
    """A checkpoint id as LangGraph would have minted it at an instant; each call's is another."""
    return lowest_id_at(instant)[:24] + uuid.uuid4().hex[:12]


def seed_thread(
    saver: BaseCheckpointSaver[Any],
    thread_id: str,
    at: datetime,
    checkpoints: int = 1,
    *,
    namespace: str = "",
    parent: str | None = None,
    interrupted: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> list[str]:
    """Write a thread whose head is of an instant; each checkpoint has two channels and a write.

    Args:
        saver: A sync saver, this project's or a stock one.
        thread_id: The thread; one that exists is continued if `parent` is given.
        at: The instant of its newest checkpoint; the earlier ones lie `STEP` apart before it.
        checkpoints: How many checkpoints to write.
        namespace: The namespace of all of them.
        parent: The id of the checkpoint that the first one follows; None makes it a root.
        interrupted: Whether the head is parked on an interrupt.
        metadata: What the metadata of each checkpoint says besides.

    Returns:
        The ids of the checkpoints, oldest first.
    """
    ids: list[str] = []
    version: Any = None
    for step in range(checkpoints):
        instant = at - STEP * (checkpoints - 1 - step)
        version = saver.get_next_version(version, None)
        config = saver.put(
            config_of(thread_id, namespace, ids[-1] if ids else parent),
            _checkpoint(instant, step, version),
            _metadata(step, metadata or {}),
            {"messages": version, "count": version},
        )
        saver.put_writes(config, [("messages", f"write of step {step}")], str(uuid.uuid4()))
        ids.append(config["configurable"]["checkpoint_id"])
    if interrupted:
        park(saver, thread_id, ids[-1], namespace=namespace)
    return ids


def seed_threads(
    saver: BaseCheckpointSaver[Any], prefix: str, count: int, at: datetime, checkpoints: int = 1
) -> list[str]:
    """Write several threads of the same age; returns their ids, in order."""
    thread_ids = [f"{prefix}-{number:04}" for number in range(count)]
    for thread_id in thread_ids:
        seed_thread(saver, thread_id, at, checkpoints)
    return thread_ids


def park(
    saver: BaseCheckpointSaver[Any], thread_id: str, checkpoint_id: str, *, namespace: str = ""
) -> None:
    """Let a run wait for an answer at a checkpoint."""
    question = [("__interrupt__", (Interrupt(value="go on?"),))]
    saver.put_writes(config_of(thread_id, namespace, checkpoint_id), question, str(uuid.uuid4()))


def config_of(
    thread_id: str, namespace: str = "", checkpoint_id: str | None = None
) -> RunnableConfig:
    """The config that names a thread, or one of its checkpoints."""
    place: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": namespace}
    if checkpoint_id is not None:
        place["checkpoint_id"] = checkpoint_id
    return {"configurable": place}


def _checkpoint(instant: datetime, step: int, version: str | float) -> Checkpoint:
    checkpoint = empty_checkpoint()
    checkpoint["id"] = checkpoint_id_at(instant)
    checkpoint["ts"] = instant.isoformat()
    # One value that PostgreSQL keeps inline, and one that it keeps as a blob.
    checkpoint["channel_values"] = {"messages": [f"message of step {step}"], "count": step}
    checkpoint["channel_versions"] = {"messages": version, "count": version}
    return checkpoint


def _metadata(step: int, more: Mapping[str, Any]) -> CheckpointMetadata:
    return cast(CheckpointMetadata, {"source": "loop", "step": step, "parents": {}, **more})
