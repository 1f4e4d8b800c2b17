"""A program that runs real LangGraph agents on one store, and keeps a journal of its threads."""

import random
import sqlite3
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from retention.errors import StoreError
from retention.policy import RetentionPolicy
from stores import Access, Store, StoreOptions, open_store
from tests.chaos import journal as j
from tests.chaos.journal import Expected, Journal
from tests.integration import graphs
from tests.seeding import config_of

#: Finished threads go within the soak, all others outlive it by far.
POLICY = RetentionPolicy(waiting_minutes=60 * 24 * 30, finished_minutes=1)
_KINDS: dict[str, Callable[[], Any]] = {
    "chain": graphs.chain,
    "asking": graphs.asking,
    "within": graphs.asking_within,
}
_GIVEN: dict[str, Any] = {"log": [], "count": 0}
_ANSWER: Any = Command(resume="yes")
_DURABILITIES = ("sync", "async", "exit")
#: A store under fire may be locked or away for a moment: the agent then goes on as after a crash.
_PASSING = (StoreError, sqlite3.OperationalError, psycopg.OperationalError)


@cache
def logs_of(kind: str) -> list[list[str]]:
    """The logs of a run of this kind at its park and at its end, from a store that is only ours."""
    agent = graphs.SyncAgent(_KINDS[kind](), InMemorySaver())
    agent.run(_GIVEN, config_of("t"))
    parked: list[str] = agent.state(config_of("t")).values["log"]
    if agent.state(config_of("t")).next:
        agent.run(_ANSWER, config_of("t"))
    return [parked, agent.state(config_of("t")).values["log"]]


