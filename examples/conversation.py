"""A conversation: each turn runs an agent on its thread, which stays open for the next."""
# ruff: noqa: T201 - it prints what it did

from collections.abc import Sequence

from examples import letters
from retention.owners import conversation
from stores import Store, aopen_store, open_store

TURNS = ("Hello", "And then?", "Goodbye")


def run(address: str) -> None:
    """Three turns; the first one mints the thread."""
    thread_id = None
    with open_store(address) as store:
        agent = letters.series(store.saver, write=letters.write)
        for text in TURNS:
            with conversation(ledger=store.ledger, graph=agent, thread_id=thread_id) as turn:
                thread_id = turn.thread_id
                state = agent.invoke({"lines": [text]}, turn.config)
            tell(store, thread_id, state["lines"])


async def arun(address: str) -> None:
    """The same with ``async with``."""
    thread_id = None
    async with aopen_store(address) as store:
        agent = letters.series(store.saver, write=letters.write)
        for text in TURNS:
            async with conversation(ledger=store.ledger, graph=agent, thread_id=thread_id) as turn:
                thread_id = turn.thread_id
                state = await agent.ainvoke({"lines": [text]}, turn.config)
            tell(store, thread_id, state["lines"])


def tell(store: Store, thread_id: str, lines: list[str]) -> None:
    """Say how long the thread is, and that nobody marked it."""
    entry = store.ledger.entries([thread_id])[thread_id]
    print(f"{thread_id}: {len(lines)} lines, marked at {entry.marked_at}")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example."""
    letters.main(run, arun, argv)


if __name__ == "__main__":
    main()
