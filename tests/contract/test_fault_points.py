"""A worker that is killed after any one of its statements loses nothing and counts nothing twice.

Each statement of a whole small sweep is such a point: plan, claim, delete, look again, finish. The
process ends by SIGKILL; whoever comes next repairs what it left.
"""

import pytest

from retention.runs import Outcome
from tests.chaos.run_log import closed_runs, recorded_deletes
from tests.contract.direct import Tables, of_thread
from tests.contract.dying import sweep_and_die
from tests.contract.lab import Claims, Lab
from tests.contract.pool import LEASE

#: Tables that say something of a thread, and hold nothing of it.
_SAID = ("retention_threads", "marks", "live", "expiry")
_A_DAY = 25 * 60
#: At most so many sweeps until all is done that a dead worker left.
_REPAIRS = 3


@pytest.mark.parametrize("apart", [5, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("provider", ["sqlite", "postgres", "redis"], indirect=True)
def test_a_sweep_may_die_after_any_of_its_statements(lab: Lab, apart: int) -> None:
    """Every fifth one in each test run, every one in ``./run soak``."""
    deleted = 0
    for statement in range(1, 300, apart):
        point = Point(lab, str(statement))
        died = point.sweep_and_die(statement)
        point.assert_whole_or_gone()
        repair(lab, point.spared)
        deleted += len(point.due)
        point.assert_swept_once(deleted)
        point.clear()
        if not died:
            break
    else:
        pytest.fail("it never came to its end")
    assert statement > 20


class Point:
    """Threads of one point at which a sweep dies: three that are due, one spared, one in use."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.due = [f"{name}-{letter}" for letter in "abc"]
        self.spared, self.live = f"{name}-spared", f"{name}-live"
        self._lab = lab
        self._since = lab.clock.now
        for thread_id in (*self.due, self.spared):
            lab.seed(thread_id, 30, marked=20)
        lab.seed(self.live, 0)
        self._before = {t: held(lab, t) for t in (*self.due, self.spared, self.live)}

    def sweep_and_die(self, statement: int) -> bool:
        """Whether a sweep in another process died after this statement."""
        now, run_id = self._lab.clock.now, f"dead-{statement}"
        return sweep_and_die(self._lab.address, now, run_id, self.spared, statement)

    def assert_whole_or_gone(self) -> None:
        """Nothing is half there."""
        for thread_id, before in self._before.items():
            assert held(self._lab, thread_id) in ({}, before), thread_id

    def assert_swept_once(self, deleted: int) -> None:
        """All that was due is gone, once, and nothing else; so many were deleted in all."""
        for thread_id in self.due:
            assert self._lab.rows_of(thread_id) == {}, thread_id
        for thread_id in (self.spared, self.live):
            assert held(self._lab, thread_id) == self._before[thread_id], thread_id
        recorded = [t for t in recorded_deletes(self._lab.store) if t in self._before]
        assert sorted(recorded) == self.due
        runs = [run for run in closed_runs(self._lab.store) if run.started_at >= self._since]
        assert sum(run.counts.total(Outcome.DELETED) for run in runs) == len(self.due)
        assert self._lab.store.runs.totals()["deleted:finished"] == deleted

    def clear(self) -> None:
        """Leave no thread and no tombstone that is still to be looked at: no sweep takes longer."""
        for thread_id in (self.spared, self.live):
            self._lab.saver.delete_thread(thread_id)
        self._lab.clock.advance(_A_DAY)
        self._lab.run()


def repair(lab: Lab, spared: str) -> None:
    """The sweeps after a lease, until nothing of a dead worker's run is left."""
    lab.clock.advance(2 * LEASE.total_seconds() / 60)
    for _ in range(_REPAIRS):
        lab.run(Claims(spared))
        if lab.store.runs.live() is None:
            return
    pytest.fail("its run never ends")


def held(lab: Lab, thread_id: str) -> Tables:
    """What a thread holds: its rows, but for what owners said of it."""
    rows = of_thread(lab.dump(), thread_id)
    return {table: some for table, some in rows.items() if table not in _SAID}
