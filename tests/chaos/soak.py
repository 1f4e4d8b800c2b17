"""Real agents and three workers on one store, killed at random; then every thread is checked."""

import random
import threading
import time
import uuid
from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from retention.sweep import LocalDispatch, Sweep, run_sweep
from stores import Access, Store, StoreOptions, open_store
from tests import forked
from tests.acceptance.deployment import Deployment
from tests.acceptance.nodes import BeatProcess, WorkerProcess
from tests.chaos import journal as j
from tests.chaos.census import census_of
from tests.chaos.journal import Expected, Journal
from tests.chaos.run_log import counted_deletes, recorded_deletes
from tests.chaos.soak_agent import POLICY, Owner, opened, run_agents
from tests.waiting import eventually

WORKERS = 3
AGENTS = 2
_PREFIX = "LLM_PROVIDER_CHECKPOINT_RETENTION_"
SETTINGS = {
    f"{_PREFIX}WAITING_MINUTES": str(POLICY.waiting_minutes),
    f"{_PREFIX}FINISHED_MINUTES": str(POLICY.finished_minutes),
    "SWEEP_BATCH_SIZE": "5",
    "SWEEP_SOFT_TIME_LIMIT_SECONDS": "4",
    "SWEEP_LEASE_SECONDS": "5",
    "SWEEP_VISIBILITY_TIMEOUT_SECONDS": "6",
    "SWEEP_SCHEDULE": "3",
    "SWEEP_JITTER_SECONDS": "0",
}
#: From the last mark to the end of the last sweep: the finished retention, a lease, some ticks.
_DRAIN_SECONDS = 300
#: More than an hour's tombstones take.
_SWEEPS = 500
#: Characters of a mismatch that are enough to look for its cause.
_SHOWN = 600


def _tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(hours=25)


@dataclass
class Account:
    """What a soak found."""

    store: str
    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    threads: int = 0
    kept: int = 0
    resumed: int = 0
    deleted: int = 0
    #: Taken back by their owners too late, so begun anew; written to when they were gone.
    found_gone: int = 0
    late: int = 0
    runs: int = 0
    outages: int = 0
    mismatches: list[str] = field(default_factory=list)


