"""Who wins: the orders of the statements of a batch and of what comes between, on each store.

What must hold for each pair is the table of ``docs/races.md``. A step is one statement of
PostgreSQL or SQLite, or one call of Redis. On Redis every order is walked where both sides take
few steps, and all with two cuts elsewhere. On the SQL stores they take up to thirty: there a side
that could go on is cut short once, at any step (``./run soak`` cuts twice), and
``test_races_postgres.py`` walks every order of a delete alone.
"""

import uuid
from collections.abc import Callable, Iterator

import pytest

from retention.erasing import ErasureOutcome, Receipt, erase
from retention.errors import ThreadDeletedError
from retention.runs import Outcome
from retention.sweep import BatchReport, work_on
from retention.threads import Hold, Horizon
from stores.postgres.database import PostgresTransaction
from tests.contract.lab import Lab
from tests.contract.pool import LEASE, Queue
from tests.contract.races import Arena, Doomed, Raced, arena_of, values
from tests.gates import one_by_one
from tests.seeding import config_of, seed_thread

each_store = pytest.mark.parametrize("provider", ["sqlite", "postgres", "redis"], indirect=True)

#: The newest state of a thread whose newest checkpoint is the first of its run.
BEGUN = {"messages": ["message of step 0"], "count": 0}
#: The state of a seeded thread.
SEEDED = {"messages": ["message of step 1"], "count": 1}


@pytest.fixture(params=[Horizon.FINISHED, Horizon.WAITING])
def horizon(request: pytest.FixtureRequest, provider: str) -> Horizon:
    """The horizon that threads are past; Redis drops waiting threads by itself."""
    if provider == "redis" and request.param is Horizon.WAITING:
        pytest.skip("a sweep finds no waiting threads there")
    return Horizon(request.param)


@pytest.fixture(params=["once", pytest.param("twice", marks=pytest.mark.soak)])
def arena(
    lab: Lab, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, horizon: Horizon
) -> Iterator[Arena]:
    """A sweeper and somebody else on the lab's store."""
    monkeypatch.setattr(PostgresTransaction, "together", one_by_one(PostgresTransaction.together))
    with arena_of(lab) as made:
        made.horizon = horizon
        if made.cuts is not None and request.param == "twice":
            made.cuts = 2
        yield made


def put(arena: Arena, parent: int | None) -> Callable[[Doomed], object]:
    """A checkpoint and the writes of its task, as a run saves them; its parent by position."""

    def act(doomed: Doomed) -> None:
        follows = None if parent is None else doomed.ids[parent]
        seed_thread(arena.other.saver, doomed.thread_id, arena.lab.clock.now, parent=follows)

    return act


def assert_kept(arena: Arena, raced: Raced) -> None:
    """All that the thread held is there, and can be read."""
    rows = arena.rows_of(raced.doomed.thread_id)
    said = ("retention_threads", "meta")
    held = {name: some for name, some in raced.before.items() if name not in said}
    assert {"checkpoints"} < set(held)
    assert {name: some for name, some in rows.items() if name not in said} == held
    assert values(arena.lab.saver, raced.doomed.thread_id) == SEEDED


def assert_seen(arena: Arena, *outcomes: Outcome) -> None:
    """Each of these came of some order, and nothing else did."""
    assert set(arena.outcomes) - {Outcome.BUSY} == set(outcomes)


@each_store
def test_a_start_before_the_delete_keeps_everything(arena: Arena) -> None:
    def act(doomed: Doomed) -> None:
        arena.other.store.ledger.start([doomed.thread_id])

    def check(raced: Raced) -> None:
        thread_id = raced.doomed.thread_id
        assert raced.error is None
        assert not (raced.came_first and raced.is_deleted)
        assert raced.is_deleted or not raced.came_last
        entry = arena.lab.store.ledger.entries([thread_id])[thread_id]
        assert (entry.started_at, entry.marked_at) == (arena.lab.clock.now, None)
        if raced.is_deleted:
            assert len(arena.rows_of(thread_id)) == 1, "the new entry alone"
        else:
            assert_kept(arena, raced)

    arena.race(act, check)
    assert_seen(arena, Outcome.DELETED, Outcome.RESTARTED)


