"""An operator's end of a thread: marked for good, and every later start and put refused."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from retention import ThreadRetention
from retention.ending import EndRule, end
from retention.errors import ConfigurationError, ThreadEndedError
from retention.filters import FlowsEngineFilter
from retention.runs import Outcome
from retention.statuses import ThreadStatus, state_of, status_of
from retention.threads import Ended, LedgerEntry
from stores import aopen_store
from tests.contract.direct import settled
from tests.contract.lab import NOW, Lab, count_of, on_disk
from tests.contract.test_ledger import ODD_IDS, entry
from tests.seeding import config_of, park, seed_thread

WORD = Ended(NOW, "ops", "stuck since May")

RUNNING = (
    "thread 't' counts as running: it was active at 2026-06-01T{}+00:00, within the last 60 "
    "seconds; there are no leases yet"
)


def ended(lab: Lab, thread_id: str = "t", *, head: str | None = None, quiet: float = 60) -> str:
    """End a thread as an operator does; why it was not, or nothing."""
    rule = EndRule(lab.clock.now, timedelta(seconds=quiet), head)
    return end(lab.store, thread_id, WORD._replace(at=lab.clock.now), rule) or ""


def fail(lab: Lab, thread_id: str, checkpoint_id: str, namespace: str = "") -> None:
    """Let a run end in an error at a checkpoint."""
    config = config_of(thread_id, namespace, checkpoint_id)
    lab.saver.put_writes(config, [("__error__", ValueError("no"))], "task")


def status(lab: Lab, thread_id: str = "t") -> ThreadStatus:
    """The status of a thread."""
    facts = lab.store.threads.facts([thread_id])[thread_id]
    return status_of(state_of(lab.store, facts), lab.clock.now)


def test_an_end_is_recorded_with_who_when_and_why_and_marks_the_thread(lab: Lab) -> None:
    lab.seed("t", 30)
    assert ended(lab) == ""
    due_at = NOW + timedelta(minutes=10)
    assert entry(lab) == LedgerEntry("t", marked_at=NOW, due_at=due_at, ended=WORD)
    assert status(lab) is ThreadStatus.ENDED


def test_an_end_keeps_the_hold_and_the_declaration_whose_finished_value_counts(lab: Lab) -> None:
    lab.store.ledger.start(["t"], ThreadRetention(30, 3))
    lab.seed("t", 20)
    lab.hold("t")
    before = entry(lab)
    lab.clock.advance(5)
    assert ended(lab) == ""
    assert before is not None
    assert entry(lab) == before._replace(
        marked_at=lab.clock.now,
        due_at=lab.clock.now + timedelta(minutes=3),
        ended=WORD._replace(at=lab.clock.now),
    )


def test_a_start_on_an_ended_thread_is_refused_and_changes_nothing(lab: Lab) -> None:
    lab.seed("t", 30)
    ended(lab)
    before = lab.dump()
    with pytest.raises(ThreadEndedError) as raised:
        lab.store.ledger.start(["t"], ThreadRetention(30))
    assert (raised.value.thread_id, raised.value.by, raised.value.reason) == ("t", *WORD[1:])
    assert str(raised.value) == (
        "thread 't' was ended by 'ops': 'stuck since May'; nothing more can run on it: start "
        "under a new thread id"
    )
    assert lab.dump() == before


def test_a_put_on_an_ended_thread_is_refused_and_changes_nothing(lab: Lab) -> None:
    head = lab.seed("t", 30)[-1]
    ended(lab)
    before = lab.dump()
    for parent in (head, None, "no-such-parent"):
        with pytest.raises(ThreadEndedError, match="'t' was ended by 'ops': 'stuck since May'"):
            seed_thread(lab.saver, "t", NOW, parent=parent)
    assert settled(lab.dump()) == settled(before)


@on_disk
async def test_the_async_twins_are_refused_too(lab: Lab) -> None:
    async with aopen_store(lab.address, settings=lab.options) as store:
        head = lab.seed("t", 30)[-1]
        ended(lab)
        stored = await store.saver.aget_tuple(config_of("t"))
        assert stored is not None
        with pytest.raises(ThreadEndedError, match="by 'ops'"):
            await store.saver.aput(config_of("t", "", head), stored.checkpoint, stored.metadata, {})
        with pytest.raises(ThreadEndedError, match="by 'ops'"):
            await store.ledger.astart(["t"])


def test_neighbours_of_an_ended_thread_start_and_save_as_before(lab: Lab) -> None:
    lab.seed("t", 30)
    ended(lab)
    lab.store.ledger.start(["u"])
    assert lab.seed("u", 0)
    assert entry(lab, "u") == LedgerEntry("u", started_at=NOW)


def test_an_ended_thread_is_swept_when_its_mark_is_due_and_its_id_is_free_then(lab: Lab) -> None:
    lab.seed("t", 30)
    ended(lab)
    lab.clock.advance(9)
    assert count_of(lab.run(), Outcome.DELETED) == 0
    lab.clock.advance(1)
    assert count_of(lab.run(), Outcome.DELETED) == 1
    assert lab.rows_of("t") == {}
    lab.store.ledger.start(["t"])
    assert lab.seed("t", 0)


def interrupted(lab: Lab) -> None:
    lab.seed("t", 30, interrupted=True)


def failed(lab: Lab) -> None:
    fail(lab, "t", lab.seed("t", 30)[-1])


def failed_below(lab: Lab) -> None:
    lab.seed("t", 30)
    fail(lab, "t", lab.seed("t", 29, 1, namespace="child:1")[-1], "child:1")


def went_on_after_a_failure(lab: Lab) -> None:
    ids = lab.seed("t", 30)
    fail(lab, "t", ids[-1])
    lab.seed("t", 29, 1, parent=ids[-1])


def went_on_after_a_failure_below(lab: Lab) -> None:
    fail(lab, "t", lab.seed("t", 40, 1, namespace="child:1")[-1], "child:1")
    lab.seed("t", 30)


def marked(lab: Lab) -> None:
    lab.seed("t", 30, marked=5)


def marked_while_interrupted(lab: Lab) -> None:
    lab.seed("t", 30, marked=5, interrupted=True)


def written_to_just_now(lab: Lab) -> None:
    lab.seed("t", 0.5)


def started_just_now(lab: Lab) -> None:
    lab.seed("t", 30)
    lab.store.ledger.start(["t"])


@pytest.mark.parametrize(
    ("become", "found", "why"),
    [
        (interrupted, ThreadStatus.INTERRUPTED, ""),
        (failed, ThreadStatus.FAILED, ""),
        (failed_below, ThreadStatus.FAILED, ""),
        (went_on_after_a_failure, ThreadStatus.IDLE, ""),
        (went_on_after_a_failure_below, ThreadStatus.IDLE, ""),
        (marked_while_interrupted, ThreadStatus.INTERRUPTED, ""),
        (
            marked,
            ThreadStatus.FINISHED,
            "thread 't' is marked finished already: its owner gave no name",
        ),
        (
            written_to_just_now,
            ThreadStatus.RUNNING,
            RUNNING.format("11:59:30"),
        ),
        (
            started_just_now,
            ThreadStatus.RUNNING,
            RUNNING.format("12:00:00"),
        ),
    ],
)
def test_only_what_nobody_works_on_and_nobody_finished_is_ended(
    lab: Lab, become: Callable[[Lab], None], found: ThreadStatus, why: str
) -> None:
    become(lab)
    assert status(lab) is found
    before = lab.dump()
    assert ended(lab) == why
    assert (lab.dump() == before) is bool(why)


def test_how_long_a_thread_must_have_been_quiet_is_the_operators_choice(lab: Lab) -> None:
    lab.seed("t", 1)
    assert "within the last 61 seconds" in ended(lab, quiet=61)
    assert ended(lab, quiet=60) == ""


def test_a_thread_is_ended_once(lab: Lab) -> None:
    lab.seed("t", 30)
    assert ended(lab) == ""
    before = lab.dump()
    assert ended(lab) == (
        "thread 't' was ended already: by 'ops' at 2026-06-01T12:00:00+00:00: 'stuck since May'"
    )
    assert lab.dump() == before


def test_a_thread_whose_head_has_moved_is_not_ended(lab: Lab) -> None:
    first, second = lab.seed("t", 30)
    before = lab.dump()
    assert ended(lab, head=first) == (
        f"the head of thread 't' is {second} by now, not {first}: something was written to it "
        "meanwhile"
    )
    assert lab.dump() == before
    assert ended(lab, head=second) == ""


def test_what_holds_no_checkpoint_is_not_ended(lab: Lab) -> None:
    lab.store.ledger.start(["t"])
    lab.clock.advance(30)
    before = lab.dump()
    why = "thread '{}' holds no checkpoint: there is nothing to end"
    assert ended(lab) == why.format("t")
    assert ended(lab, "unknown") == why.format("unknown")
    assert lab.dump() == before


def test_a_thread_of_unknown_age_counts_as_running_unless_no_quiet_is_asked_for(lab: Lab) -> None:
    lab.put_foreign("t", "zzz", "not a time")
    assert "the age of its head cannot be told" in ended(lab)
    assert ended(lab, quiet=0) == ""


def test_the_owner_who_marked_it_is_named(lab: Lab) -> None:
    lab.seed("t", 30)
    lab.store.ledger.mark_finished(["t"], owner="flows")
    assert ended(lab) == "thread 't' is marked finished already: by 'flows'"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (Ended(NOW, "ops", " \n"), "to end a thread needs a reason: none was given"),
        (Ended(NOW, "", "why"), "to end a thread needs the name of whoever says so: none was"),
    ],
)
def test_an_end_without_a_name_or_a_reason_is_refused(lab: Lab, word: Ended, message: str) -> None:
    lab.seed("t", 30)
    with pytest.raises(ConfigurationError, match=message):
        end(lab.store, "t", word, EndRule(NOW))
    assert entry(lab) is None


def test_an_owners_later_mark_leaves_the_end(lab: Lab) -> None:
    lab.seed("t", 30)
    ended(lab)
    lab.clock.advance(2)
    lab.store.ledger.mark_finished(["t"], owner="flows")
    found = entry(lab)
    assert found is not None
    assert (found.ended, found.marked_at, found.owner) == (WORD, lab.clock.now, "flows")
    with pytest.raises(ThreadEndedError):
        lab.store.ledger.start(["t"])


@pytest.mark.parametrize("thread_id", ODD_IDS)
def test_any_id_can_be_ended(lab: Lab, thread_id: str) -> None:
    lab.seed(thread_id, 30)
    assert ended(lab, thread_id) == ""
    with pytest.raises(ThreadEndedError) as raised:
        lab.store.ledger.start([thread_id, "other"])
    assert raised.value.thread_id == thread_id


def test_an_interrupt_that_a_run_left_is_seen_though_the_root_parks_later(lab: Lab) -> None:
    child = lab.seed("t", 30, 1, namespace="child:1")[-1]
    root = lab.seed("t", 29, 1)[-1]
    park(lab.saver, "t", child, namespace="child:1")
    assert status(lab) is ThreadStatus.IDLE
    park(lab.saver, "t", root)
    assert status(lab) is ThreadStatus.INTERRUPTED


def test_a_parked_thread_that_was_ended_is_spared_no_more(lab: Lab) -> None:
    parked = FlowsEngineFilter(lab.store)
    for thread_id in ("t", "u"):
        lab.seed(thread_id, 30, interrupted=True)
    assert set(parked.claims(["t", "u"])) == {"t", "u"}
    ended(lab)
    lab.store.ledger.mark_finished(["u"])
    assert set(parked.claims(["t", "u"])) == {"u"}
    lab.clock.advance(10)
    result = lab.run(parked)
    assert count_of(result, Outcome.DELETED) == count_of(result, Outcome.SPARED) == 1
    assert lab.threads() == {"u"}
