"""Rounds of a sweep under fire: workers are killed and queues emptied while two beats tick."""

import random
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from retention import ThreadRetention
from stores import Access, Store, StoreOptions, open_store
from tests.acceptance.deployment import Deployment
from tests.acceptance.nodes import BeatProcess, WorkerProcess
from tests.brokers import BrokerPlace
from tests.chaos.census import census_of
from tests.chaos.run_log import closed_runs, counted_deletes, recorded_deletes
from tests.seeding import seed_threads
from tests.waiting import eventually

_THREADS_A_ROUND = 40
_LIVE_THREADS = 5
_REPAIR_SECONDS = 90


@dataclass
class Tally:
    """What happened over all rounds."""

    rounds: int = 0
    kills: int = 0
    emptied: int = 0
    deleted: int = 0
    runs: int = 0
    mismatches: list[str] = field(default_factory=list)


class Chaos:
    """A pool of two workers and two beats, and what is done to it."""

    def __init__(self, deployment: Deployment, broker: BrokerPlace, rng: random.Random) -> None:
        self._deployment = deployment
        self._broker = broker
        self._rng = rng
        self._census = census_of(deployment.provider, deployment.address)
        self._seeded: list[str] = []
        self.tally = Tally()
        env, folder = deployment.env, deployment.folder
        self._workers = [WorkerProcess(f"worker-{n}", folder, env, ("-c", "1")) for n in (1, 2)]
        self._beats = [BeatProcess(f"beat-{n}", folder, env) for n in (1, 2)]

    def run(self, rounds: int) -> Tally:
        """Start everything, and do as many rounds."""
        with self._open() as store:
            seed_threads(store.saver, "live", _LIVE_THREADS, datetime.now(UTC), checkpoints=2)
            self._live = self._census.rows()
            try:
                for process in (*self._workers, *self._beats):
                    process.start()
                for number in range(rounds):
                    self._round(store, number)
            finally:
                for process in (*self._beats, *self._workers):
                    process.kill()
        return self.tally

    def say(self, what: str) -> None:
        """Tell the person at the terminal; pytest shows it with `-s`, and after a failure."""
        sys.stdout.write(f"\n{what}\n")

    def _open(self, ago: timedelta = timedelta(0)) -> AbstractContextManager[Store]:
        options = StoreOptions(access=Access.WRITE, clock=lambda: datetime.now(UTC) - ago)
        return open_store(self._deployment.address, settings=options)

    def _round(self, store: Store, number: int) -> None:
        prefix = f"round{number:02}"
        self._seed(store, prefix)
        for gone in sorted(self._rng.sample(range(1, _THREADS_A_ROUND), self._rng.randint(1, 3))):
            self._wait(partial(self._has_shrunk, prefix, _THREADS_A_ROUND - gone))
            self._strike()
        self._wait(lambda: not self._census.count(prefix))
        now = datetime.now(UTC)
        self._wait(lambda: not self._is_open(store, now))
        self.tally.rounds += 1
        self._compare(store)
        self.say(f"{datetime.now(UTC):%H:%M:%S} {self.tally}")

    def _has_shrunk(self, prefix: str, left: int) -> bool:
        return self._census.count(prefix) <= left

    def _seed(self, store: Store, prefix: str) -> None:
        """Write threads that are past no horizon, then make all due at one stroke, in two ways."""
        at = datetime.now(UTC) - timedelta(days=3)
        due = seed_threads(store.saver, prefix, _THREADS_A_ROUND, at, checkpoints=2)
        self._rng.shuffle(due)
        # Waiting threads of some stores go by themselves.
        half = len(due) // 2 if store.waiting_skipped is None else len(due)
        with self._open(ago=timedelta(days=2)) as then:
            then.ledger.mark_finished(due[:half])
            then.ledger.start(due[half:], ThreadRetention(waiting_minutes=24 * 60))
        self._seeded += due

    def _strike(self) -> None:
        """Kill some workers or none, and empty the queue while they are down, or not."""
        victims = self._rng.choice([[], [0], [1], [0, 1]])
        for worker in (self._workers[n] for n in victims):
            worker.kill()
        self.tally.kills += len(victims)
        if not victims or self._rng.random() < 0.7:
            self._broker.empty()
            self.tally.emptied += 1
        for worker in (self._workers[n] for n in victims):
            worker.start()

    def _wait(self, look: Callable[[], bool]) -> None:
        eventually(look, "the pool repairs itself", _REPAIR_SECONDS)

    def _is_open(self, store: Store, since: datetime) -> bool:
        run = store.runs.live()
        return run is not None and run.started_at < since

    def _compare(self, store: Store) -> None:
        """Hold the run log and the totals against what was seeded, and against the tables."""
        seeded = len(self._seeded)
        self.tally.deleted, self.tally.runs = seeded, len(closed_runs(store))
        wrong = {name: n for name, n in counted_deletes(store).items() if n != seeded}
        self._note(wrong, f"of {seeded} deleted threads, counted")
        recorded = Counter(recorded_deletes(store))
        self._note(recorded - Counter(self._seeded), "deleted twice")
        self._note(Counter(self._seeded) - recorded, "never recorded")
        rows = self._census.rows()
        self._note(rows - self._live, "rows that no live thread has")
        self._note(self._live - rows, "rows that a live thread lost")

    def _note(self, wrong: object, what: str) -> None:
        if wrong:
            self.tally.mismatches.append(f"round {self.tally.rounds}: {what}: {wrong}")
