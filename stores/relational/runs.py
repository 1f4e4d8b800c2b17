"""The run log in SQL."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from shlex import quote

from retention.errors import ClaimLostError
from retention.events import event
from retention.policy import RetentionPolicy
from retention.ports import BatchPlan, Claim
from retention.runs import (
    Batch,
    BatchKind,
    Counts,
    Latest,
    Outcome,
    Run,
    RunOutcome,
    Source,
    ThreadOutcome,
)
from retention.sweep.result import outcome_of
from retention.threads import Horizon
from stores.relational.database import Database, Row, Statement, Transaction
from stores.relational.deliveries import RelationalDeliveries
from stores.relational.pauses import RelationalPauses
from stores.runlog import records
from stores.runlog.encoding import dump_candidates, dump_counts, dump_outcomes
from stores.runlog.totals import counters, latest, of_closed, of_plan
from stores.texts import is_text

log = logging.getLogger("retention.sweep")

#: Batches read at once of all of a run: first what a result has room for, then a few megabytes.
_BATCHES_A_FIRST_PAGE = 2
_BATCHES_A_PAGE = 20


class RelationalRunLog:
    """The run log of a store that has SQL tables for it.

    Every step is one transaction; a step of a plan or batch names its token and changes nothing
    where another worker has taken over. What opens, stops and closes a run is durable, and the end
    of a batch that owes deliveries: each takes all before it to disk. The rest a crash may undo.
    """

    def __init__(self, db: Database) -> None:
        """Keep the log in this database."""
        self._db = db
        self._sql = {
            name: records.with_columns(sql)
            for name, sql in db.sql("stores.relational", "runs.sql").items()
        }
        self.deliveries = RelationalDeliveries(db, self._batch_in)
        self.pauses = RelationalPauses(db)

    def open(self, run: Run, token: str) -> bool:
        """Record a run; False where another one is live (or this one was opened before)."""
        with self._db.transaction() as tx:
            opened = tx.change(
                self._sql["open"],
                run_id=run.run_id,
                waiting=run.policy.waiting_minutes,
                finished=run.policy.finished_minutes,
                allow_over_limit=int(run.allow_over_limit),
                started_at=run.started_at,
                until=run.lease_until,
                token=token,
            )
            return opened == 1

    def live(self) -> Run | None:
        """The run that is not closed, if any."""
        return next(iter(self._runs("live")), None)

    def get(self, run_id: str) -> Run | None:
        """One run."""
        return next(iter(self._runs("get", run_id=run_id)), None)

    def history(self, limit: int, after: Run | None = None) -> list[Run]:
        """The newest runs, newest first; or those that come ``after`` one in that order."""
        at = after.started_at if after else datetime.max.replace(tzinfo=UTC)
        last = after.run_id if after else ""
        return self._readable("history", limit, at=at, after=last)

    def unpublished(self, limit: int) -> list[Run]:
        """Closed runs whose result was not handed out yet."""
        return self._readable("unpublished", limit)

    def take_plan(self, run_id: str, token: str, now: datetime, until: datetime) -> bool:
        """Take over a plan that stopped, dropping what it recorded; False if it did not stop."""
        with self._db.transaction() as tx:
            taken = tx.change(
                self._sql["take_plan"], run_id=run_id, token=token, now=now, until=until
            )
            if taken:
                tx.change(self._sql["drop_batches"], run_id=run_id)
            return taken == 1

    def add_batches(
        self, run_id: str, token: str, first: int, plans: Sequence[BatchPlan], until: datetime
    ) -> None:
        """Record batches of a plan and renew the run. Raises ClaimLostError if not ours."""
        added = sum(len(plan.candidates) for plan in plans)
        with self._db.transaction(durable=False) as tx:
            self._fenced(tx, "renew_plan", run_id=run_id, token=token, until=until, added=added)
            tx.change_many(
                self._sql["add_batch"],
                [_batch_params(run_id, first + i, plan) for i, plan in enumerate(plans)],
            )

    def note_due(
        self, run_id: str, token: str, due: Mapping[Horizon, int], until: datetime
    ) -> None:
        """Keep what a whole plan found, and renew the run. Raises ClaimLostError if not ours."""
        with self._db.transaction(durable=False) as tx:
            self._fenced(tx, "renew_plan", run_id=run_id, token=token, until=until, added=0)
            self._put_series(tx, "set_total", of_plan(due))

    def end_plan(self, run_id: str, token: str, until: datetime) -> None:
        """Let the batches be claimed. Raises ClaimLostError if the plan is not ours."""
        with self._db.transaction() as tx:
            self._fenced(tx, "end_plan", run_id=run_id, token=token, until=until)

    def late_sources(self, before: datetime, limit: int) -> list[Source]:
        """Batches with deleted threads not looked at again yet, or not since they aged."""
        with self._db.reading() as tx:
            rows = tx.rows(self._sql["late_sources"], before=before, limit=limit)
        return records.sources_of(rows)

    def claim(
        self, run_id: str, number: int, token: str, now: datetime, until: datetime
    ) -> Claim | None:
        """Take a batch that is open and not claimed; renews the run. None if there is none."""
        with self._db.transaction(durable=False) as tx:
            key = {"run_id": run_id, "number": number}
            renewed, taken, run, batch = tx.together(
                Statement(self._sql["renew_sweeping"], {"run_id": run_id, "until": until}),
                Statement(self._sql["claim"], {**key, "token": token, "now": now, "until": until}),
                Statement(self._sql["get"], {"run_id": run_id}),
                Statement(self._sql["batch"], key),
            )
            if not renewed.changed or not taken.changed:
                return None
            return Claim(self._run(run.rows[0]), self._batch(tx, batch.rows[0]), token, until)

    def batch(self, run_id: str, number: int) -> Batch | None:
        """One batch."""
        with self._db.reading() as tx:
            return self._batch_in(tx, run_id, number)

    def batches(self, run_id: str) -> Iterator[Batch]:
        """All batches of a run, read page by page."""
        after, limit = -1, _BATCHES_A_FIRST_PAGE
        while True:
            with self._db.reading() as tx:
                rows = tx.rows(self._sql["batch_page"], run_id=run_id, after=after, limit=limit)
                page = [self._batch(tx, row) for row in rows]
            yield from page
            if len(page) < limit:
                return
            after, limit = page[-1].number, _BATCHES_A_PAGE

    def record(self, claim: Claim, outcomes: Mapping[int, ThreadOutcome]) -> None:
        """Record outcomes that need no delete. Raises ClaimLostError if the claim is not ours."""
        with self._db.transaction(durable=False) as tx:
            self.record_in(tx, claim, outcomes)
        claim.batch.outcomes.update(outcomes)

    def check_in(self, tx: Transaction, claim: Claim) -> None:
        """Raise ClaimLostError if the claim is not ours, before rows go that none could bring back.

        A database rolls back what a lost claim deleted; the memory store's dictionaries do not.
        """
        if not tx.rows(self._sql["held"], **_key(claim)):
            raise ClaimLostError(f"another worker took over {claim.batch.run_id!r}")

    def record_in(
        self, tx: Transaction, claim: Claim, outcomes: Mapping[int, ThreadOutcome]
    ) -> None:
        """The same, within the transaction that deletes: both happen, or neither."""
        merged = {**claim.batch.outcomes, **outcomes}
        pairs = ((claim.batch.candidates[i], thread) for i, thread in merged.items())
        sweeps = claim.batch.kind is BatchKind.SWEEP
        self._fenced(
            tx,
            "record",
            **_key(claim),
            outcomes=dump_outcomes(merged),
            counts=dump_counts(Counts.of(pairs)),
            deleted=sum(sweeps and t.outcome is Outcome.DELETED for t in merged.values()),
        )

    def release(self, run_id: str, number: int, token: str) -> None:
        """Give a claim back, so that the batch can be tried again at once."""
        with self._db.transaction(durable=False) as tx:
            tx.change(self._sql["release"], run_id=run_id, number=number, token=token)

    def finish_batch(self, claim: Claim, now: datetime, *, owes: bool = False) -> None:
        """Close a batch. Raises ClaimLostError if the claim is not ours.

        Where it ``owes`` deliveries, its deletes are on disk then: hooks cannot take back a call.
        """
        with self._db.transaction(durable=owes) as tx:
            deliver_at = now if owes else None
            self._fenced(tx, "finish_batch", **_key(claim), now=now, deliver_at=deliver_at)
            source = claim.batch.source
            if source is not None:
                source_key = {"run_id": source.run_id, "number": source.number}
                tx.change(self._sql["checked"], **source_key, by=claim.run.run_id)

    def open_batches(self, run_id: str, now: datetime, *, unclaimed: bool) -> list[int]:
        """Numbers of open batches whose claim ran out; with ``unclaimed`` the never claimed too."""
        name = "idle_open" if unclaimed else "claimed_open"
        with self._db.reading() as tx:
            return [number for (number,) in tx.rows(self._sql[name], run_id=run_id, now=now)]

    def count_open(self, run_id: str) -> int:
        """Batches that are not done."""
        with self._db.reading() as tx:
            return int(tx.rows(self._sql["count_open"], run_id=run_id)[0][0])

    def count_batches(self, run_id: str) -> int:
        """All batches of a run."""
        with self._db.reading() as tx:
            return int(tx.rows(self._sql["count_batches"], run_id=run_id)[0][0])

    def stop(self, run_id: str, outcome: RunOutcome, reason: str, now: datetime) -> bool:
        """Let a live run start no further batch; the first outcome and reason given stay.

        Batches that nobody works on now are done with it. False if the run is not live.
        """
        with self._db.transaction() as tx:
            stopped = tx.change(
                self._sql["stop"], run_id=run_id, outcome=str(outcome), reason=reason
            )
            if stopped:
                tx.change(self._sql["end_idle"], run_id=run_id, now=now)
            return stopped == 1

    def close(self, run_id: str, now: datetime) -> Run | None:
        """Close a run that has no open batch, totalling it. None if it is not for us to close."""
        with self._db.transaction() as tx:
            if not tx.change(self._sql["take_close"], run_id=run_id, now=now):
                return None
            run = self._run(tx.rows(self._sql["get"], run_id=run_id)[0])
            counts = self._total(tx, run)
            outcome = outcome_of(counts, run.outcome)
            tx.change(
                self._sql["total"],
                run_id=run_id,
                outcome=str(outcome),
                counts=dump_counts(counts),
            )
            self._put_series(tx, "add_total", {**counts.values, f"runs:{outcome}": 1})
            self._put_series(tx, "set_total", of_closed(run.started_at, now, outcome))
            return self._run(tx.rows(self._sql["get"], run_id=run_id)[0])

    def mend(self, run_id: str, policy: RetentionPolicy, reason: str, now: datetime) -> bool:
        """Write a record anew that cannot be read, as that of a failed run; False if none is there.

        What its batches counted stays, and a live run is to be closed.
        """
        with self._db.transaction() as tx:
            mended = tx.change(
                self._sql["mend"],
                run_id=run_id,
                waiting=policy.waiting_minutes,
                finished=policy.finished_minutes,
                reason=reason,
                now=now,
                counts=dump_counts(self._sum(tx, run_id)[0]),
            )
            tx.change(self._sql["end_idle"], run_id=run_id, now=now)
            return mended == 1

    def renew(self, run_id: str, until: datetime) -> None:
        """Renew a live run."""
        with self._db.transaction(durable=False) as tx:
            tx.change(self._sql["renew"], run_id=run_id, until=until)

    def progress(self, run_id: str) -> Counts:
        """What the batches of a run have counted so far."""
        with self._db.reading() as tx:
            return self._sum(tx, run_id)[0]

    def totals(self) -> Mapping[str, int]:
        """Counters over all runs that ever ended, by the names ``Counts`` gives them."""
        return counters(self._series())

    def latest(self) -> Latest:
        """What is known of the latest runs, whether their records are still there or not."""
        return latest(self._series())

    def count_unopened(self, outcome: RunOutcome) -> None:
        """Add to the totals a run that ended before it could be opened."""
        with self._db.transaction() as tx:
            self._put_series(tx, "add_total", {f"runs:{outcome}": 1})

    def mark_published(self, run_id: str, now: datetime) -> None:
        """Note that the result of a run was handed out."""
        with self._db.transaction() as tx:
            tx.change(self._sql["published"], run_id=run_id, now=now)

    def forget(self, before: datetime, limit: int) -> int:
        """Drop records of runs closed before an instant; totals stay. Returns how many."""
        with self._db.reading() as tx:
            rows = tx.rows(self._sql["forgettable"], before=before, limit=limit)
        for (run_id,) in rows:
            with self._db.transaction() as tx:
                tx.change(self._sql["drop_batches"], run_id=run_id)
                tx.change(self._sql["forget_run"], run_id=run_id)
        return len(rows)

    def _runs(self, name: str, **params: object) -> list[Run]:
        if not self._db.has_own_tables():
            return []
        with self._db.reading() as tx:
            return [self._run(row) for row in tx.rows(self._sql[name], **params)]

    def _series(self) -> dict[str, int]:
        if not self._db.has_own_tables():
            return {}
        with self._db.reading() as tx:
            return {series: int(value) for series, value in tx.rows(self._sql["totals"])}

    def _put_series(self, tx: Transaction, name: str, values: Mapping[str, int]) -> None:
        # In one order always: two transactions that lock these rows never wait for each other.
        rows = [{"series": series, "value": values[series]} for series in sorted(values)]
        tx.change_many(self._sql[name], rows)

    def _fenced(self, tx: Transaction, name: str, **params: object) -> None:
        if tx.change(self._sql[name], **params) != 1:
            raise ClaimLostError(f"another worker took over {params['run_id']!r}")

    def _total(self, tx: Transaction, run: Run) -> Counts:
        """All outcomes of a run; threads its early end left alone count as cancelled."""
        counts, examined = self._sum(tx, run.run_id)
        left = run.planned - examined
        return counts + Counts({f"{Outcome.CANCELLED}:unexamined": left}) if left > 0 else counts

    def _sum(self, tx: Transaction, run_id: str) -> tuple[Counts, int]:
        counts, examined = Counts(), 0
        for kind, text in tx.rows(self._sql["counts"], run_id=run_id):
            batch = records.counts_of(text, run_id)
            counts += batch
            examined += batch.everything() if kind == BatchKind.SWEEP else 0
        return counts, examined

    def _batch_in(self, tx: Transaction, run_id: str, number: int) -> Batch | None:
        rows = tx.rows(self._sql["batch"], run_id=run_id, number=number)
        return self._batch(tx, rows[0]) if rows else None

    def _batch(self, tx: Transaction, row: Row) -> Batch:
        batch = records.batch_of(row, self._db.instant)
        if batch.source is not None:
            origin = self._batch_in(tx, batch.source.run_id, batch.source.number)
            batch.candidates = origin.deleted() if origin else []
        # What names no candidate would count a thread that is not there.
        known = range(len(batch.candidates))
        batch.outcomes = {i: o for i, o in batch.outcomes.items() if i in known}
        return batch

    def _run(self, row: Row) -> Run:
        remedy = "delete that row"
        if is_text(row[0]):
            remedy = f"`retention sweep cancel {quote(row[0])} --yes` ends it"
        return records.run_of(row, self._db.instant, "retention_runs", remedy)

    def _readable(self, name: str, limit: int, **params: object) -> list[Run]:
        """Runs of a listing; one that cannot be read hides no other, and is said in the log."""
        if not self._db.has_own_tables():
            return []
        asked = limit
        while True:
            with self._db.reading() as tx:
                rows = tx.rows(self._sql[name], limit=asked, **params)
            runs, broken = records.readable(rows, self._run)
            if len(runs) >= limit or len(rows) < asked:
                break
            asked += len(broken)
        for error in broken:
            event(log, logging.ERROR, "run_unreadable", error=error)
        return runs[:limit]


def _key(claim: Claim) -> dict[str, object]:
    return {"run_id": claim.batch.run_id, "number": claim.batch.number, "token": claim.token}


def _batch_params(run_id: str, number: int, plan: BatchPlan) -> dict[str, object]:
    return {
        "run_id": run_id,
        "number": number,
        "kind": str(plan.kind),
        "source_run": plan.source.run_id if plan.source else None,
        "source_number": plan.source.number if plan.source else None,
        "candidates": dump_candidates(plan.candidates),
    }
