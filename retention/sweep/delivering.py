"""Telling the hooks which threads a batch deleted: after its end, and in later ticks until told."""

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from retention.abilities import SupportsErasing
from retention.deliveries import Delivery, Undelivered
from retention.errors import ConfigurationError, StoreError, StoreUnavailableError
from retention.events import event
from retention.runs import Source
from retention.sweep.context import Sweep

log = logging.getLogger("retention.sweep")

#: Batches read at once of those that are due.
_PAGE = 100
#: After so many batches whose hooks fail a tick stops: they are down, and the sweep waits.
_FAILURES_A_TICK = 3
#: More batches than this owe a delivery where hooks are down: then no batch waits for them.
_BACKLOG = 50

#: The first failure is tried again in the next tick; from then on each pause is twice the last.
_FIRST_PAUSE = timedelta(minutes=1)
_LONGEST_PAUSE = timedelta(hours=6)
_MOST_DOUBLINGS = 10


def deliver(sweep: Sweep, source: Source) -> bool:
    """Tell the hooks that were not told yet of a batch; False if one of them failed.

    A delivery that is not due, or that somebody else is at, is left alone.
    """
    return not any(tell(sweep, source).values())


def tell(sweep: Sweep, source: Source) -> Mapping[str, str | None]:
    """As ``deliver``; the error of each hook that was told now, None for none."""
    now = sweep.clock()
    hooks = sweep.hooks
    # Longer than all of them may take: nobody else tells them meanwhile.
    until = now + hooks.timeout * len(hooks.calls) + sweep.options.lease
    taken = sweep.store.runs.deliveries.take(source, now, until)
    if taken is None:
        return {}
    if _is_too_old(sweep, taken, now):
        _give_up(sweep, taken, now)
        return {}
    if taken.is_erase and not taken.batch.outcomes and not _is_gone(sweep, taken):
        sweep.store.runs.deliveries.drop(source)
        return {}
    open_hooks = [name for name in hooks.calls if not _is_told(taken, name)]
    told = hooks.tell(taken.thread_ids, source.run_id, open_hooks)
    _keep(sweep, taken, told)
    return told


def deliver_pending(sweep: Sweep) -> None:
    """Tell hooks of batches whose delivery is due: what failed, and what a dead worker left.

    It ends with the last of them, after a few failures, or as a run's lease would.
    """
    seen: set[Source] = set()
    began, failures = sweep.clock(), 0
    while found := _unseen(sweep, began, seen):
        for source in found:
            seen.add(source)
            failures += not _try(sweep, source)
            if failures >= _FAILURES_A_TICK or sweep.clock() - began > sweep.options.lease:
                return


def _try(sweep: Sweep, source: Source) -> bool:
    """As ``deliver``; what the store refuses of one batch holds up neither others nor the tick."""
    try:
        return deliver(sweep, source)
    except StoreUnavailableError:
        raise
    except (StoreError, ConfigurationError) as error:
        put_off(source, error)
        return False


def put_off(source: Source, error: Exception) -> None:
    """Say that the store failed when hooks were to be told; the next tick tells them."""
    run, batch = source.run_id, source.number
    event(log, logging.WARNING, "delivery_put_off", run=run, batch=batch, error=error)


def is_behind(sweep: Sweep) -> bool:
    """Whether so many batches owe a delivery that the hooks must be down, or too slow."""
    return sweep.store.runs.deliveries.count() > _BACKLOG


def _unseen(sweep: Sweep, due: datetime, seen: Collection[Source]) -> list[Source]:
    # What failed just now may be due again at once: that is for the next tick.
    found = sweep.store.runs.deliveries.pending(due, _PAGE + len(seen))
    return [source for source in found if source not in seen]


def _is_gone(sweep: Sweep, taken: Undelivered) -> bool:
    """Whether a thread is gone whose erase ended before it could say what came of it."""
    (thread_id,) = taken.thread_ids
    deleter = sweep.store.deleter
    try:
        if isinstance(deleter, SupportsErasing) and not any(deleter.holdings(thread_id).values()):
            return True
    except StoreUnavailableError:
        raise
    except (StoreError, ConfigurationError) as error:
        event(log, logging.WARNING, "erase_unfinished", thread=thread_id, error=error)
        return False
    event(log, logging.WARNING, "erase_unfinished", thread=thread_id, error=None)
    return False


def _keep(sweep: Sweep, taken: Undelivered, told: Mapping[str, str | None]) -> None:
    """Record what came of it, and when the hooks that failed are told again."""
    now = sweep.clock()
    fresh = {name: _next(taken, name, error, now) for name, error in told.items()}
    failed = {name: delivery for name, delivery in fresh.items() if delivery.error is not None}
    for name, delivery in failed.items():
        event(
            log,
            logging.ERROR,
            "hook_failed",
            run=taken.batch.run_id,
            batch=taken.batch.number,
            hook=name,
            attempts=delivery.attempts,
            error=delivery.error,
        )
    attempts = max((delivery.attempts for delivery in failed.values()), default=0)
    retry_at = now + _pause(attempts) if failed else None
    _record(sweep, taken, {**taken.deliveries, **fresh}, retry_at, now)


def _record(
    sweep: Sweep,
    taken: Undelivered,
    deliveries: Mapping[str, Delivery],
    retry_at: datetime | None,
    now: datetime,
) -> None:
    """Keep how far each hook is. What an erase owed goes when it is paid: it names the thread."""
    if taken.is_erase and retry_at is None:
        sweep.store.runs.deliveries.drop(taken.source)
    else:
        sweep.store.runs.deliveries.record(taken.source, deliveries, retry_at, now)


def _next(taken: Undelivered, name: str, error: str | None, now: datetime) -> Delivery:
    attempts = taken.deliveries.get(name, Delivery()).attempts + 1
    return Delivery(attempts, now if error is None else None, error)


def _is_told(taken: Undelivered, name: str) -> bool:
    return taken.deliveries.get(name, Delivery()).delivered_at is not None


def _pause(attempts: int) -> timedelta:
    if attempts <= 1:
        return timedelta()
    return min(_FIRST_PAUSE * (1 << min(attempts - 2, _MOST_DOUBLINGS)), _LONGEST_PAUSE)


def _is_too_old(sweep: Sweep, taken: Undelivered, now: datetime) -> bool:
    """Whether the batch's record goes by now, and with it who is to be told of what."""
    done = taken.batch.done_at
    return bool(sweep.hooks.calls) and done is not None and done < now - sweep.options.history


def _give_up(sweep: Sweep, taken: Undelivered, now: datetime) -> None:
    event(
        log,
        logging.ERROR,
        "delivery_given_up",
        run=taken.batch.run_id,
        batch=taken.batch.number,
        threads=len(taken.thread_ids),
        attempts=taken.attempts,
    )
    _record(sweep, taken, taken.deliveries, None, now)
