"""Deleting threads on Redis.

Facts are read and judged first; the script that deletes compares the thread's revision, so that a
thread that changed in between is looked at again. Delete and outcome are one step in the bucket.
"""

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import NamedTuple

from retention.abilities import Erased
from retention.errors import ClaimLostError, ConfigurationError, StoreError, StoreUnavailableError
from retention.late_writes import DeadRows
from retention.ports import Claim
from retention.runs import Batch, Outcome, ThreadOutcome
from retention.sweep.examine import examine_all
from retention.threads import Judge, ThreadFacts
from stores.options import StoreOptions
from stores.redis import outcomes as kept
from stores.redis.buckets import chosen_of, streamed
from stores.redis.connection import Connection
from stores.redis.dead import remove_dead
from stores.redis.erasing import erase, read_holdings
from stores.redis.layout import bucket_of, micros, raw
from stores.redis.requests import Arg, Call
from stores.redis.runs import RedisClaim, RedisRunLog
from stores.redis.scripts import thread_script
from stores.redis.threads import RedisThreads

#: How often a thread is judged that changes each time before it is deleted; then it is busy.
_LOOKS = 3


class _Doomed(NamedTuple):
    """A thread to be deleted: its place in the batch, and its revision when it was judged.

    ``written`` is the outcome as its bucket keeps it.
    """

    position: int
    thread_id: str
    revision: str
    outcome: ThreadOutcome
    written: bytes