@each_store
def test_a_new_checkpoint_keeps_the_thread_or_is_refused_and_leaves_nothing(arena: Arena) -> None:
    def check(raced: Raced) -> None:
        thread_id = raced.doomed.thread_id
        assert not (raced.came_first and raced.is_deleted)
        if raced.is_deleted:
            assert isinstance(raced.error, ThreadDeletedError)
            assert arena.rows_of(thread_id) == {}
        else:
            assert raced.error is None
            assert values(arena.lab.saver, thread_id) == BEGUN
            assert len(list(arena.lab.saver.list(config_of(thread_id)))) == 3

    arena.race(put(arena, -1), check)
    assert_seen(arena, Outcome.DELETED, Outcome.RESTARTED)


@each_store
def test_a_fork_keeps_the_thread_or_is_refused_and_leaves_nothing(arena: Arena) -> None:
    def act(doomed: Doomed) -> None:
        older = arena.other.saver.get_tuple(config_of(doomed.thread_id, "", doomed.ids[0]))
        if older is None:
            raise ThreadDeletedError(doomed.thread_id, doomed.ids[0])
        put(arena, 0)(doomed)

    def check(raced: Raced) -> None:
        thread_id = raced.doomed.thread_id
        assert not (raced.came_first and raced.is_deleted)
        if raced.is_deleted:
            assert isinstance(raced.error, ThreadDeletedError)
            assert arena.rows_of(thread_id) == {}
        else:
            assert raced.error is None
            newest, *others = arena.lab.saver.list(config_of(thread_id))
            assert newest.parent_config == config_of(thread_id, "", raced.doomed.ids[0])
            assert len(others) == 2

    arena.cuts = arena.cuts or 2
    arena.race(act, check)
    assert_seen(arena, Outcome.DELETED, Outcome.RESTARTED)


@each_store
def test_a_new_conversation_under_the_id_is_whole(arena: Arena) -> None:
    def check(raced: Raced) -> None:
        thread_id = raced.doomed.thread_id
        assert raced.error is None
        assert values(arena.lab.saver, thread_id) == BEGUN
        (newest, *older) = arena.lab.saver.list(config_of(thread_id))
        assert (newest.parent_config, len(older)) == (None, 0 if raced.is_deleted else 2)
        arena.lab.run()
        assert values(arena.lab.saver, thread_id) == BEGUN

    arena.cuts = arena.cuts or 2
    arena.race(put(arena, None), check)
    assert_seen(arena, Outcome.DELETED, Outcome.RESTARTED)


@each_store
def test_late_writes_are_gone_after_the_next_sweep(arena: Arena) -> None:
    """A write alone does not say that the thread is in use: its head is as old as before."""

    def act(doomed: Doomed) -> None:
        config = config_of(doomed.thread_id, "", doomed.ids[-1])
        arena.other.saver.put_writes(config, [("messages", "late")], str(uuid.uuid4()))

    def check(raced: Raced) -> None:
        thread_id = raced.doomed.thread_id
        assert raced.error is None
        if raced.is_deleted:
            assert values(arena.lab.saver, thread_id) is None
        else:
            assert_held_with_write(arena, raced)
        arena.lab.run()
        assert arena.rows_of(thread_id) == {}

    arena.race(act, check)
    assert Outcome.DELETED in arena.outcomes
    assert set(arena.outcomes) <= {Outcome.DELETED, Outcome.BUSY, Outcome.RESTARTED}


def assert_held_with_write(arena: Arena, raced: Raced) -> None:
    """The thread is whole, the late write included."""
    found = arena.lab.saver.get_tuple(config_of(raced.doomed.thread_id))
    assert found is not None
    assert found.checkpoint["channel_values"] == SEEDED
    assert "late" in [value for _, _, value in found.pending_writes or ()]


@each_store
def test_a_mark_made_anew_keeps_everything_until_its_own_time(arena: Arena) -> None:
    def act(doomed: Doomed) -> None:
        arena.other.store.ledger.mark_finished([doomed.thread_id])

    def check(raced: Raced) -> None:
        thread_id = raced.doomed.thread_id
        assert raced.error is None
        if raced.is_deleted:
            assert arena.rows_of(thread_id) == {}
            # A mark is no activity: a thread past the waiting horizon goes none the less.
            assert not raced.came_first or is_waiting
        else:
            assert_kept(arena, raced)
            entry = arena.lab.store.ledger.entries([thread_id])[thread_id]
            assert entry.due_at == arena.lab.ago(-10)

    is_waiting = arena.horizon is Horizon.WAITING
    arena.race(act, check)
    assert_seen(arena, Outcome.DELETED, *([] if is_waiting else [Outcome.RESTARTED]))


