"""What delta channels are rebuilt from, read many ancestors at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import DeltaChannelHistory, PendingWrite

from stores.redis.checkpoints import Checkpoints, place_of
from stores.redis.layout import bucket_of, raw, text
from stores.redis.records import STORED, Records
from stores.redis.requests import Arg, Call, Steps
from stores.redis.scripts import thread_script

_HISTORY = thread_script("history", "places")
_ANCESTORS = 200


class History:
    """The walk from a checkpoint to its ancestors, until each channel's value was met."""

    def __init__(self, records: Records, channels: Sequence[str]) -> None:
        """Look for these channels."""
        self._records = records
        self._missing = list(channels)
        self._writes: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
        self._seeds: dict[str, Any] = {}

    def visit(self, writes: Sequence[Any], values: Sequence[bytes]) -> None:
        """Take what one ancestor holds. Its writes come after its values: newest first here."""
        for _, write in reversed(self._records.writes(writes)):
            self._writes[write[1]].append(write)
        for name, letter, data in zip(*[iter(values)] * 3, strict=True):
            channel = text(name)
            read = self._records.blob if letter == STORED else self._records.value
            self._seeds[channel] = read(data, channel)
            self._missing.remove(channel)

    @property
    def missing(self) -> Sequence[str]:
        """The channels whose value was not met yet."""
        return self._missing

    def result(self) -> Mapping[str, DeltaChannelHistory]:
        """What was found, writes oldest first."""
        found: dict[str, DeltaChannelHistory] = {}
        for channel, writes in self._writes.items():
            found[channel] = {"writes": writes[::-1]}
            if channel in self._seeds:
                found[channel]["seed"] = self._seeds[channel]
        return found


def delta_history(
    checkpoints: Checkpoints, config: RunnableConfig, channels: Sequence[str]
) -> Steps[Mapping[str, DeltaChannelHistory]]:
    """The contract of ``get_delta_channel_history``, in one round trip per 200 ancestors."""
    place = place_of(config)
    start = bucket_of(place.thread_id)
    namespace, name = place.args
    history = History(checkpoints.records, list(dict.fromkeys(channels)))
    begun = 0
    while history.missing:
        args: list[Arg] = [raw(place.thread_id), namespace, name, begun, _ANCESTORS]
        args += map(raw, history.missing)
        ((name, visited),) = yield [Call(_HISTORY, start, args)]
        for writes, values in visited:
            history.visit(writes, values)
        if not name:
            break
        begun = 1
    return history.result()
