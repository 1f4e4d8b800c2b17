"""Ending a thread at an operator's word: it is marked finished, and nothing more can run on it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from retention.abilities import SupportsEnding, ThreadState, cannot
from retention.errors import ConfigurationError
from retention.ports import CheckpointStore
from retention.statuses import QUIET, ThreadStatus, activity_of, status_of
from retention.threads import Ended


@dataclass(frozen=True, slots=True)
class EndRule:
    """Which threads may be ended: one whose head is still this one, and that nobody works on.

    ``quiet`` is how long ago a thread must have been active last, at least, not to count as
    running; without a ``head`` any will do.
    """

    now: datetime
    quiet: timedelta = QUIET
    head: str | None = None

    def __call__(self, state: ThreadState) -> str | None:
        """Say in a line why a thread must not be ended; None where it may."""
        facts = state.facts
        name = f"thread {facts.thread_id!r}"
        if facts.head is None:
            return f"{name} holds no checkpoint: there is nothing to end"
        status = status_of(state, self.now, self.quiet)
        if status is ThreadStatus.RUNNING:
            return f"{name} counts as running: {self._sign_of_life(state)}; there are no leases yet"
        if status is ThreadStatus.ENDED:
            return f"{name} was ended already: {_by_whom(state)}"
        if status is ThreadStatus.FINISHED:
            return f"{name} is marked finished already: {_by_whom(state)}"
        if self.head is not None and facts.head != self.head:
            return (
                f"the head of {name} is {facts.head} by now, not {self.head}: something was "
                "written to it meanwhile"
            )
        return None

    def _sign_of_life(self, state: ThreadState) -> str:
        if state.is_locked:
            return "something is at work on it just now"
        if state.facts.head_at is None:
            return "the age of its head cannot be told"
        activity = activity_of(state.facts)
        at = "" if activity is None else activity.isoformat()
        return f"it was active at {at}, within the last {self.quiet.total_seconds():g} seconds"


def end(store: CheckpointStore, thread_id: str, ended: Ended, rule: EndRule) -> str | None:
    """End a thread, if the rule lets it, in one step with its look at the thread.

    Its mark is due a finished retention later; each later start or put of our savers raises
    ``ThreadEndedError``. Stock savers know nothing of it.

    Returns:
        Why it was not ended, in a line; None where it was.

    Raises:
        ConfigurationError: No reason or no name was given, or the store cannot end threads.
        StoreUnavailableError: The store cannot be reached.
    """
    for what, said in (("a reason", ended.reason), ("the name of whoever says so", ended.by)):
        if not said.strip():
            raise ConfigurationError(f"to end a thread needs {what}: none was given")
    ledger = store.ledger
    if not isinstance(ledger, SupportsEnding):
        raise cannot(store, "end threads")
    return ledger.end(thread_id, ended, rule)


def _by_whom(state: ThreadState) -> str:
    entry = state.facts.entry
    if entry is not None and entry.ended is not None:
        return f"by {entry.ended.by!r} at {entry.ended.at.isoformat()}: {entry.ended.reason!r}"
    owner = entry.owner if entry is not None else None
    return "its owner gave no name" if owner is None else f"by {owner!r}"
