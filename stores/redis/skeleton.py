"""What a thread holds, without bodies: what is pruned is chosen by it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from langgraph.checkpoint.base import CheckpointMetadata

from stores.redis.layout import bucket_of, joined, raw, split, text
from stores.redis.records import INLINE, STORED, Records
from stores.redis.requests import Arg, Call, Steps
from stores.redis.scripts import thread_script

#: A place within its thread: namespace and checkpoint id.
Spot = tuple[str, str]

_SKELETON = thread_script("skeleton", "places")
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Bone:
    """One checkpoint. ``entries`` are those that put.lua explains."""

    parent: str
    caller: str
    at: bytes
    metadata: CheckpointMetadata
    entries: Sequence[bytes]
    needs_sends: bool

    @property
    def run(self) -> str:
        """The run that made it; empty where none is known."""
        return str(self.metadata.get("run_id") or "")

    @property
    def valued(self) -> set[str]:
        """The channels whose value it has."""
        return {split(e[1:], 2)[0] for e in self.entries if e[:1] in (STORED, INLINE)}

    def blobs(self, namespace: str) -> set[bytes]:
        """The fields of the blobs it needs."""
        return {joined(namespace, "") + e[1:] for e in self.entries if e[:1] == STORED}


@dataclass(slots=True)
class Skeleton:
    """A thread at one revision; checkpoints by namespace, then by id, oldest first."""

    thread_id: str
    revision: bytes = b""
    bones: dict[Spot, Bone] = field(default_factory=dict)

    def before(self, spot: Spot) -> Spot | None:
        """The parent of a checkpoint, if the thread holds it."""
        parent = (spot[0], self.bones[spot].parent)
        return parent if parent in self.bones else None

    def rebuilding(self, spot: Spot) -> list[Spot]:
        """The ancestors that the delta channels of a checkpoint are rebuilt from."""
        metadata = self.bones[spot].metadata
        missing = set(metadata.get("counters_since_delta_snapshot") or ())
        missing -= self.bones[spot].valued
        needed: list[Spot] = []
        ancestor = self.before(spot)
        while missing and ancestor is not None and ancestor not in needed:
            needed.append(ancestor)
            missing -= self.bones[ancestor].valued
            ancestor = self.before(ancestor)
        return needed

    def heads(self) -> list[Spot]:
        """The newest checkpoint of each namespace."""
        return list({spot[0]: spot for spot in self.bones}.values())

    def cut(self, kept: Collection[Spot]) -> dict[Spot, str]:
        """Of what is kept and loses its parent, the nearest ancestor that is kept, or nothing."""
        moved: dict[Spot, str] = {}
        for spot in kept:
            nearest = self.before(spot)
            if nearest is not None and nearest not in kept:
                while nearest is not None and nearest not in kept:
                    nearest = self.before(nearest)
                moved[spot] = nearest[1] if nearest else ""
        return moved

    def drop_args(self, kept: Collection[Spot]) -> list[Arg]:
        """What drop.lua is told, to leave these alone."""
        dropped = [spot for spot in self.bones if spot not in kept]
        ages = [self.bones[spot].at for spot in kept]
        freed = self._blobs(dropped) - self._blobs(kept)
        runs = {raw(self.bones[spot].run) for spot in kept}
        moved = [(*_named(spot), raw(parent)) for spot, parent in self.cut(kept).items()]
        return [
            raw(self.thread_id),
            self.revision,
            max(ages, key=_micros, default=b""),
            "1" if b"" in ages else "0",
            *_counted(map(_named, dropped)),
            *_counted(moved),
            *_counted((blob,) for blob in sorted(freed)),
            *_counted((run,) for run in sorted(runs)),
        ]

    def _blobs(self, spots: Iterable[Spot]) -> set[bytes]:
        return {blob for spot in spots for blob in self.bones[spot].blobs(spot[0])}


def read_skeleton(thread_id: str, records: Records) -> Steps[Skeleton | None]:
    """Read a thread page by page; None where it changed meanwhile."""
    found, last = Skeleton(thread_id), b""
    while True:
        args: list[Arg] = [raw(thread_id), last, _PAGE]
        ((revision, page),) = yield [Call(_SKELETON, bucket_of(thread_id), args)]
        if last and revision != found.revision:
            return None
        found.revision = revision
        for member, parent, caller, at, metadata, entries, needs_sends in page:
            namespace, checkpoint_id = split(member[1:], 2)
            found.bones[namespace, checkpoint_id] = Bone(
                text(parent), text(caller), at, records.metadata(metadata), entries, needs_sends > 0
            )
        if len(page) < _PAGE:
            return found
        last = page[-1][0]


def _named(spot: Spot) -> tuple[bytes, bytes]:
    return joined(spot[0], ""), raw(spot[1])


def _micros(at: bytes) -> int:
    return int(at or 0)


def _counted(lists: Iterable[Iterable[bytes]]) -> list[Arg]:
    found = [*lists]
    return [len(found), *(part for parts in found for part in parts)]
