"""Finding candidates, page by page: the same for a run and for a dry run."""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from itertools import islice
from typing import TypeVar

from retention.ids import is_datable, lowest_id_at
from retention.ports import Cursor, Page, SupportsWaitingHorizon, ThreadIndex
from retention.runs import Candidate
from retention.threads import Horizon, Rule, ThreadFacts, Verdict

Item = TypeVar("Item")

#: An id minted further ahead than this is taken for no date: no host's clock is off by more.
_CLOCK_SKEW = timedelta(days=1)


def candidates(threads: ThreadIndex, rule: Rule, page_size: int) -> Iterator[Candidate]:
    """All threads past a horizon, each once: those due first, then those waiting too long.

    Held, undatable and unreadable threads are candidates too, so that a result counts them. Memory
    holds one page, and the ids of unreadable threads. Waiting threads are read only where the rule
    sweeps them and the store can list them.
    """
    unreadable: set[str] = set()
    due = _pages(lambda after: threads.due_page(rule.due_before(), after, page_size))
    yield from _chosen(due, Horizon.FINISHED, _is_due, rule, unreadable)
    if rule.sweeps_waiting and isinstance(threads, SupportsWaitingHorizon):
        yield from _waiting(threads, rule, page_size, unreadable)


def in_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Items in lists of a size, the last one shorter."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


def _waiting(
    threads: SupportsWaitingHorizon, rule: Rule, page_size: int, unreadable: set[str]
) -> Iterator[Candidate]:
    declared = _pages(lambda after: threads.declared_page(rule.now, after, page_size))
    yield from _chosen(declared, Horizon.WAITING, _is_declared, rule, unreadable)
    cutoff, ceiling = rule.old_before(), rule.now + _CLOCK_SKEW
    old = _pages(lambda after: threads.head_page(cutoff, ceiling, after, page_size))
    yield from _chosen(old, Horizon.WAITING, _is_waiting, rule, unreadable)


def _chosen(
    listed: Iterable[ThreadFacts],
    horizon: Horizon,
    is_past: Callable[[ThreadFacts, Rule], bool],
    rule: Rule,
    unreadable: set[str],
) -> Iterator[Candidate]:
    """Of a listing, the threads past its horizon, and those unreadable that no other named."""
    for facts in listed:
        if facts.fault is not None:
            # Nothing it says of itself tells which listings have it: only its id does.
            if facts.thread_id in unreadable:
                continue
            unreadable.add(facts.thread_id)
        elif facts.revision is not None and not rule.policies and _may_go(facts, horizon, rule):
            # An operator's policy may be changed before its batch; what goes without one goes
            # with any.
            yield Candidate(facts.thread_id, horizon, facts.head, facts.revision)
            continue
        elif not is_past(facts, rule):
            continue
        yield Candidate(facts.thread_id, horizon, facts.head)


def _may_go(facts: ThreadFacts, horizon: Horizon, rule: Rule) -> bool:
    """Whether nothing but a filter can spare the thread as it is."""
    return horizon is Horizon.FINISHED and rule.judge(facts) is Verdict.FINISHED


def _pages(read: Callable[[Cursor | None], Page]) -> Iterator[ThreadFacts]:
    page = read(None)
    yield from page.facts
    while page.cursor is not None:
        page = read(page.cursor)
        yield from page.facts


def _is_due(facts: ThreadFacts, rule: Rule) -> bool:
    due_at = rule.due_at(facts)
    return due_at is not None and due_at <= rule.now


def _is_waiting(facts: ThreadFacts, rule: Rule) -> bool:
    """Whether the thread is past the waiting horizon and not found as a due one already."""
    return not _is_due(facts, rule) and rule.judge(facts) is not Verdict.LIVE


def _is_declared(facts: ThreadFacts, rule: Rule) -> bool:
    """Whether only the thread's declared retention lets it be found as a waiting one."""
    return not _is_old(facts, rule) and _is_waiting(facts, rule)


def _is_old(facts: ThreadFacts, rule: Rule) -> bool:
    """Whether ``head_page`` finds the thread as well, so that it is not planned twice.

    It goes by the head's id, not by the ``ts`` that may date the thread.
    """
    if facts.head is None:
        return False
    return facts.head < lowest_id_at(rule.old_before()) or not is_datable(facts.head)
