"""All ports of a Redis store, put together by hand so that each may use a connection of its own."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from retention.ports import Claim
from retention.runs import Batch
from retention.sweep import LocalDispatch, Sweep, SweepOptions, SweepResult, run_sweep
from retention.threads import Rule
from stores.codec import FaithfulCodec
from stores.opened import Store
from stores.options import StoreOptions
from stores.redis.connection import Connection
from stores.redis.deleter import RedisDeleter
from stores.redis.layout import bucket_of
from stores.redis.ledger import RedisLedger
from stores.redis.requests import Call
from stores.redis.runs import RedisRunLog
from stores.redis.saver import RedisRetentionSaver
from stores.redis.threads import RedisThreads
from tests.contract.lab import POLICY, SettableClock
from tests.contract.pool import LEASE, Queue
from tests.seeding import seed_thread


class _Sending(Connection):
    """Sends each call of a stream as any other."""

    def stream(self, calls: Iterable[Call]) -> Iterator[Any]:
        return (self.send([call])[0] for call in calls)


class Resending(_Sending):
    """Sends every call twice, as redis-py does where the first answer was lost."""

    def send(self, calls: Sequence[Call]) -> list[Any]:
        super().send(calls)
        return super().send(calls)


class DyingError(Exception):
    """The process ended here."""


class DyingAt(_Sending):
    """Ends before it sends a script of this name."""

    def __init__(self, client: Any, name: str) -> None:
        super().__init__(client)
        self._name = name

    def send(self, calls: Sequence[Call]) -> list[Any]:
        if any(call.script.name == self._name for call in calls):
            raise DyingError(self._name)
        return super().send(calls)


class Acting(_Sending):
    """Does something before it sends a script of this name."""

    def __init__(self, client: Any, name: str, act: Callable[[], object]) -> None:
        super().__init__(client)
        self._name = name
        self._act = act

    def send(self, calls: Sequence[Call]) -> list[Any]:
        if any(call.script.name == self._name for call in calls):
            self._act()
        return super().send(calls)


@dataclass
class Parts:
    """The ports over one connection, and a clock that the test sets."""

    connection: Connection
    clock: SettableClock

    def __post_init__(self) -> None:
        self.options = StoreOptions(policy=POLICY, clock=self.clock)
        self.saver = RedisRetentionSaver(self.connection, FaithfulCodec(), self.options)
        self.ledger = RedisLedger(self.connection, self.options)
        self.threads = RedisThreads(self.connection)
        self.runs = RedisRunLog(self.connection)
        self.deleter = RedisDeleter(self.connection, self.threads, self.runs, self.options)
        ports = (self.ledger, self.threads, self.deleter, self.runs)
        self.store = Store("redis", *ports, lambda: self.saver, "its time to live")

    def over(self, connection: Connection) -> "Parts":
        """The same store through another connection."""
        return Parts(connection, self.clock)

    def seed_due(self, *thread_ids: str) -> dict[str, str]:
        """Threads that are due; the head of each."""
        old = self.clock.now - timedelta(minutes=30)
        heads = {
            thread_id: seed_thread(self.saver, thread_id, old, 2)[-1] for thread_id in thread_ids
        }
        self.clock.advance(-20)
        self.ledger.mark_finished(thread_ids)
        self.clock.advance(20)
        return heads

    def sweep(self, dispatch: Any = None, **options: Any) -> Sweep:
        """A sweep of this store now."""
        how = SweepOptions(**options)
        return Sweep(self.store, POLICY, [], dispatch or Queue(), self.clock, how)

    def run(self, run_id: str = "run", **options: Any) -> SweepResult:
        """Sweep the store, in this process."""
        local = LocalDispatch()
        return run_sweep(self.sweep(local, **options), local, run_id)

    def claim(
        self, token: str, number: int = 0, run_id: str = "r", lease: timedelta = LEASE
    ) -> Claim:
        """Claim a batch now."""
        now = self.clock.now
        claim = self.runs.claim(run_id, number, token, now, now + lease)
        assert claim is not None
        return claim

    def settle(self, claim: Claim, *indexes: int) -> None:
        """Settle threads of a claim, by default all."""
        chosen = indexes or range(len(claim.batch.candidates))
        judge = Rule(POLICY, claim.run.started_at, sweeps_waiting=False).judge
        self.deleter.settle(claim, chosen, judge, {})

    def batch(self, number: int = 0, run_id: str = "r") -> Batch:
        """A batch as the log has it."""
        batch = self.runs.batch(run_id, number)
        assert batch is not None
        return batch


def of_one_bucket(count: int, prefix: str = "t") -> list[str]:
    """Thread ids that share a bucket."""
    found: list[str] = []
    number = 0
    while len(found) < count:
        name = f"{prefix}{number}"
        if bucket_of(name) == bucket_of(f"{prefix}0"):
            found.append(name)
        number += 1
    return found