@each_store
def test_a_hold_before_the_delete_keeps_everything(arena: Arena) -> None:
    held: dict[str, set[str]] = {}

    def act(doomed: Doomed) -> None:
        hold = arena.other.store.ledger.hold
        held[doomed.thread_id] = hold([doomed.thread_id], Hold("audit"))

    def check(raced: Raced) -> None:
        thread_id = raced.doomed.thread_id
        assert raced.error is None
        assert not (raced.came_first and raced.is_deleted)
        assert held[thread_id] == (set() if raced.is_deleted else {thread_id})
        if raced.is_deleted:
            assert arena.rows_of(thread_id) == {}
        else:
            assert_kept(arena, raced)

    arena.race(act, check)
    assert_seen(arena, Outcome.DELETED, Outcome.HELD)


@each_store
def test_an_erase_and_a_sweep_leave_nothing_and_count_once(arena: Arena) -> None:
    receipts: dict[str, Receipt] = {}

    def act(doomed: Doomed) -> None:
        sweep = arena.lab.sweep(store=arena.other.store)
        receipts[doomed.thread_id] = erase(sweep, doomed.thread_id, "ops")

    def check(raced: Raced) -> None:
        thread_id = raced.doomed.thread_id
        assert raced.error is None
        assert arena.rows_of(thread_id) == {}
        receipt = receipts[thread_id]
        assert sum(receipt.left.values()) == 0
        is_erased = receipt.outcome is ErasureOutcome.ERASED
        assert is_erased or raced.is_deleted
        # On Redis what was held is counted a step before: a delete may come between.
        if arena.lab.store.provider != "redis":
            assert not (is_erased and raced.is_deleted)

    arena.cuts = arena.cuts or 2
    arena.race(act, check)
    assert_seen(arena, Outcome.DELETED, Outcome.GONE)


@each_store
@pytest.mark.parametrize("lease_is_over", [False, True], ids=["claimed", "overdue"])
def test_a_second_worker_on_the_batch_deletes_nothing_twice(
    arena: Arena, lease_is_over: bool
) -> None:
    """One that takes over a claim that ran out settles what is left; the first then stops."""
    reports: dict[str, BatchReport] = {}
    clock = arena.lab.clock.now + LEASE * 2 if lease_is_over else arena.lab.clock.now

    def act(doomed: Doomed) -> None:
        sweep = arena.lab.sweep(store=arena.other.store, dispatch=Queue())
        object.__setattr__(sweep, "clock", lambda: clock)
        reports[doomed.thread_id] = work_on(sweep, doomed.run_id, 0)

    def check(raced: Raced) -> None:
        assert raced.error is None
        if raced.is_deleted:
            assert arena.rows_of(raced.doomed.thread_id) == {}
        else:
            # The one that took over met the lock of the one that then had to give way.
            assert lease_is_over
            assert raced.outcome is Outcome.BUSY
            assert_kept(arena, raced)
        assert reports[raced.doomed.thread_id].worked or not raced.came_first

    arena.cuts = arena.cuts or 2
    _, outcomes = arena.race(act, check)
    counted = arena.lab.store.runs.totals()[f"deleted:{arena.horizon}"]
    assert counted == outcomes[Outcome.DELETED] > 0


@pytest.mark.parametrize("provider", ["redis"], indirect=True)
def test_a_copy_is_whole_or_nothing(arena: Arena) -> None:
    def act(doomed: Doomed) -> None:
        saver = arena.other.saver
        saver.copy_thread(doomed.thread_id, f"copy of {doomed.thread_id}")

    def check(raced: Raced) -> None:
        source, target = raced.doomed.thread_id, f"copy of {raced.doomed.thread_id}"
        assert raced.error is None
        assert raced.is_deleted
        assert arena.rows_of(source) == {}
        copied = list(arena.lab.saver.list(config_of(target)))
        if raced.came_first:
            assert len(copied) == 2
        if raced.came_last:
            assert arena.rows_of(target) == {}
        if copied:
            assert values(arena.lab.saver, target) == SEEDED
            assert [len(found.pending_writes or ()) for found in copied] == [1, 1]
        else:
            assert arena.rows_of(target) == {}

    arena.race(act, check)
    assert_seen(arena, Outcome.DELETED)
