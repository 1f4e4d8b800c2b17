"""Whether a sweep, or its next batch, may begin: asked between transactions, never within one."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from retention.brakes import Pause, SupportsStrain
from retention.errors import ConfigurationError
from retention.events import event
from retention.runs import RunOutcome, RunState
from retention.sweep.context import Sweep
from retention.sweep.result import SweepResult

log = logging.getLogger("retention.sweep")

_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class HeldUp:
    """Why no batch may begin; ``retry_at`` is when to ask again, None where the next sweep does."""

    reason: str
    retry_at: datetime | None = None


def pause_in_force(sweep: Sweep) -> Pause | None:
    """The pause that stands at this moment."""
    found = sweep.store.runs.pauses.current()
    return found if found is not None and found.is_on(sweep.clock()) else None


def pause(
    sweep: Sweep,
    until: datetime | None = None,
    by: str | None = None,
    reason: str | None = None,
) -> Pause:
    """Let no sweep begin, and a live run begin no further batch; batches at work end normally.

    Raises:
        ConfigurationError: ``until`` is past, or in no time zone.
    """
    placed = Pause(sweep.clock(), until, by, reason).placed()
    sweep.store.runs.pauses.put(placed)
    return placed


def resume(sweep: Sweep) -> bool:
    """End the pause; the next sweep sends the batches of a live run again. False if none stood."""
    found = sweep.store.runs.pauses.current()
    if found is None:
        return False
    now = sweep.clock()
    sweep.store.runs.pauses.take_off()
    run = sweep.store.runs.live()
    if run is not None and run.state is RunState.SWEEPING:
        # The messages of its batches were used up meanwhile. As nobody renews it from now on, the
        # next sweep sends them again, however short the pause was.
        sweep.store.runs.renew(run.run_id, now - _MOMENT)
    return found.is_on(now)


def hold_up(sweep: Sweep, run_id: str) -> HeldUp | None:
    """Whether a batch of a run has to wait: for an operator, or for a server that is behind.

    For the server it waits here, up to ``backoff_longest``.
    """
    paused = pause_in_force(sweep)
    if paused is not None:
        return HeldUp(f"sweeps are {paused}")
    reason = _strain(sweep)
    waited = timedelta()
    while reason is not None and not _is_out_of_time(sweep, run_id):
        if waited >= sweep.options.backoff_longest:
            sweep.store.runs.renew(run_id, sweep.lease_until())
            return HeldUp(reason, sweep.clock())
        sweep.sleep(sweep.options.backoff.total_seconds())
        waited += sweep.options.backoff
        reason = _strain(sweep)
    return None


def refuse(sweep: Sweep, run_id: str, reason: str) -> SweepResult:
    """The result of a sweep that may not begin now. No total counts it: it was meant to be so."""
    event(log, logging.INFO, "sweep_not_begun", run=run_id, reason=reason)
    return SweepResult(
        run_id,
        RunOutcome.REFUSED,
        sweep.store.provider,
        sweep.policy,
        sweep.clock(),
        skipped=sweep.store.waiting_skipped,
        reason=reason,
    )


def check_strain(sweep: Sweep) -> None:
    """See that what the back-off goes by can be read.

    Raises:
        ConfigurationError: This store has nothing to tell, or not to this role.
    """
    _strain(sweep)


def _strain(sweep: Sweep) -> str | None:
    """Say what of the server is above its limit; nothing is asked of it without a limit."""
    options = sweep.options
    if options.max_replica_lag is None and options.max_lock_waits is None:
        return None
    server = sweep.store.deleter
    if not isinstance(server, SupportsStrain):
        raise ConfigurationError(
            f"the {sweep.store.provider} store tells nothing of replicas and lock waits: leave "
            "SWEEP_MAX_REPLICA_LAG_SECONDS and SWEEP_MAX_LOCK_WAITS unset"
        )
    return _lagging(server, options.max_replica_lag) or _waiting(server, options.max_lock_waits)


def _lagging(server: SupportsStrain, limit: timedelta | None) -> str | None:
    if limit is None or (lag := server.replica_lag()) <= limit:
        return None
    return (
        f"a replica is {lag.total_seconds():.0f} seconds behind, more than "
        f"{limit.total_seconds():g} (SWEEP_MAX_REPLICA_LAG_SECONDS)"
    )


def _waiting(server: SupportsStrain, limit: int | None) -> str | None:
    if limit is None or (waits := server.lock_waits()) <= limit:
        return None
    return f"{waits} sessions wait for a lock, more than {limit} (SWEEP_MAX_LOCK_WAITS)"


def _is_out_of_time(sweep: Sweep, run_id: str) -> bool:
    """Whether the next batch would end the run for its time budget: no need to wait for that."""
    budget = sweep.options.time_budget
    if budget is None:
        return False
    run = sweep.store.runs.get(run_id)
    return run is None or sweep.clock() - run.started_at >= budget