class RedisDeleter:
    """The deleter of a Redis store."""

    def __init__(
        self,
        connection: Connection,
        threads: RedisThreads,
        runs: RedisRunLog,
        options: StoreOptions,
    ) -> None:
        """Work through the store's other parts."""
        self._connection = connection
        self._threads = threads
        self._runs = runs
        self._clock = options.clock

    def settle(
        self, claim: Claim, indexes: Sequence[int], judge: Judge, spared: Mapping[str, str]
    ) -> None:
        """Judge, delete and record the outcome of each of these candidates.

        Those that have an outcome are passed over.

        Raises:
            ClaimLostError: The claim ran out or was taken over. What was deleted before that is
                recorded in the buckets, and counted by whoever took over.
            StoreUnavailableError: Another try may work; the same holds.
            StoreError: A thread cannot be deleted; what was deleted beside it is recorded.
            ConfigurationError: The user lacks a right; the same holds.
        """
        if not isinstance(claim, RedisClaim):
            raise TypeError(f"not a claim of this store: {claim!r}")
        self._connection.look_around()
        outcomes: dict[int, ThreadOutcome] = {}
        left = [i for i in indexes if i not in claim.batch.outcomes]
        try:
            outcomes.update(self._as_planned(claim, left, spared))
            for _ in range(_LOOKS):
                left = [i for i in left if i not in outcomes]
                if not left:
                    break
                outcomes.update(self._examined(claim, left, judge, spared))
        except (ClaimLostError, StoreUnavailableError):
            raise
        except (StoreError, ConfigurationError):
            found = self._connection.run(kept.shut(claim.batch, claim.batch.attempts))
            self._runs.record_found(claim, found)
            raise
        busy = [i for i in left if i not in outcomes]
        outcomes.update(dict.fromkeys(busy, ThreadOutcome(Outcome.BUSY)))
        self._runs.record(claim, outcomes)

    def holdings(self, thread_id: str) -> dict[str, int]:
        """How much each key holds of a thread, and which indexes name it; the run log apart."""
        return self._connection.run(read_holdings(thread_id))

    def erase(self, thread_id: str, may_go: Callable[[ThreadFacts], bool]) -> Erased:
        """Delete all of a thread, its ledger entry too, if its facts allow that.

        Raises:
            StoreUnavailableError: The store cannot be reached, or the thread changes all the time.
            StoreError: Its facts cannot be read.
        """
        for _ in range(_LOOKS):
            facts = self._threads.facts([thread_id])[thread_id]
            if not may_go(facts.checked()):
                return Erased(facts)
            held = self.holdings(thread_id)
            if self._connection.run(erase(thread_id, facts.revision)):
                return Erased(facts, held)
        raise StoreUnavailableError(f"Redis: thread {thread_id!r} changes all the time")

    def remnants(self, heads: Mapping[str, str], *, whole: bool) -> set[str]:
        """Of these deleted threads, those whose id holds rows (again); from the head on or not.

        Nothing dead is ever walked here.
        """
        return chosen_of(streamed(self._connection, thread_script("remnants"), heads))

    def remove_dead(self, thread_id: str, head: str, orphans_before: datetime) -> DeadRows:
        """Delete what the id still holds of the thread deleted at ``head``; say what it was.

        A thread that is held, or written to while this looks at it, is left alone.
        """
        now = self._clock()
        return self._connection.run(remove_dead(thread_id, head, orphans_before, now))

    def _as_planned(
        self, claim: RedisClaim, indexes: Sequence[int], spared: Mapping[str, str]
    ) -> dict[int, ThreadOutcome]:
        """Delete the candidates that are as they were planned, without a look of their own.

        A plan names them bucket by bucket.
        """
        return self._delete(claim, _planned(claim.batch, indexes, spared))

    def _examined(
        self, claim: RedisClaim, indexes: Sequence[int], judge: Judge, spared: Mapping[str, str]
    ) -> dict[int, ThreadOutcome]:
        """The outcomes of these candidates, but for those that changed while they were judged."""
        candidates = [claim.batch.candidates[i] for i in indexes]
        facts = self._threads.facts([candidate.thread_id for candidate in candidates])
        examined = examine_all(candidates, facts, judge, spared)
        outcomes: dict[int, ThreadOutcome] = {}
        doomed: list[_Doomed] = []
        for position, outcome in examined.items():
            index, thread_id = indexes[position], candidates[position].thread_id
            written = kept.written(outcome)
            if written is None:
                outcomes[index] = outcome
            else:
                revision = facts[thread_id].revision or ""
                doomed.append(_Doomed(index, thread_id, revision, outcome, written))
        doomed.sort(key=_bucket)
        return {**outcomes, **self._delete(claim, doomed)}

    def _delete(self, claim: RedisClaim, doomed: Iterable[_Doomed]) -> dict[int, ThreadOutcome]:
        """Delete threads, some of a bucket a call; the outcomes of those that had not changed."""
        asked: deque[list[_Doomed]] = deque()
        calls = _deletes(claim, doomed, self._connection.room.deletes, asked)
        outcomes: dict[int, ThreadOutcome] = {}
        for reply in self._connection.stream(calls):
            if isinstance(reply, bytes):
                run_id = claim.batch.run_id
                raise ClaimLostError(f"the claim of a batch of run {run_id!r} is over")
            for thread, done in zip(asked.popleft(), reply, strict=True):
                if done == 2:
                    outcomes[thread.position] = ThreadOutcome(Outcome.RESTARTED)
                elif done == 1:
                    outcomes[thread.position] = thread.outcome
                elif done:
                    planned = claim.batch.candidates[thread.position]
                    outcomes[thread.position] = kept.read(done, planned)
        return outcomes


def _planned(batch: Batch, indexes: Iterable[int], spared: Container[str]) -> Iterator[_Doomed]:
    for index in indexes:
        thread_id, _, head, revision = batch.candidates[index]
        if revision is not None and thread_id not in spared:
            outcome = ThreadOutcome(Outcome.DELETED, head=head)
            yield _Doomed(index, thread_id, revision, outcome, kept.AS_PLANNED)


def _deletes(
    claim: RedisClaim, doomed: Iterable[_Doomed], size: int, asked: deque[list[_Doomed]]
) -> Iterator[Call]:
    """The calls that delete these threads, given by bucket; those of each go into ``asked``."""
    script = thread_script("delete")
    since = micros(claim.run.started_at)
    fence = (kept.name_of(claim.batch), claim.batch.attempts, claim.deadline, since)
    for start, threads in groupby(doomed, key=_bucket):
        while some := [*islice(threads, size)]:
            asked.append(some)
            yield Call(script, start, [*fence, *_args(some)])


def _bucket(thread: _Doomed) -> bytes:
    return bucket_of(thread.thread_id)


def _args(threads: Iterable[_Doomed]) -> Iterator[Arg]:
    for position, thread_id, revision, _, written in threads:
        yield from (position, raw(thread_id), raw(revision), written)
