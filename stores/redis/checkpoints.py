"""The operations of a saver on single checkpoints and threads, described once."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)

from retention.errors import ThreadDeletedError, ThreadEndedError
from stores.configurable import with_text_id
from stores.options import StoreOptions
from stores.redis.formats import record_format
from stores.redis.layout import bucket_of, raw, text
from stores.redis.records import Codec, Place, Records
from stores.redis.requests import Arg, Call, Steps, one
from stores.redis.scripts import Script, thread_script

_PUT = thread_script("put", "step")
_PUT_WRITES = thread_script("put_writes", "step")
_DELETE = thread_script("delete_thread")
_READ = thread_script("read", "places")

#: What a script answers that wrote the first thread of a bucket.
_FIRST = 2


def place_of(config: RunnableConfig, checkpoint_id: str | None = None) -> Place:
    """Where a config points; an empty id where it names no checkpoint."""
    configurable = with_text_id(config)["configurable"]
    namespace = configurable.get("checkpoint_ns") or ""
    named = checkpoint_id or configurable.get("checkpoint_id") or ""
    return Place(configurable["thread_id"], namespace, named)


def calls_at(script: Script, places: Sequence[Place]) -> list[Call]:
    """Calls that read at places, one for those of a thread that follow each other."""
    return [
        Call(script, bucket_of(thread_id), [raw(thread_id), *(arg for p in run for arg in p.args)])
        for thread_id, run in groupby(places, lambda place: place.thread_id)
    ]


class Checkpoints:
    """Puts, reads and deletes; each operation is run by a connection."""

    def __init__(self, codec: Codec, options: StoreOptions, *, keeps_format: bool = False) -> None:
        """Keep values in this codec's bytes, for as long as the options say.

        ``keeps_format`` is for a store whose format was checked: it is recorded anew where the
        server lost its data since.
        """
        self.records = Records(codec)
        self._options = options
        self._keeps_format = keeps_format

    @property
    def retentions(self) -> tuple[int, int]:
        """The platform's waiting retention and the saver's own, in milliseconds."""
        policy = self._options.policy
        own = policy.for_thread(self._options.retention)
        return policy.waiting_minutes * 60_000, own.waiting_minutes * 60_000

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Steps[RunnableConfig]:
        """Save a checkpoint; the result is its config.

        Raises:
            ThreadDeletedError: Its parent is gone.
            ThreadEndedError: An operator ended the thread.
            CheckpointSerializationError: A value cannot be encoded.
        """
        place = place_of(config, checkpoint["id"])
        args = self.records.put_args(place, config, checkpoint, metadata, new_versions)
        saved = yield from self._write(_PUT, place, args)
        if isinstance(saved, list):
            raise ThreadEndedError(place.thread_id, *map(text, saved))
        if not saved:
            raise ThreadDeletedError(place.thread_id, get_checkpoint_id(config) or "")
        return place.config

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> Steps[None]:
        """Keep the writes of a task, whether or not their checkpoint is there yet."""
        if writes:
            place = place_of(config)
            args = [*place.args, raw(task_id), raw(task_path), *self.records.write_args(writes)]
            yield from self._write(_PUT_WRITES, place, args)

    def get(self, config: RunnableConfig) -> Steps[CheckpointTuple | None]:
        """The checkpoint that a config names, or the newest of its namespace."""
        (found,) = yield from self.read([place_of(config)])
        return found

    def read(self, places: Sequence[Place]) -> Steps[list[CheckpointTuple | None]]:
        """The checkpoints at these places, in their order; None where there is none."""
        if not places:
            return []
        replies = yield calls_at(_READ, places)
        found = [record for reply in replies for record in reply]
        return [
            record and self.records.checkpoint(place, record)
            for place, record in zip(places, found, strict=True)
        ]

    def delete(self, thread_id: str) -> Steps[None]:
        """Delete a thread and all that is known of it."""
        yield from one(_DELETE, bucket_of(thread_id), raw(thread_id))

    def _write(self, script: Script, place: Place, args: Sequence[Arg]) -> Steps[Any]:
        begin: list[Arg] = [raw(place.thread_id), *self.retentions]
        reply = yield from one(script, bucket_of(place.thread_id), *begin, *args)
        if self._keeps_format and reply == _FIRST:
            yield from record_format(self._options.clock())
        return reply
