"""What a sweep answers with: the same fields from a run, a dry run and a run that never began."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from retention.policy import RetentionPolicy
from retention.runs import Batch, Candidate, Counts, Outcome, RunOutcome, ThreadOutcome
from retention.threads import Horizon

#: Outcomes whose threads a result names, up to its limit; all others are only counted.
_LISTED = (Outcome.DELETED, Outcome.SPARED, Outcome.FAILED, Outcome.UNDATABLE)


@dataclass(slots=True)
class ThreadLists:
    """The threads a result names, by outcome and horizon, each list up to a limit."""

    limit: int
    lists: dict[str, list[dict[str, str | None]]] = field(default_factory=dict)
    truncated: bool = False

    def add(self, candidate: Candidate, thread: ThreadOutcome) -> None:
        """Name a thread, or note that there was no room."""
        if thread.outcome not in _LISTED:
            return
        swept = thread.outcome is Outcome.DELETED
        name = f"{candidate.horizon}_swept" if swept else str(thread.outcome)
        entries = self.lists.setdefault(name, [])
        if len(entries) >= self.limit:
            self.truncated = True
            return
        entries.append(_listed(candidate, thread))

    def add_batches(self, batches: Iterable[Batch], counts: Counts) -> None:
        """Name the threads of batches, reading no more than these counts leave room for."""
        totals = _totals(counts).items()
        wanted = {name: min(total, self.limit) for name, total in totals}
        is_cut = any(total > self.limit for _, total in totals)
        for batch in batches:
            for index, thread in batch.outcomes.items():
                self.add(batch.candidates[index], thread)
            if is_cut and all(len(self.lists.get(n, ())) >= size for n, size in wanted.items()):
                self.truncated = True
                return


def _totals(counts: Counts) -> dict[str, int]:
    """How many threads each list would hold that had room for all."""
    swept = {f"{h}_swept": counts.total(Outcome.DELETED, h) for h in Horizon}
    others = {str(o): counts.total(o) for o in _LISTED if o is not Outcome.DELETED}
    return {**swept, **others}


def _listed(candidate: Candidate, thread: ThreadOutcome) -> dict[str, str | None]:
    entry: dict[str, str | None] = {
        "thread_id": candidate.thread_id,
        "horizon": str(candidate.horizon),
    }
    if thread.outcome is Outcome.SPARED:
        entry["owner"] = thread.detail
    elif thread.outcome is Outcome.FAILED:
        entry["error"] = thread.detail
    return entry


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The answer of a sweep. In a dry run ``swept`` reads "would be swept"."""

    run_id: str
    outcome: RunOutcome
    provider: str
    policy: RetentionPolicy
    started_at: datetime
    dry_run: bool = False
    planned: int = 0
    counts: Counts = field(default_factory=Counts)
    threads: ThreadLists = field(default_factory=lambda: ThreadLists(0))
    skipped: str | None = None
    reason: str | None = None
    duration: timedelta = timedelta()

    def to_json(self) -> dict[str, Any]:
        """The result as JSON types, with the field names other programs rely on."""
        return {
            "run_id": self.run_id,
            "outcome": str(self.outcome),
            "dry_run": self.dry_run,
            "provider": self.provider,
            "waiting_minutes": self.policy.waiting_minutes,
            "finished_minutes": self.policy.finished_minutes,
            **self._numbers(),
            **self._lists(),
            "skipped": self.skipped,
            "reason": self.reason,
            "started_at": self.started_at.isoformat(),
            "duration_seconds": round(self.duration.total_seconds(), 3),
        }

    def _numbers(self) -> dict[str, int]:
        total = self.counts.total
        finished = total(Outcome.DELETED, Horizon.FINISHED)
        waiting = total(Outcome.DELETED, Horizon.WAITING)
        return {
            "swept_count": finished + waiting,
            "finished_count": finished,
            "waiting_count": waiting,
            "spared_count": total(Outcome.SPARED),
            "failed_count": total(Outcome.FAILED),
            "held_count": total(Outcome.HELD),
            "restarted_count": total(Outcome.RESTARTED),
            "busy_count": total(Outcome.BUSY),
            "undatable_count": total(Outcome.UNDATABLE),
            "cancelled_count": total(Outcome.CANCELLED),
            "planned_count": self.planned,
        }

    def _lists(self) -> dict[str, Any]:
        lists = self.threads.lists
        ids = ("finished_swept", "waiting_swept", "undatable")
        return {
            **{name: [entry["thread_id"] for entry in lists.get(name, [])] for name in ids},
            "spared": lists.get("spared", []),
            "failed": lists.get("failed", []),
            "truncated": self.threads.truncated,
        }


def outcome_of(counts: Counts, stopped: RunOutcome | None) -> RunOutcome:
    """How a run ended. Undatable threads alone do not make it partial."""
    if stopped is not None:
        return stopped
    left = counts.total(Outcome.FAILED) + counts.total(Outcome.CANCELLED)
    return RunOutcome.PARTIAL if left else RunOutcome.COMPLETED