class Soak:
    """A store, its pool, and the agents on it."""

    def __init__(self, deployment: Deployment, seed: int) -> None:
        self._deployment = deployment
        self._rng = random.Random(seed)
        self._folder = deployment.folder
        self._stop = self._folder / "stop"
        self.account = Account(deployment.provider, seed)
        names = [f"worker-{n}" for n in range(WORKERS)]
        env = deployment.env
        self._workers = [WorkerProcess(n, self._folder, env, ("-c", "1")) for n in names]
        self._beat = BeatProcess("beat", self._folder, env)
        self._journals = [self._folder / f"agent-{n}.journal" for n in range(AGENTS)]
        self._agents: dict[Path, forked.Process] = {}

    def run(self, seconds: float) -> Account:
        """Start all, kill at random until the time is over, let the pool finish, and check."""
        try:
            for process in (*self._workers, self._beat):
                process.start()
            for path in self._journals:
                self._start_agent(path)
            self._strike_until(time.monotonic() + seconds)
            self._end_agents()
            self._drain()
        finally:
            for process in (self._beat, *self._workers):
                process.kill()
            for agent in self._agents.values():
                agent.kill()
        self._check()
        return self.account

    def _start_agent(self, path: Path) -> None:
        seed = self._rng.randrange(10**6)
        arguments = (self._deployment.address, path, seed, self._stop)
        agent = forked.CONTEXT.Process(target=run_agents, args=arguments, daemon=True)
        agent.start()
        self._agents[path] = agent

    def _strike_until(self, deadline: float) -> None:
        """Kill a worker or an agent every few seconds, and start it anew."""
        never = threading.Event()
        while time.monotonic() < deadline:
            never.wait(min(self._rng.uniform(2, 12), max(0.0, deadline - time.monotonic())))
            dead = [path for path, agent in self._agents.items() if agent.exitcode is not None]
            self._note(dead, "agents that ended by themselves")
            if dead:
                return
            if self._rng.random() < 0.5:
                worker = self._rng.choice(self._workers)
                worker.kill()
                worker.start()
                self.account.kills["worker"] += 1
            else:
                path = self._rng.choice(self._journals)
                self._agents[path].kill()
                self._agents[path].join()
                self._start_agent(path)
                self.account.kills["agent"] += 1

    def _end_agents(self) -> None:
        """Let each agent end what it is at; what was cut short before is brought to an end."""
        self._stop.touch()
        for agent in self._agents.values():
            agent.join(60)
            agent.kill()
        for path in self._journals:
            with ExitStack() as stack:
                opened(self._deployment.address, path, 0, stack).recover()

    def _drain(self) -> None:
        """Wait until the pool has deleted all that nobody needs any more."""
        going = {t.thread_id for t in self._expected() if t.state in j.GOING}
        census = census_of(self._deployment.provider, self._deployment.address)

        def left() -> set[str]:
            return going & {t for table, t in census.rows() if table == "checkpoints"}

        try:
            eventually(lambda: not left(), "what is finished is swept", _DRAIN_SECONDS)
        except AssertionError as error:
            self._note([str(error), sorted(left())], "not drained")

    def _check(self) -> None:
        """Hold what the store holds against what the owners expect."""
        expected = self._expected()
        account = self.account
        account.threads = len(expected)
        account.found_gone = sum(t.found_gone for t in expected)
        account.late = sum(t.state == j.LATE for t in expected)
        account.outages = sum(
            len(path.read_text().splitlines()) for path in self._folder.glob("*.errors")
        )
        self._note([t for t in expected if t.wrong], "found wrong by their owners")
        with self._a_day_later() as store:
            self._look_for_late_writes(store)
            self._check_rows(expected)
            self._check_counts(store, expected)
        for path in self._journals:
            self._check_kept(path)

    def _look_for_late_writes(self, store: Store) -> None:
        """Sweep until every tombstone was looked at for the last time.

        The first of these sweeps ends a run that its killed workers left; each looks at so many.
        """
        for _ in range(_SWEEPS):
            local = LocalDispatch()
            run_sweep(Sweep(store, POLICY, (), local, _tomorrow), local, uuid.uuid4().hex)
            if not store.runs.late_sources(_tomorrow() - timedelta(days=1), 1):
                return
        self._note([_SWEEPS], "tombstones are left after as many sweeps")

    def _check_rows(self, expected: list[Expected]) -> None:
        """Only threads that somebody needs have rows, and all of them do."""
        kept = {t.thread_id for t in expected if t.state not in j.GOING}
        rows = census_of(self._deployment.provider, self._deployment.address).rows()
        self._note(sorted({t for _, t in rows} - kept), "rows of threads that are to be gone")
        there = {t for table, t in rows if table == "checkpoints"}
        self._note(sorted(kept - there), "lost threads")
        self.account.kept = len(kept)

    def _check_counts(self, store: Store, expected: list[Expected]) -> None:
        """The run log deleted each thread as often as its owner knows."""
        due = Counter({t.thread_id: t.found_gone + (t.state in j.GOING) for t in expected})
        recorded = Counter(recorded_deletes(store))
        self._note(recorded - due, "deleted too often")
        self._note(due - recorded, "never recorded as deleted")
        total = due.total()
        self._note({k: n for k, n in counted_deletes(store).items() if n != total}, f"of {total}")
        self.account.deleted, self.account.runs = total, len(store.runs.history(100_000))

    def _check_kept(self, path: Path) -> None:
        """Each thread is as its owner left it, and each parked one goes on from there."""
        with ExitStack() as stack:
            owner = opened(self._deployment.address, path, 0, stack)
            for thread in owner.journal.those(j.LIVE, j.PARKED):
                values = owner.state(thread).values
                self._note([] if values.get("log") == thread.log else [thread, values], "changed")
            for thread in owner.journal.those(j.PARKED):
                self._resume(owner, thread)

    def _resume(self, owner: Owner, thread: Expected) -> None:
        log = owner.answer(thread)
        self._note([] if log[-1] == "last" and "ask=yes" in log else [thread, log], "not resumed")
        self.account.resumed += 1

    def _expected(self) -> list[Expected]:
        return [t for path in self._journals for t in Journal(path).threads.values()]

    def _a_day_later(self) -> AbstractContextManager[Store]:
        """The store, when each tombstone is looked at for the last time."""
        options = StoreOptions(policy=POLICY, access=Access.WRITE, clock=_tomorrow)
        return open_store(self._deployment.address, settings=options)

    def _note(self, wrong: object, what: str) -> None:
        if wrong:
            self.account.mismatches.append(f"{what}: {wrong}"[:_SHOWN])
