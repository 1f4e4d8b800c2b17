"""The run log on Redis: every step is one script in one slot.

Each comes to the same where it runs twice, since a client sends again what got no answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any
from uuid import uuid4

from retention.errors import ClaimLostError, ConfigurationError, StoreError
from retention.ports import BatchPlan, Claim
from retention.runs import Batch, BatchKind, Counts, Outcome, Run, RunOutcome, ThreadOutcome
from retention.sweep.result import outcome_of
from retention.threads import Horizon
from stores.redis import outcomes as kept
from stores.redis.layout import LOG, micros, raw
from stores.redis.requests import Arg, Call
from stores.redis.run_reading import RedisRunReader
from stores.redis.run_records import batch_from, run_from
from stores.redis.scripts import script
from stores.runlog.encoding import dump_candidates, dump_counts, dump_outcomes
from stores.runlog.totals import of_closed, of_plan

_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class RedisClaim(Claim):
    """A claim that also says when it ends by the server's clock, in milliseconds since 1970.

    That end is as far from the server's time at the claim as ``until`` was from the worker's. The
    scripts that delete go by it, so a worker whose clock is wrong deletes nothing too late.
    """

    deadline: int


class RedisRunLog(RedisRunReader):
    """The run log of a Redis store.

    A step of a plan or batch names its token and changes nothing where another worker has taken
    over.
    """

    def open(self, run: Run, token: str) -> bool:
        """Record a run; False where another one is live (or this one was opened before)."""
        policy, started = run.policy, micros(run.started_at)
        allow, until = int(run.allow_over_limit), micros(run.lease_until)
        horizons = (policy.waiting_minutes, policy.finished_minutes)
        args = (raw(run.run_id), token, *horizons, allow, started, -started, until)
        return bool(self._ask("log_open", *args))

    def take_plan(self, run_id: str, token: str, now: datetime, until: datetime) -> bool:
        """Take over a plan that stopped, dropping what it recorded; False if it did not stop."""
        left = 1
        while left > 0:
            left = self._ask("log_take_plan", raw(run_id), token, micros(now), micros(until))
        return left == 0

    def add_batches(
        self, run_id: str, token: str, first: int, plans: Sequence[BatchPlan], until: datetime
    ) -> None:
        """Record batches of a plan and renew the run. Raises ClaimLostError if not ours.

        Each by a call of its own: together they would hold the server up for milliseconds.
        """
        fence = (raw(run_id), token, micros(until))
        adding = script("log_add_batches", "log")
        numbered = enumerate(plans, first)
        calls = (Call(adding, LOG, (*fence, n, *_batch_args(plan))) for n, plan in numbered)
        nothing = () if plans else (Call(adding, LOG, fence),)
        _check_fence(run_id, self._connection.stream(chain(calls, nothing)))

    def note_due(
        self, run_id: str, token: str, due: Mapping[Horizon, int], until: datetime
    ) -> None:
        """Keep what a whole plan found, and renew the run. Raises ClaimLostError if not ours."""
        self._fenced("log_note_due", run_id, token, micros(until), *_series_args(of_plan(due)))

    def end_plan(self, run_id: str, token: str, until: datetime) -> None:
        """Let the batches be claimed. Raises ClaimLostError if the plan is not ours."""
        self._fenced("log_end_plan", run_id, token, micros(until))

    def claim(
        self, run_id: str, number: int, token: str, now: datetime, until: datetime
    ) -> RedisClaim | None:
        """Take a batch that is open and not claimed; renews the run. None if there is none.

        One that another worker had is shut to it, and what that one deleted is recorded.
        """
        args = (raw(run_id), number, token, micros(now), micros(until), uuid4().hex)
        reply = self._ask("log_claim", *args)
        if reply is None:
            return None
        server, run_row, batch_rows = reply
        try:
            run, batch = run_from(run_id, run_row), batch_from(run_id, batch_rows)
            deadline = int(server) + (until - now) // _MILLISECOND
            claim = RedisClaim(run, batch, token, until, deadline)
            self._take_over(claim)
        except (StoreError, ConfigurationError):
            # The next try need not wait for the claim to run out, if the store can be told.
            with suppress(StoreError, ConfigurationError):
                self.release(run_id, number, token)
            raise
        return claim

    def record(self, claim: Claim, outcomes: Mapping[int, ThreadOutcome]) -> None:
        """Record outcomes that need no delete. Raises ClaimLostError if the claim is not ours."""
        merged = {**claim.batch.outcomes, **outcomes}
        self._fenced("log_record", *_key(claim), *_outcome_args(claim.batch, merged))
        claim.batch.outcomes.update(outcomes)

    def release(self, run_id: str, number: int, token: str) -> None:
        """Give a claim back, so that the batch can be tried again at once."""
        self._ask("log_release", raw(run_id), number, token)

    def finish_batch(self, claim: Claim, now: datetime, *, owes: bool = False) -> None:
        """Close a batch. Raises ClaimLostError if the claim is not ours."""
        self._fenced("log_finish_batch", *_key(claim), micros(now), int(owes))
        if claim.batch.kind is BatchKind.SWEEP and claim.batch.attempts == 1:
            # Of a batch taken over they stay, and shut it to the worker before until they expire.
            with suppress(StoreError, ConfigurationError):
                self._connection.run(kept.drop(claim.batch))

    def stop(self, run_id: str, outcome: RunOutcome, reason: str, now: datetime) -> bool:
        """Let a live run start no further batch; the first outcome and reason given stay.

        Batches that nobody works on now are done with it. False if the run is not live.
        """
        left = 1
        while left > 0:
            left = self._ask("log_stop", raw(run_id), str(outcome), raw(reason), micros(now))
        return left == 0

    def close(self, run_id: str, now: datetime) -> Run | None:
        """Close a run that has no open batch, totalling it. None if it is not for us to close."""
        call, closed = uuid4().hex, 2
        while closed == 2:  # stopped meanwhile, with another outcome
            found = self._ask("log_closing", raw(run_id))
            if not found:
                return None
            for number in sorted(map(int, found[2])):
                self._collect(run_id, number)
            run = run_from(run_id, found[1])
            closed = self._ask("log_close", raw(run_id), call, *self._closing_args(run, now))
        return self.get(run_id) if closed == 1 else None

    def renew(self, run_id: str, until: datetime) -> None:
        """Renew a live run."""
        self._ask("log_renew", raw(run_id), micros(until))

    def count_unopened(self, outcome: RunOutcome) -> None:
        """Add to the totals a run that ended before it could be opened."""
        self._ask("log_count_unopened", uuid4().hex, f"runs:{outcome}", 1)

    def mark_published(self, run_id: str, now: datetime) -> None:
        """Note that the result of a run was handed out."""
        self._ask("log_published", raw(run_id), micros(now))

    def forget(self, before: datetime, limit: int) -> int:
        """Drop records of runs closed before an instant; totals stay. Returns how many."""
        forgettable = self._ask("log_forgettable", micros(before), limit)
        for run_id in forgettable:
            while self._ask("log_forget", run_id):
                pass
        return len(forgettable)

    def _take_over(self, claim: RedisClaim) -> None:
        batch = claim.batch
        if batch.kind is BatchKind.LATE or batch.attempts == 1:
            return
        found = self._connection.run(kept.shut(batch, batch.attempts))
        self.record_found(claim, found)

    def record_found(self, claim: Claim, found: Mapping[int, ThreadOutcome]) -> None:
        """Record what buckets kept of a batch, but for what the log knows already."""
        new = {i: o for i, o in found.items() if i not in claim.batch.outcomes}
        if new:
            self.record(claim, new)

    def _collect(self, run_id: str, number: int) -> None:
        """Count what a worker deleted that lost its batch to the end of the run."""
        batch = self.batch(run_id, number)
        if batch is None or batch.kind is BatchKind.LATE or not batch.candidates:
            return
        found = self._connection.run(kept.shut(batch, kept.ENDED))
        args = _outcome_args(batch, {**found, **batch.outcomes})
        self._ask("log_collect", raw(run_id), number, *args)

    def _closing_args(self, run: Run, now: datetime) -> list[Arg]:
        counts = self._total(run)
        outcome = outcome_of(counts, run.outcome)
        known = _series_args(of_closed(run.started_at, now, outcome))
        added = _series_args({**counts.values, f"runs:{outcome}": 1})
        before = "" if run.outcome is None else str(run.outcome)
        text_of_counts = dump_counts(counts)
        return [micros(now), before, str(outcome), text_of_counts, len(known), *known, *added]

    def _total(self, run: Run) -> Counts:
        """All outcomes of a run; threads its early end left alone count as cancelled."""
        counts, examined = self._sum(run.run_id)
        left = run.planned - examined
        return counts + Counts({f"{Outcome.CANCELLED}:unexamined": left}) if left > 0 else counts

    def _fenced(self, name: str, run_id: str, *args: Arg) -> None:
        _check_fence(run_id, [self._ask(name, raw(run_id), *args)])


def _check_fence(run_id: str, replies: Iterable[Any]) -> None:
    if any(reply != 1 for reply in replies):
        raise ClaimLostError(f"another worker took over {run_id!r}")


def _key(claim: Claim) -> tuple[str, int, str]:
    return claim.batch.run_id, claim.batch.number, claim.token


def _batch_args(plan: BatchPlan) -> tuple[Arg, ...]:
    source, size = plan.source, len(plan.candidates)
    where = (raw(source.run_id), source.number) if source else ("", "")
    return (str(plan.kind), *where, dump_candidates(plan.candidates), size)


def _outcome_args(batch: Batch, outcomes: Mapping[int, ThreadOutcome]) -> tuple[Arg, ...]:
    """Outcomes, their counts, and how many threads they deleted."""
    known = {i: o for i, o in outcomes.items() if 0 <= i < len(batch.candidates)}
    counts = Counts.of((batch.candidates[i], o) for i, o in known.items())
    deleted = counts.total(Outcome.DELETED) if batch.kind is BatchKind.SWEEP else 0
    return dump_outcomes(known), dump_counts(counts), deleted


def _series_args(series: Mapping[str, int]) -> list[Arg]:
    return [arg for name, value in series.items() for arg in (raw(name), value)]
