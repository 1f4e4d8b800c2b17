"""Checkpoints and writes as the scripts keep them, and back."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_serializable_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.types import TASKS

from retention.ids import newest_instant
from stores.redis.layout import joined, micros, raw, split, text
from stores.redis.requests import Arg

#: The longest text that is kept within its checkpoint; a longer one is kept once per version.
LONGEST_INLINE = 100

#: What an entry of a channel says of its value; see put.lua.
STORED, INLINE, PERHAPS_STORED = b"+", b"*", b"?"


class Codec(Protocol):
    """What turns values into bytes; ``path`` names the value in errors."""

    def encode(self, value: Any, path: str = "$") -> bytes:
        """The bytes of a value."""

    def decode(self, data: bytes, path: str = "$") -> Any:
        """The value of such bytes."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a checkpoint is: its thread, namespace and id."""

    thread_id: str
    namespace: str
    checkpoint_id: str

    @property
    def args(self) -> tuple[bytes, bytes]:
        """How the reading scripts are told of it, beside its thread."""
        return joined(self.namespace, ""), raw(self.checkpoint_id)

    @property
    def config(self) -> RunnableConfig:
        """The config that names it."""
        return {
            "configurable": {
                "thread_id": self.thread_id,
                "checkpoint_ns": self.namespace,
                "checkpoint_id": self.checkpoint_id,
            }
        }

    def other(self, checkpoint_id: str) -> "Place":
        """Another place in the same namespace."""
        return Place(self.thread_id, self.namespace, checkpoint_id)


class Records:
    """Encodes what the saver puts and decodes what it reads."""

    def __init__(self, codec: Codec) -> None:
        """Keep values in this codec's bytes."""
        self._codec = codec

    def put_args(
        self,
        place: Place,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> list[Arg]:
        """What put.lua is told after the thread and its retentions.

        Raises:
            CheckpointSerializationError: A value cannot be encoded.
        """
        described = get_serializable_checkpoint_metadata(config, metadata)
        instant = newest_instant([(checkpoint["id"], checkpoint.get("ts"))])
        inline, news, others = self._channels(checkpoint, new_versions)
        plain = {k: v for k, v in checkpoint.items() if k != "channel_versions"}
        return [
            *place.args,
            joined(place.checkpoint_id, place.namespace),
            raw(config["configurable"].get("checkpoint_id") or ""),
            raw(str((described.get("parents") or {}).get("", ""))),
            "" if instant is None else str(micros(instant)),
            raw(str(described.get("run_id") or "")),
            int(checkpoint.get("v") or 1),
            self._codec.encode(described, "$.metadata"),
            self._codec.encode({**plain, "channel_values": inline}, "$"),
            len(news) // 2,
            *news,
            *others,
        ]

    def _channels(
        self, checkpoint: Checkpoint, new_versions: ChannelVersions
    ) -> tuple[dict[str, Any], list[bytes], list[bytes]]:
        """Values kept in the body; new blobs, each after its entry; the other entries.

        As in the official savers, a value that is neither small nor new is what an earlier put
        stored under its version, and absent where none did.
        """
        values = checkpoint["channel_values"]
        inline = {channel: value for channel, value in values.items() if _is_small(value)}
        news: list[bytes] = []
        others: list[bytes] = []
        for channel, version in checkpoint["channel_versions"].items():
            name = joined(channel, json.dumps(version))
            if channel in inline:
                others.append(INLINE + name)
            elif channel in values and new_versions.get(channel) == version:
                path = f"$.channel_values.{channel}"
                news += STORED + name, self._codec.encode(values[channel], path)
            else:
                others.append(PERHAPS_STORED + name)
        return inline, news, others

    def write_args(self, writes: Iterable[tuple[str, Any]]) -> Iterator[Arg]:
        """What put_writes.lua is told of writes: number, channel and value of each.

        Raises:
            CheckpointSerializationError: A value cannot be encoded.
        """
        for number, (channel, value) in enumerate(writes):
            yield WRITES_IDX_MAP.get(channel, number)
            yield raw(channel)
            yield self._codec.encode(value, f"$.writes.{channel}")

    def metadata(self, data: bytes) -> CheckpointMetadata:
        """The metadata kept as these bytes."""
        return cast("CheckpointMetadata", self._codec.decode(data, "$.metadata"))

    def checkpoint(self, place: Place, reply: Sequence[Any]) -> CheckpointTuple:
        """One checkpoint as read.lua gave it.

        Raises:
            CheckpointSerializationError: A value cannot be read back.
        """
        name, parent, metadata, body, entries, blobs, writes, sends = reply
        place = place.other(text(name))
        checkpoint = self._body(body, entries, blobs)
        if sends:
            _migrate(checkpoint, [value for _, (_, _, value) in self.writes(sends)])
        return CheckpointTuple(
            place.config,
            checkpoint,
            self.metadata(metadata),
            place.other(text(parent)).config if parent else None,
            [write for _, write in self.writes(writes)],
        )

    def _body(self, body: bytes, entries: Sequence[bytes], blobs: Sequence[Any]) -> Checkpoint:
        checkpoint: Checkpoint = self._codec.decode(body, "$")
        values = checkpoint["channel_values"]
        stored = iter(blobs)
        versions: ChannelVersions = {}
        for entry in entries:
            channel, version = split(entry[1:], 2)
            versions[channel] = json.loads(version)
            if entry[:1] == STORED:
                values[channel] = self._codec.decode(next(stored), f"$.channel_values.{channel}")
        checkpoint["channel_versions"] = versions
        return checkpoint

    def value(self, body: bytes, channel: str) -> Any:
        """The value of a channel that is kept within its checkpoint."""
        return self._codec.decode(body, "$")["channel_values"][channel]

    def blob(self, data: bytes, channel: str) -> Any:
        """The value of a channel that is kept beside its checkpoint."""
        return self._codec.decode(data, f"$.channel_values.{channel}")

    def writes(self, flat: Sequence[Any]) -> list[tuple[tuple[str, str, int], PendingWrite]]:
        """Writes in the order in which a run applies them, each after what it is sorted by."""
        found = []
        for task, number, channel, value, path in zip(*[iter(flat)] * 5, strict=True):
            name, task_id = text(channel), text(task)
            decoded = self._codec.decode(value, f"$.writes.{name}")
            key = writes_sort_key(text(path), task_id, number)
            found.append((key, (task_id, name, decoded)))
        return sorted(found, key=_sort_key)


def _sort_key(write: tuple[tuple[str, str, int], PendingWrite]) -> tuple[str, str, int]:
    return write[0]


def _migrate(checkpoint: Checkpoint, sends: list[Any]) -> None:
    """Give a checkpoint of before version 4 its sends where newer ones have them."""
    versions = checkpoint["channel_versions"]
    checkpoint["channel_values"][TASKS] = sends
    versions[TASKS] = max(versions.values(), default=1)


def _is_small(value: Any) -> bool:
    """Whether a value costs less within its checkpoint than under a name of its own."""
    if isinstance(value, str):
        return len(value) <= LONGEST_INLINE
    return value is None or isinstance(value, int | float)
