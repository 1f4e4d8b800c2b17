"""Deleting threads on Redis.

Facts are read and judged first; the script that deletes compares the thread's revision, so that a
thread that changed in between is looked at again. Delete and outcome are one step in the bucket.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from retention.abilities import Erased
from retention.errors import ClaimLostError, StoreError, StoreUnavailableError
from retention.late_writes import DeadRows
from retention.ports import Claim
from retention.runs import Outcome, ThreadOutcome
from retention.sweep.examine import examine_all
from retention.threads import Judge, ThreadFacts
from stores.options import StoreOptions
from stores.redis import outcomes as kept
from stores.redis.buckets import THREADS_A_CALL, chosen_of, in_rounds, on_threads
from stores.redis.connection import Connection
from stores.redis.dead import remove_dead
from stores.redis.erasing import erase, read_holdings
from stores.redis.layout import bucket_of, micros, raw
from stores.redis.requests import Arg, Call, Steps
from stores.redis.runs import RedisClaim, RedisRunLog
from stores.redis.scripts import thread_script
from stores.redis.threads import RedisThreads

#: How often a thread is judged that changes each time before it is deleted; then it is busy.
_LOOKS = 3

#: A thread to be deleted: its position in the batch, its id, revision, and outcome, both as it is
#: and as its bucket keeps it.
_Doomed = tuple[int, str, bytes, ThreadOutcome, bytes]


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
        """
        if not isinstance(claim, RedisClaim):
            raise TypeError(f"not a claim of this store: {claim!r}")
        outcomes: dict[int, ThreadOutcome] = {}
        left = [i for i in indexes if i not in claim.batch.outcomes]
        try:
            for _ in range(_LOOKS):
                outcomes.update(self._examined(claim, left, judge, spared))
                left = [i for i in left if i not in outcomes]
                if not left:
                    break
        except (ClaimLostError, StoreUnavailableError):
            raise
        except StoreError:
            found = self._connection.run(kept.shut(claim.batch, claim.batch.attempts))
            self._runs.record_found(claim, found)
            raise
        outcomes.update(dict.fromkeys(left, ThreadOutcome(Outcome.BUSY)))
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
            facts, revision = self._threads.known([thread_id])[thread_id]
            if not may_go(facts.checked()):
                return Erased(facts)
            held = self.holdings(thread_id)
            if self._connection.run(erase(thread_id, revision)):
                return Erased(facts, held)
        raise StoreUnavailableError(f"Redis: thread {thread_id!r} changes all the time")

    def remnants(self, heads: Mapping[str, str], *, whole: bool) -> set[str]:
        """Of these deleted threads, those whose id holds rows (again); from the head on or not.

        Nothing dead is ever walked here.
        """
        return chosen_of(self._connection.run(on_threads(thread_script("remnants"), heads)))

    def remove_dead(self, thread_id: str, head: str, orphans_before: datetime) -> DeadRows:
        """Delete what the id still holds of the thread deleted at ``head``; say what it was.

        A thread that is held, or written to while this looks at it, is left alone.
        """
        now = self._clock()
        return self._connection.run(remove_dead(thread_id, head, orphans_before, now))

    def _examined(
        self, claim: RedisClaim, indexes: Sequence[int], judge: Judge, spared: Mapping[str, str]
    ) -> dict[int, ThreadOutcome]:
        """The outcomes of these candidates, but for those that changed while they were judged."""
        candidates = [claim.batch.candidates[i] for i in indexes]
        known = self._threads.known([candidate.thread_id for candidate in candidates])
        facts = {thread_id: found for thread_id, (found, _) in known.items()}
        examined = examine_all(candidates, facts, judge, spared)
        outcomes: dict[int, ThreadOutcome] = {}
        doomed: dict[bytes, list[_Doomed]] = {}
        for position, outcome in examined.items():
            index, thread_id = indexes[position], candidates[position].thread_id
            written = kept.written(outcome)
            if written is None:
                outcomes[index] = outcome
            else:
                thread = (index, thread_id, known[thread_id][1], outcome, written)
                doomed.setdefault(bucket_of(thread_id), []).append(thread)
        outcomes.update(self._connection.run(_delete(claim, doomed)))
        return outcomes


def _delete(
    claim: RedisClaim, doomed: Mapping[bytes, Sequence[_Doomed]]
) -> Steps[dict[int, ThreadOutcome]]:
    """Delete threads, by their bucket; the outcomes of those that had not changed."""
    chosen = [
        (start, threads[first : first + THREADS_A_CALL])
        for start, threads in doomed.items()
        for first in range(0, len(threads), THREADS_A_CALL)
    ]
    since = micros(claim.run.started_at)
    fence = (kept.name_of(claim.batch), claim.batch.attempts, claim.deadline, since)
    script = thread_script("delete")
    calls = [Call(script, start, [*fence, *_args(some)]) for start, some in chosen]
    replies = yield from in_rounds(calls)
    outcomes: dict[int, ThreadOutcome] = {}
    for (_, threads), reply in zip(chosen, replies, strict=True):
        if isinstance(reply, bytes):
            raise ClaimLostError(f"the claim of a batch of run {claim.batch.run_id!r} is over")
        for (index, _, _, outcome, _), done in zip(threads, reply, strict=True):
            if done == 2:
                outcomes[index] = ThreadOutcome(Outcome.RESTARTED)
            elif done:
                outcomes[index] = outcome if done == 1 else kept.read(done)
    return outcomes


def _args(threads: Sequence[_Doomed]) -> list[Arg]:
    args: list[Arg] = []
    for index, thread_id, revision, _, written in threads:
        args += index, raw(thread_id), revision, written
    return args