@dataclass
class Owner:
    """An agent program: it owns the threads of its journal."""

    store: Store
    journal: Journal
    rng: random.Random

    def __post_init__(self) -> None:
        self._agents = {
            kind: graphs.SyncAgent(build(), self.store.saver) for kind, build in _KINDS.items()
        }

    def act(self) -> None:
        """Do one thing with one thread."""
        acts = [self._begin, self._begin, self._answer, self._fork, self._take_back]
        acts += [self._finish_kept, self._write_late]
        self.rng.choice(acts)()

    def recover(self) -> None:
        """Bring what was cut short to an end."""
        for thread in self.journal.those(j.RUNNING):
            self._go_on(thread)
        for thread in self.journal.those(j.RESTARTING):
            self._take_back_one(thread)
        for thread in self.journal.those(j.MARKING):
            self._mark(thread)

    def state(self, thread: Expected) -> Any:
        """The state of a thread."""
        return self._agents[thread.kind].state(config_of(thread.thread_id))

    def answer(self, thread: Expected) -> list[str]:
        """Answer a parked thread; the log at its end."""
        thread = self.journal.note(thread, state=j.RUNNING)
        self._run(thread, _ANSWER)
        log: list[str] = self.state(thread).values["log"]
        return log

    def _begin(self) -> None:
        kind = self.rng.choice(list(_KINDS))
        thread = self.journal.note(Expected(f"{kind}-{uuid.uuid4().hex[:12]}", kind))
        self.store.ledger.start([thread.thread_id])
        self._go_on(thread)

    def _go_on(self, thread: Expected) -> None:
        """Run a thread until it is parked or done, from wherever it is.

        Where the writes of the last step are saved and its checkpoint is not, LangGraph names no
        next step, and goes on all the same.
        """
        self.store.ledger.start([thread.thread_id])
        state = self.state(thread)
        if not state.values.get("log") and not state.next:
            self._run(thread, _GIVEN)
        elif not (state.next and state.interrupts):
            self._run(thread, None)
        self._settle(thread)

    def _run(self, thread: Expected, given: Any) -> None:
        durability = self.rng.choice(_DURABILITIES)
        self._agents[thread.kind].run(given, config_of(thread.thread_id), durability)

    def _settle(self, thread: Expected) -> None:
        """Write down where a thread is, and mark it if it is done."""
        state = self.state(thread)
        log = state.values["log"]
        is_forked = "forked" in log
        parked, end = logs_of(thread.kind)
        if state.next:
            expected = ["forked"] if is_forked else parked
            wrong = self._wrong(log, expected)
            self.journal.note(thread, state=j.PARKED, log=log, wrong=wrong)
            return
        expected = ["forked", "ask=yes", "last"] if is_forked else end
        wrong = self._wrong(log, expected)
        head = state.config["configurable"]["checkpoint_id"]
        thread = self.journal.note(thread, log=log, head=head, wrong=wrong, state=j.LIVE)
        if self.rng.random() < 0.8:
            self._mark(thread)

    @staticmethod
    def _wrong(log: list[str], expected: list[str]) -> str:
        return "" if log == expected else f"log {log} where {expected} was to be"

    def _mark(self, thread: Expected) -> None:
        thread = self.journal.note(thread, state=j.MARKING)
        self.store.ledger.mark_finished([thread.thread_id])
        self.journal.note(thread, state=j.FINISHED, marked_at=time.time())

    def _answer(self) -> None:
        """Answer one of the older parked threads; the newest ones wait to the end."""
        parked = self.journal.those(j.PARKED)[:-5]
        if parked:
            thread = self.rng.choice(parked)
            self.answer(thread)
            self._settle(thread)

    def _fork(self) -> None:
        """Put other values in place of a parked thread's first step."""
        parked = [t for t in self.journal.those(j.PARKED) if t.kind == "asking"]
        if not parked:
            return
        thread = self.journal.note(self.rng.choice(parked), state=j.RUNNING)
        agent, config = self._agents[thread.kind], config_of(thread.thread_id)
        older = [s for s in agent.history(config) if s.next == ("first",)]
        if older:
            place = older[0].config
            agent.graph.update_state(place, {"log": ["forked"], "count": 1}, as_node="first")
        self._go_on(thread)

    def _take_back(self) -> None:
        """Take a finished thread back, at about the time when it goes."""
        retention = POLICY.finished_minutes * 60
        ripe = [
            t for t in self.journal.those(j.FINISHED)
            if retention - 3 < time.time() - t.marked_at < retention + 8
        ]  # fmt: skip
        if ripe:
            self._take_back_one(self.journal.note(self.rng.choice(ripe), state=j.RESTARTING))

    def _take_back_one(self, thread: Expected) -> None:
        """After the start nobody deletes it: it is whole, or it is gone and begins anew."""
        self.store.ledger.start([thread.thread_id])
        state = self.state(thread)
        if not state.values:
            gone = thread.found_gone + 1
            self._go_on(self.journal.note(thread, state=j.RUNNING, log=[], found_gone=gone))
            return
        wrong = self._wrong(state.values["log"], thread.log)
        self.journal.note(thread, state=j.LIVE, wrong=wrong)

    def _finish_kept(self) -> None:
        kept = self.journal.those(j.LIVE)[:-3]
        if kept:
            self._mark(self.rng.choice(kept))

    def _write_late(self) -> None:
        """Hand in a write of a run whose thread is gone."""
        gone = [t for t in self.journal.those(j.FINISHED) if time.time() - t.marked_at > 90]
        if not gone:
            return
        thread = self.rng.choice(gone)
        facts = self.store.threads.facts([thread.thread_id])[thread.thread_id]
        if facts.head is None:
            self.journal.note(thread, state=j.LATE)
            config = config_of(thread.thread_id, "", thread.head)
            self.store.saver.put_writes(config, [("log", ["late"])], "late-task")


def opened(address: str, path: Path, seed: int, stack: ExitStack) -> Owner:
    """The owner of a journal, on its store."""
    options = StoreOptions(policy=POLICY, access=Access.WRITE)
    store = stack.enter_context(open_store(address, settings=options))
    return Owner(store, Journal(path), random.Random(seed))


def run_agents(address: str, path: Path, seed: int, stop: Path) -> None:
    """Run agents until a file is there, or somebody kills the process."""
    while not stop.exists():
        with ExitStack() as stack:
            try:
                owner = opened(address, path, seed, stack)
                owner.recover()
                while not stop.exists():
                    owner.act()
            except _PASSING as error:
                with path.with_suffix(".errors").open("a") as file:
                    file.write(f"{type(error).__name__}: {error}\n")
