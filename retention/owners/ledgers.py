"""The ledgers of an owner's threads, opened when they are first needed."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

from retention.errors import ConfigurationError
from retention.owners.steps import Step, Steps
from retention.policy import ThreadRetention
from retention.ports import Ledger

#: A ledger, or what opens one; for ``async with`` that may be an async function.
LedgerSource: TypeAlias = Ledger | Callable[[], Ledger] | Callable[[], Awaitable[Ledger]]


class LedgerThreads:
    """Threads of one owner that one ledger keeps."""

    def __init__(self, source: LedgerSource, thread_ids: Sequence[str]) -> None:
        """Open nothing yet."""
        self.thread_ids = tuple(thread_ids)
        self._source = source
        self._ledger: Ledger | None = None

    def start(self, retention: ThreadRetention | None) -> Steps[None]:
        """Take the threads out of the finished set, and declare their retention."""
        self._ledger = ledger = yield from _opened(self._source)
        ids = self.thread_ids
        yield Step(lambda: ledger.start(ids, retention), lambda: ledger.astart(ids, retention))

    def mark(self, owner: str) -> Steps[bool]:
        """Mark the threads finished, once they were started."""
        ledger, ids = cast(Ledger, self._ledger), self.thread_ids
        yield Step(
            lambda: ledger.mark_finished(ids, owner), lambda: ledger.amark_finished(ids, owner)
        )
        return True


def _opened(source: LedgerSource) -> Steps[Ledger]:
    if not callable(source):
        return _checked(source)
    opener = cast(Callable[[], Any], source)
    ledger: Ledger = yield Step(lambda: _open(opener), lambda: _aopen(opener))
    return _checked(ledger)


def _checked(ledger: Ledger) -> Ledger:
    if not all(hasattr(ledger, name) for name in ("start", "mark_finished")):
        raise ConfigurationError(
            f"ledger must be the `ledger` of a store, or a function that opens it: got a "
            f"{type(ledger).__name__}"
        )
    return ledger


def _open(opener: Callable[[], Any]) -> Any:
    found = opener()
    if inspect.iscoroutine(found):
        # Else Python warns of a coroutine that nobody awaited.
        found.close()
        raise ConfigurationError("a ledger opened by an async function needs `async with`")
    return found


async def _aopen(opener: Callable[[], Any]) -> Any:
    found = opener()
    return await found if inspect.isawaitable(found) else found
