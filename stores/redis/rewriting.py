"""The operations of a saver that take threads apart or copy them, described once."""

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from retention.errors import StoreUnavailableError
from stores.options import StoreOptions
from stores.redis.checkpoints import Checkpoints
from stores.redis.layout import BUCKETS, bucket, bucket_of, micros, raw, text
from stores.redis.requests import Call, Steps, one
from stores.redis.scripts import thread_script
from stores.redis.skeleton import Skeleton, Spot, read_skeleton

_COPY_READ = thread_script("copy_read")
_COPY_WRITE = thread_script("copy_write", "places")
_DELETE = thread_script("delete_thread")
_DROP = thread_script("drop", "places")
_IS_HELD = thread_script("is_held")
_THREADS_OF_RUNS = thread_script("threads_of_runs")

#: What ``prune`` can do.
STRATEGIES = ("keep_latest", "delete")
#: How often a thread is looked at anew because it changed while it was looked at.
_TRIES = 20
#: How many threads of a bucket are looked at in one call.
_THREADS = 500

#: What is to stay of a thread.
_Choice: TypeAlias = Callable[[Skeleton], Collection[Spot]]


class Rewrites:
    """Copies, prunes, and deletes by run; each operation is run by a connection."""

    def __init__(self, checkpoints: Checkpoints, options: StoreOptions) -> None:
        """Work on the threads of these checkpoints."""
        self._checkpoints = checkpoints
        self._options = options

    def copy(self, source: str, target: str) -> Steps[None]:
        """Copy all of a thread but what its ledger and its holds say.

        What the target holds stays, but at the places that the source has too. A source that holds
        nothing changes nothing.
        """
        if source == target:
            return
        found = yield from one(_COPY_READ, bucket_of(source), raw(source))
        if found:
            retentions = self._checkpoints.retentions
            yield from one(_COPY_WRITE, bucket_of(target), raw(target), *retentions, *found)

    def prune(self, thread_ids: Sequence[str], strategy: str) -> Steps[None]:
        """Drop what is old, or everything, of the threads that no hold keeps.

        Raises:
            TypeError: The ids are one text.
            ValueError: The strategy is unknown.
            StoreUnavailableError: A thread changes all the time.
        """
        if isinstance(thread_ids, str):
            raise TypeError("thread_ids must be a sequence of thread ids, not one text")
        if strategy not in STRATEGIES:
            raise ValueError(f"unknown prune strategy {strategy!r}: {' or '.join(STRATEGIES)}")
        now = micros(self._options.clock())
        for thread_id in map(str, thread_ids):
            if strategy == "delete":
                yield from one(_DELETE, bucket_of(thread_id), raw(thread_id), now)
            else:
                yield from self._keep(thread_id, latest, held_at=now)

    def delete_for_runs(self, run_ids: Sequence[str]) -> Steps[None]:
        """Delete the checkpoints of some runs, with their writes, in all threads.

        Raises:
            NotImplementedError: What stays of a thread could no longer rebuild a delta channel;
                nothing is deleted then.
            StoreUnavailableError: A thread changes all the time.
        """
        runs = {str(run) for run in run_ids} - {""}
        if not runs:
            return
        threads = yield from self._threads_of(sorted(runs))
        for thread_id in threads:
            yield from self._look(thread_id, lambda skeleton: without(skeleton, runs))
        for thread_id in threads:
            yield from self._keep(thread_id, lambda skeleton: without(skeleton, runs))

    def _look(self, thread_id: str, choice: _Choice) -> Steps[tuple[Skeleton, Collection[Spot]]]:
        """Read a thread, and choose what is to stay of it."""
        for _ in range(_TRIES):
            skeleton = yield from read_skeleton(thread_id, self._checkpoints.records)
            if skeleton is not None:
                return skeleton, choice(skeleton)
        raise _busy(thread_id)

    def _keep(self, thread_id: str, choice: _Choice, held_at: int | None = None) -> Steps[None]:
        """Drop all but what is chosen, out of the very state that it was chosen from.

        Nothing of a thread that a hold keeps at the instant given: a hold changes that state too.
        """
        for _ in range(_TRIES):
            skeleton, kept = yield from self._look(thread_id, choice)
            if len(kept) == len(skeleton.bones):
                return
            if held_at is not None and (
                yield from one(_IS_HELD, bucket_of(thread_id), raw(thread_id), held_at)
            ):
                return
            if (yield from one(_DROP, bucket_of(thread_id), *skeleton.drop_args(kept))):
                return
        raise _busy(thread_id)

    def _threads_of(self, runs: Sequence[str]) -> Steps[list[str]]:
        """The threads that hold checkpoints of a run, looked up bucket by bucket."""
        cursors = {bucket(number): b"0" for number in range(BUCKETS)}
        names = [raw(run) for run in runs]
        found: set[str] = set()
        while cursors:
            starts = list(cursors)
            replies = yield [
                Call(_THREADS_OF_RUNS, start, [cursors[start], _THREADS, *names])
                for start in starts
            ]
            for start, (cursor, threads) in zip(starts, replies, strict=True):
                found.update(map(text, threads))
                cursors[start] = cursor
            cursors = {start: cursor for start, cursor in cursors.items() if cursor != b"0"}
        return sorted(found)


def latest(skeleton: Skeleton) -> set[Spot]:
    """The head of each namespace, and what it is rebuilt from.

    The namespace of a subgraph's call goes with the root checkpoint that called it, once that one
    is saved. A subgraph with a memory of its own has no colon in its namespace, and stays.
    """
    heads = skeleton.heads()
    roots = [spot for spot in heads if spot[0] == ""]
    kept = _with_needed(skeleton, roots)
    for spot in heads:
        caller = ("", skeleton.bones[spot].caller)
        is_over = ":" in spot[0] and caller in skeleton.bones and caller not in kept
        if not is_over:
            kept |= _with_needed(skeleton, [spot])
    return kept


def _with_needed(skeleton: Skeleton, heads: Sequence[Spot]) -> set[Spot]:
    kept = set(heads)
    for head in heads:
        kept.update(skeleton.rebuilding(head))
        parent = skeleton.before(head)
        if parent and skeleton.bones[head].needs_sends:
            kept.add(parent)
    return kept


def without(skeleton: Skeleton, runs: Collection[str]) -> set[Spot]:
    """All checkpoints but those of some runs.

    Raises:
        NotImplementedError: One of them could no longer rebuild a delta channel.
    """
    kept = {spot for spot, bone in skeleton.bones.items() if bone.run not in runs}
    for spot in kept:
        parent = skeleton.before(spot)
        if parent is not None and parent not in kept and skeleton.rebuilding(spot):
            raise NotImplementedError(
                f"delete_for_runs cannot take these runs out of thread {skeleton.thread_id!r}:"
                f" checkpoint {spot[1]} rebuilds a DeltaChannel from them"
            )
    return kept


def _busy(thread_id: str) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"thread {thread_id!r} changed each of {_TRIES} times it was looked at"
    )
