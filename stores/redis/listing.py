"""Listing checkpoints newest first, page by page.

First come the places, then the metadata where it is filtered, then the bodies of what is left: so a
page costs what it shows. A listing is no snapshot: what is put or deleted meanwhile may show.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from stores.redis.checkpoints import Checkpoints, calls_at
from stores.redis.containment import contains
from stores.redis.layout import BY_ID, BY_NAMESPACE, bucket_of, joined, raw, split
from stores.redis.newest import NewestThreads
from stores.redis.records import Place
from stores.redis.requests import Arg, Call, Steps
from stores.redis.scripts import thread_script

#: The most places, and the most bodies, that are read at once.
PAGE, BODIES = 100, 20

_MEMBERS = thread_script("members")
_DESCRIBE = thread_script("describe", "places")
_LAST = b"\xff"


class Places(Protocol):
    """Where the checkpoints of a listing are, newest first."""

    def take(self, most: int) -> Steps[list[Place]]:
        """The next ones; none when there are no more."""


class ThreadPlaces:
    """The places of one thread: of a namespace, or by id over all of them."""

    def __init__(
        self, thread_id: str, namespace: str | None, checkpoint_id: str, before: str
    ) -> None:
        """Bound the places; an empty id bounds nothing."""
        self.thread_id = thread_id
        self._by_namespace = namespace is not None
        begin = BY_ID if namespace is None else BY_NAMESPACE + joined(namespace, "")
        self._low, self._high = b"[" + begin, b"(" + begin + _LAST
        if before:
            self._high = b"(" + begin + self._named(before)
        if checkpoint_id:
            self._low = b"[" + begin + self._named(checkpoint_id)
            self._high = b"(" + begin + self._named(checkpoint_id) + self._end
        self._is_done = bool(before) and checkpoint_id >= before

    def _named(self, checkpoint_id: str) -> bytes:
        """How the members of an id go on, within those of the range."""
        return raw(checkpoint_id) if self._by_namespace else joined(checkpoint_id, "")

    @property
    def _end(self) -> bytes:
        """What no member of an id goes on with, but all above it do."""
        return b"\0" if self._by_namespace else _LAST

    def call(self, most: int) -> Call:
        """The call that reads the next members."""
        args: list[Arg] = [raw(self.thread_id), self._high, self._low, most]
        return Call(_MEMBERS, bucket_of(self.thread_id), args)

    def took(self, members: list[bytes], most: int) -> list[Place]:
        """The places that its reply names."""
        self._is_done = len(members) < most
        if members:
            self._high = b"(" + members[-1]
        return [self._place(member) for member in members]

    @property
    def is_done(self) -> bool:
        """Whether there are no more."""
        return self._is_done

    def take(self, most: int) -> Steps[list[Place]]:
        """The next places."""
        if self._is_done:
            return []
        (members,) = yield [self.call(most)]
        return self.took(members, most)

    def _place(self, member: bytes) -> Place:
        first, last = split(member[1:], 2)
        namespace, checkpoint_id = (first, last) if self._by_namespace else (last, first)
        return Place(self.thread_id, namespace, checkpoint_id)


class Listing:
    """One listing, as the saver's ``list`` is asked for it."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        config: RunnableConfig | None,
        wanted: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> None:
        """Begin; nothing is read yet. ``wanted`` is what the metadata must contain."""
        self._checkpoints = checkpoints
        self._places = _places(config, before)
        self._wanted = wanted
        self._left = limit
        self._found: list[Place] = []
        self.is_done = False

    def page(self) -> Steps[list[CheckpointTuple]]:
        """The next checkpoints; sets ``is_done`` where these are the last ones."""
        room = self._room
        while len(self._found) < room:
            unfiltered = PAGE if self._left is None else min(PAGE, self._left)
            places = yield from self._places.take(PAGE if self._wanted else unfiltered)
            if not places:
                break
            self._found += yield from self._matching(places)
        asked, self._found = self._found[:room], self._found[room:]
        found = yield from self._checkpoints.read(asked)
        page = [item for item in found if item]
        if self._left is not None:
            self._left -= len(page)
        self.is_done = not asked or not self._room
        return page

    @property
    def _room(self) -> int:
        """How many bodies are read next."""
        return BODIES if self._left is None else min(BODIES, max(0, self._left))

    def _matching(self, places: list[Place]) -> Steps[list[Place]]:
        """Those whose metadata contain what is wanted."""
        if not self._wanted:
            return places
        replies = yield calls_at(_DESCRIBE, places)
        found = [data for reply in replies for data in reply]
        records = self._checkpoints.records
        return [
            place
            for place, data in zip(places, found, strict=True)
            if data and contains(records.metadata(data), self._wanted)
        ]


def _places(config: RunnableConfig | None, before: RunnableConfig | None) -> Places:
    before_id = (before or {}).get("configurable", {}).get("checkpoint_id") or ""
    if not config:
        return NewestThreads(lambda thread_id: ThreadPlaces(thread_id, None, "", before_id))
    configurable = config["configurable"]
    return ThreadPlaces(
        str(configurable["thread_id"]),
        configurable.get("checkpoint_ns"),
        configurable.get("checkpoint_id") or "",
        before_id,
    )
