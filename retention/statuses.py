"""Where a thread stands, told from what hangs on its newest checkpoint; no state is decoded.

There are no leases: whether a run is still going is told from the thread's lock and from how long
ago it was last active. A run that was cancelled leaves an error like one that failed, or nothing.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from retention.abilities import SupportsFailures, ThreadState
from retention.ports import CheckpointStore, SupportsPendingInterrupts
from retention.threads import Hold, ThreadFacts

#: A thread that was active this lately counts as running unless told otherwise.
QUIET = timedelta(seconds=60)


class ThreadStatus(StrEnum):
    """Where a thread stands. ``idle``: nothing tells whether its last run came to its end."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    FINISHED = "finished"
    ENDED = "ended"
    IDLE = "idle"


def activity_of(facts: ThreadFacts) -> datetime | None:
    """When the thread was last active: its head's time or its last start; None if unknown."""
    started = facts.entry.started_at if facts.entry else None
    return max((t for t in (facts.head_at, started) if t is not None), default=None)


def hold_on(facts: ThreadFacts, now: datetime) -> Hold | None:
    """The hold on a thread, as far as it stands at an instant."""
    hold = facts.entry.hold if facts.entry else None
    return hold if hold is not None and hold.is_on(now) else None


def state_of(store: CheckpointStore, facts: ThreadFacts) -> ThreadState:
    """The state of a thread as a reader sees it, who cannot tell whether it is locked."""
    threads, ids = store.threads, [facts.thread_id]
    asked = isinstance(threads, SupportsPendingInterrupts) and threads.pending_interrupts(ids)
    failed = isinstance(threads, SupportsFailures) and threads.failures(ids)
    return ThreadState(facts, is_interrupted=bool(asked), has_failed=bool(failed))


def is_at_work(state: ThreadState, now: datetime, quiet: timedelta) -> bool:
    """Whether the thread counts as running: locked, or active within this time.

    A head of unknown age counts too, unless no time is asked for.
    """
    facts = state.facts
    if state.is_locked:
        return True
    if facts.head is not None and facts.head_at is None:
        return quiet > timedelta(0)
    activity = activity_of(facts)
    return activity is not None and now - activity < quiet


def status_of(state: ThreadState, now: datetime, quiet: timedelta = QUIET) -> ThreadStatus:
    """The status of a thread at an instant."""
    entry = state.facts.entry
    if entry is not None and entry.ended is not None:
        return ThreadStatus.ENDED
    if is_at_work(state, now, quiet):
        return ThreadStatus.RUNNING
    if state.is_interrupted:
        return ThreadStatus.INTERRUPTED
    if state.has_failed:
        return ThreadStatus.FAILED
    is_marked = entry is not None and entry.due_at is not None
    return ThreadStatus.FINISHED if is_marked else ThreadStatus.IDLE
