"""Owners at work: one open store, and runs on it through ``with`` or ``async with``."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from retention.owners import RunContext
from retention.ports import Ledger
from retention.threads import LedgerEntry
from stores import Store, aopen_store, open_store
from tests.integration.graphs import NOTHING

Body = Callable[[Any], object]


class UnlikelyError(Exception):
    """Raised by nobody."""


def nothing(run: Any) -> None:
    """A body that does nothing."""


@dataclass
class World:
    """A store, open; with a loop, its graphs run async."""

    store: Store
    loop: asyncio.Runner | None = field(default=None, repr=False)

    @classmethod
    @contextmanager
    def of(cls, address: str, mode: str) -> Iterator["World"]:
        """Open a store for sync or async runs."""
        if mode == "sync":
            with open_store(address) as store:
                yield cls(store)
            return
        with asyncio.Runner() as loop:
            opened = cls.opened(address)
            found = loop.run(_enter(opened))
            try:
                yield cls(found.store, loop)
            finally:
                loop.run(_leave(opened))

    @classmethod
    @asynccontextmanager
    async def opened(cls, address: str) -> AsyncIterator["World"]:
        """Open a store within a test's own loop."""
        async with aopen_store(address) as store:
            yield cls(store)

    @property
    def ledger(self) -> Any:
        """What opens the ledger: a function of the kind that fits the mode."""

        async def opening() -> Ledger:
            return self.store.ledger

        return opening if self.loop is not None else lambda: self.store.ledger

    def run(
        self,
        context: RunContext[Any],
        graph: Any,
        *inputs: Any,
        durability: str = "async",
        before: Body = nothing,
        then: Body = nothing,
        suppress: type[Exception] = UnlikelyError,
    ) -> Any:
        """Invoke a graph inside a run, once for each input; gives the run."""
        given = inputs or (NOTHING,)
        options = {"durability": durability} if graph.checkpointer else {}

        async def arun() -> Any:
            async with context as run:
                before(run)
                for each in given:
                    with contextlib.suppress(suppress):
                        await graph.ainvoke(each, run.config, **options)
                then(run)
            return run

        if self.loop is not None:
            return self.loop.run(arun())
        with context as run:
            before(run)
            for each in given:
                with contextlib.suppress(suppress):
                    graph.invoke(each, run.config, **options)
            then(run)
        return run

    def only(self, context: RunContext[Any], body: Body) -> None:
        """A run that invokes nothing."""

        async def arun() -> None:
            async with context as run:
                body(run)

        if self.loop is not None:
            self.loop.run(arun())
            return
        with context as run:
            body(run)

    def stream(self, context: RunContext[Any], graph: Any, how: str) -> Any:
        """Stream a run ``to the end``, ``broken off`` or ``closed by its reader``; gives it."""
        if self.loop is not None:
            return self.loop.run(_aread(context, graph, how))
        seen: list[Any] = []
        with contextlib.closing(_chunks(context, graph, how, seen)) as found:
            for _ in found:
                if how == "closed by its reader":
                    break
        return seen[0]

    def compile(self, graph: Any, **options: Any) -> Any:
        """A graph on this store."""
        return graph.compile(checkpointer=self.store.saver, **options)

    def state(self, graph: Any, run: Any) -> Any:
        """The state of a run's thread."""
        if self.loop is None:
            return graph.get_state(run.config)
        return self.loop.run(graph.aget_state(run.config))

    def entry(self, thread_id: str) -> LedgerEntry:
        """What the ledger keeps of a thread; nothing where it knows none."""
        found = self.store.ledger.entries([thread_id])
        return found.get(thread_id, LedgerEntry(thread_id))

    def is_marked(self, thread_id: str) -> bool:
        """Whether a thread is in the finished set."""
        return self.entry(thread_id).marked_at is not None

    def holds(self, thread_id: str) -> bool:
        """Whether a thread has a checkpoint."""
        found = self.store.threads.facts([thread_id]).get(thread_id)
        return found is not None and found.head is not None

    def metadata(self, thread_id: str) -> list[Any]:
        """The metadata of all checkpoints of a thread."""
        config: Any = {"configurable": {"thread_id": thread_id}}

        async def read() -> list[Any]:
            return [one.metadata async for one in self.store.saver.alist(config)]

        if self.loop is not None:
            return self.loop.run(read())
        return [one.metadata for one in self.store.saver.list(config)]


def _chunks(
    context: RunContext[Any], graph: Any, how: str, seen: list[Any]
) -> Generator[Any, None, None]:
    with context as run:
        seen.append(run)
        for chunk in graph.stream(NOTHING, run.config, durability="sync"):
            if how == "broken off":
                break
            yield chunk


async def _achunks(
    context: RunContext[Any], graph: Any, how: str, seen: list[Any]
) -> AsyncGenerator[Any, None]:
    async with context as run:
        seen.append(run)
        streamed = graph.astream(NOTHING, run.config, durability="sync")
        async with contextlib.aclosing(streamed):
            async for chunk in streamed:
                if how == "broken off":
                    break
                yield chunk


async def _aread(context: RunContext[Any], graph: Any, how: str) -> Any:
    seen: list[Any] = []
    async with contextlib.aclosing(_achunks(context, graph, how, seen)) as found:
        async for _ in found:
            if how == "closed by its reader":
                break
    return seen[0]


async def _enter(opened: Any) -> World:
    found: World = await opened.__aenter__()
    return found


async def _leave(opened: Any) -> None:
    await opened.__aexit__(None, None, None)


def fresh(name: str) -> str:
    """A thread id that no other test uses: they share a database."""
    return f"{name}-{uuid.uuid4().hex[:8]}"
