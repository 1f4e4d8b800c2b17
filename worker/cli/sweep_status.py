"""``retention sweep status``."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import click

from retention.runs import Run, RunState
from retention.sweep import Sweep, pause_in_force
from stores import Access
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.lines import span
from worker.cli.opening import opened
from worker.cli.owed import Owed
from worker.cli.printing import print_facts, print_json, print_line
from worker.cli.run_rows import run_json
from worker.cli.sweep_pause import pause_json


@dataclass(frozen=True, slots=True)
class LiveRun:
    """How far a live run is at an instant; ``done`` and ``run.planned`` count threads."""

    run: Run
    now: datetime
    done: int
    batches: int
    open_batches: int
    paused: bool = False

    @property
    def elapsed(self) -> timedelta:
        """Time since the run began."""
        return self.now - self.run.started_at

    @property
    def is_stale(self) -> bool:
        """Whether nobody renewed the run in time; while sweeps are paused nobody is to."""
        return not self.paused and self.run.is_stale(self.now)

    @property
    def remaining(self) -> int:
        """Threads of the plan, as far as it is made, that have no outcome yet."""
        return max(self.run.planned - self.done, 0)

    @property
    def rate(self) -> float:
        """Threads per second since the run began."""
        seconds = self.elapsed.total_seconds()
        return self.done / seconds if seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds until the run ends at its rate so far; None while that cannot be told."""
        if self.run.state is RunState.PLANNING or not self.rate:
            return None
        return self.remaining / self.rate

    def to_json(self) -> dict[str, Any]:
        """The same as JSON types."""
        return {
            **run_json(self.run),
            "lease_until": self.run.lease_until.isoformat(),
            "stale": self.is_stale,
            "elapsed_seconds": round(self.elapsed.total_seconds(), 3),
            "done_count": self.done,
            "remaining_count": self.remaining,
            "batches_done": self.batches - self.open_batches,
            "batches_open": self.open_batches,
            "threads_per_second": round(self.rate, 3),
            "seconds_left": None if self.left is None else round(self.left, 3),
        }


def live_run(sweep: Sweep, run: Run) -> LiveRun:
    """Read how far a run is."""
    runs = sweep.store.runs
    return LiveRun(
        run,
        sweep.clock(),
        runs.progress(run.run_id).everything(),
        runs.count_batches(run.run_id),
        runs.count_open(run.run_id),
        pause_in_force(sweep) is not None,
    )


@click.command()
@common_options
@pass_invocation
def status(invocation: Invocation) -> ExitStatus:
    """Show the live sweep, or that there is none and how the last one ended."""
    with opened(invocation, Access.READ) as sweep:
        run = sweep.store.runs.live()
        live = None if run is None else live_run(sweep, run)
        last = next((r for r in sweep.store.runs.history(2) if r.closed_at is not None), None)
        owed = Owed.of(sweep)
        paused = pause_in_force(sweep)
    if invocation.as_json:
        answer = {
            "live": None if live is None else live.to_json(),
            "last": None if last is None else run_json(last),
            **owed.to_json(),
            "pause": None if paused is None else pause_json(paused),
        }
        print_json(answer)
        return ExitStatus.DONE
    if paused is not None:
        print_line(f"sweeps are {paused}")
    if live is not None:
        _show_live(live)
    else:
        _show_last(last)
    owed.show()
    return ExitStatus.DONE


def _show_live(live: LiveRun) -> None:
    run = live.run
    lease = run.lease_until.isoformat(" ", "seconds")
    print_facts(
        [
            ("run", run.run_id),
            ("state", run.state),
            ("ends as", run.outcome),
            ("why", run.reason),
            ("began", f"{run.started_at.isoformat(' ', 'seconds')}, {span(_seconds(live))} ago"),
            ("batches", f"{live.batches - live.open_batches} done, {live.open_batches} open"),
            ("threads", f"{live.done} done, {live.remaining} remaining"),
            ("rate", f"{live.rate:.1f} threads per second"),
            ("time left", None if live.left is None or live.paused else f"about {span(live.left)}"),
            ("lease", f"until {lease}{_stale_words(live)}"),
        ]
    )


def _seconds(live: LiveRun) -> float:
    return live.elapsed.total_seconds()


def _stale_words(live: LiveRun) -> str:
    if not live.is_stale:
        return ""
    return "; nobody renewed it: the next sweep takes the run up again"


def _show_last(last: Run | None) -> None:
    print_line("no sweep is live")
    if last is not None and last.closed_at is not None:
        swept = run_json(last)["swept_count"]
        when = last.closed_at.isoformat(" ", "seconds")
        print_line(
            f"the last one, run {last.run_id}, ended as {last.outcome} at {when}: {swept} deleted"
        )
