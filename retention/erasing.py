"""Erasing a thread at an operator's word: now, whole, and with a receipt that proves it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from retention.abilities import SupportsErasing, cannot
from retention.errors import CheckpointDeleteError
from retention.events import event
from retention.explaining import hold_json
from retention.statuses import hold_on
from retention.sweep.context import Sweep
from retention.sweep.erase_debts import forgive_erase, owe_erase, pay_erase
from retention.sweep.limits import check_manager
from retention.sweep.rounds import delete_remnants
from retention.threads import Hold

log = logging.getLogger("retention.erasing")


class ErasureOutcome(StrEnum):
    """What came of an erase. ``unknown``: there was nothing under the id."""

    ERASED = "erased"
    HELD = "held"
    UNKNOWN = "unknown"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erase did: how much each table or key held of the thread, and what is left there.

    ``removed_late`` are rows that runs wrote while the thread was being erased. ``hooks`` are
    those that were told at once, by name, each with its error or None; ``run_id`` is what they are
    told as that of the sweep or erase.
    """

    thread_id: str
    provider: str
    by: str
    erased_at: datetime
    held: Mapping[str, int] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)
    removed_late: int = 0
    hold: Hold | None = None
    run_id: str = ""
    hooks: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def outcome(self) -> ErasureOutcome:
        """What came of it."""
        if self.hold is not None:
            return ErasureOutcome.HELD
        if any(self.left.values()):
            return ErasureOutcome.LEFT
        is_known = any(self.held.values()) or self.removed_late
        return ErasureOutcome.ERASED if is_known else ErasureOutcome.UNKNOWN

    def to_json(self) -> dict[str, Any]:
        """The receipt as JSON types; ``left`` is the total over ``tables``."""
        names = list(dict.fromkeys((*self.held, *self.left)))
        return {
            "thread_id": self.thread_id,
            "outcome": str(self.outcome),
            "store": self.provider,
            "erased_at": self.erased_at.isoformat(),
            "by": self.by,
            "tables": {
                name: {"held": self.held.get(name, 0), "left": self.left.get(name, 0)}
                for name in names
            },
            "removed_late": self.removed_late,
            "left": sum(self.left.values()),
            "hold": None if self.hold is None else hold_json(self.hold, self.erased_at),
            "run_id": self.run_id,
            "hooks": {
                name: {"told": error is None, "error": error} for name, error in self.hooks.items()
            },
        }


def holdings(sweep: Sweep, thread_id: str) -> dict[str, int]:
    """How much each table or key holds of a thread now; the run log apart.

    Raises:
        ConfigurationError: The store cannot tell.
    """
    return _deleter(sweep).holdings(thread_id)


def erase(sweep: Sweep, thread_id: str, by: str) -> Receipt:
    """Delete all of a thread now, whatever the horizons say; a hold alone keeps it.

    What a run writes meanwhile goes too, in rounds. What is no part of the erased thread, such as
    a new conversation under its id, is left and counted. The run log may still name the thread.

    Hooks are told after the commit, as they are of a batch: now those that are on in this sweep,
    by a later tick those that fail, and all of them where none is on here.

    Raises:
        ConfigurationError: The store cannot erase, or another program runs it.
        StoreUnavailableError: The store cannot be reached, or the thread's lock was not to be had.
        StoreError: The store refuses to delete a row, or whether the thread is held cannot be read.
    """
    check_manager(sweep)
    now, deleter = sweep.clock(), _deleter(sweep)
    debt = owe_erase(sweep, thread_id)
    erased = deleter.erase(thread_id, lambda facts: hold_on(facts, now) is None)
    hold, provider = hold_on(erased.facts, now), sweep.store.provider
    receipt = Receipt(thread_id, provider, by, now, hold=hold, run_id=debt.run_id)
    removed = None
    if hold is None:
        removed = _remove_late(sweep, thread_id, erased.facts.head or "", now)
        left = deleter.holdings(thread_id)
        receipt = replace(receipt, held=erased.held, left=left, removed_late=removed or 0)
    _log_erased(receipt)
    if removed is None or not (removed or any(erased.held.values())):
        forgive_erase(sweep, debt)
        return receipt
    return replace(receipt, hooks=pay_erase(sweep, debt))


def _log_erased(receipt: Receipt) -> None:
    event(
        log,
        logging.INFO,
        "thread_erased",
        thread=receipt.thread_id,
        by=receipt.by,
        outcome=receipt.outcome,
        removed=sum(receipt.held.values()) + receipt.removed_late,
        left=sum(receipt.left.values()),
    )


def _remove_late(sweep: Sweep, thread_id: str, head: str, now: datetime) -> int | None:
    """Remove what was written meanwhile; None where some will not go, for the receipt to show."""
    # No grace for writes that wait for their checkpoint: it was this thread's.
    options = replace(sweep.options, orphan_grace=timedelta(0))
    try:
        return delete_remnants(sweep.store.deleter, thread_id, head, options, now)
    except CheckpointDeleteError:
        return None


def _deleter(sweep: Sweep) -> SupportsErasing:
    deleter = sweep.store.deleter
    if not isinstance(deleter, SupportsErasing):
        raise cannot(sweep.store, "erase threads")
    return deleter
