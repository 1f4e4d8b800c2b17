"""An agent run: it mints its thread, and marks it finished unless the agent waits for an answer."""
# ruff: noqa: T201 - it prints what it did

from collections.abc import Sequence

from langgraph.types import Command

from examples import letters
from retention import ThreadRetention
from retention.owners import agent_run
from stores import Store, aopen_store, open_store

#: The thread of a finished letter may go an hour after its mark.
RETENTION = ThreadRetention(finished_minutes=60)


def run(address: str) -> None:
    """One agent that reaches its end, and one that asks first."""
    with open_store(address) as store:
        writer = letters.series(store.saver, write=letters.write)
        with agent_run(ledger=store.ledger, graph=writer, retention=RETENTION) as done:
            writer.invoke({"lines": ["Dear all"]}, done.config)
        asker = letters.series(store.saver, write=letters.write, approve=letters.approve)
        with agent_run(ledger=store.ledger, graph=asker, graph_id="asker") as parked:
            asker.invoke({"lines": ["Dear boss"]}, parked.config)
        tell(store, done.thread_id, parked.thread_id)
        # Whoever has the answer resumes the thread as a caller's: it stays unmarked.
        with agent_run(ledger=store.ledger, graph=asker, thread_id=parked.thread_id) as resumed:
            state = asker.invoke(Command(resume="yes"), resumed.config)
        print(state["lines"][-1])


async def arun(address: str) -> None:
    """The same with ``async with``."""
    async with aopen_store(address) as store:
        writer = letters.series(store.saver, write=letters.write)
        async with agent_run(ledger=store.ledger, graph=writer, retention=RETENTION) as done:
            await writer.ainvoke({"lines": ["Dear all"]}, done.config)
        asker = letters.series(store.saver, write=letters.write, approve=letters.approve)
        async with agent_run(ledger=store.ledger, graph=asker, graph_id="asker") as parked:
            await asker.ainvoke({"lines": ["Dear boss"]}, parked.config)
        tell(store, done.thread_id, parked.thread_id)
        async with agent_run(
            ledger=store.ledger, graph=asker, thread_id=parked.thread_id
        ) as resumed:
            state = await asker.ainvoke(Command(resume="yes"), resumed.config)
        print(state["lines"][-1])


def tell(store: Store, done: str, parked: str) -> None:
    """Say what the ledger keeps of both threads."""
    entries = store.ledger.entries([done, parked])
    print(f"{done}: finished, due at {entries[done].due_at}")
    print(f"{parked}: waits, marked at {entries[parked].marked_at}")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example."""
    letters.main(run, arun, argv)


if __name__ == "__main__":
    main()
