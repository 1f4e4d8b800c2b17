"""A thread deleted under a run, and an id that is used again: what is late goes, the rest stays."""

import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from retention.errors import ThreadDeletedError
from retention.runs import Outcome, RunOutcome
from tests.integration import graphs
from tests.integration.graphs import NOTHING, agent_on
from tests.integration.places import Place, later
from tests.integration.sweeping import LENIENT, sweep
from tests.seeding import config_of, seed_thread


class Deletion:
    """A node that sweeps the store it runs on, once armed: its own thread goes under it."""

    def __init__(self, place: Place) -> None:
        self.armed = threading.Event()
        self._place = place

    def __call__(self, state: graphs.State) -> graphs.Update:
        if self.armed.is_set():
            with self._place.store() as store:
                assert sweep(store).to_json()["swept_count"] == 1
        return {"log": ["swept"], "count": 1}


def sweep_again(place: Place) -> dict[str, Any]:
    """The next sweep, which finds nothing old: only late writes are its business."""
    with place.store() as store:
        result = sweep(store, policy=LENIENT)
    assert result.outcome is RunOutcome.COMPLETED
    assert result.counts.total(Outcome.DELETED) == 0
    return dict(result.counts.values)


def surrounded(deletion: Deletion) -> Any:
    """A graph that is deleted in the middle."""
    return graphs.series(
        ("first", graphs.step("first")), ("sweep", deletion), ("last", graphs.step("last"))
    )


def within(deletion: Deletion) -> Any:
    """A graph that is deleted inside its subgraph."""
    return graphs.series(
        ("first", graphs.step("first")),
        ("inner", surrounded(deletion).compile()),
        ("last", graphs.step("last")),
    )


def before(deletion: Deletion) -> Any:
    """A graph that is deleted just before its subgraph."""
    return graphs.series(
        ("sweep", deletion), ("inner", graphs.chain().compile()), ("last", graphs.step("last"))
    )


WHOLE: tuple[Callable[[Deletion], Any], ...] = (surrounded, within)
"""Graphs all of whose late checkpoints follow one that is gone, or are called by one."""


def test_a_run_deleted_under_our_saver_fails_and_leaves_nothing_readable(
    place: Place, mode: str, durability: str
) -> None:
    for build in (surrounded, within, before):
        deletion = Deletion(place)
        config = config_of(build.__name__)
        with agent_on(place, build(deletion), "ours", mode) as agent:
            agent.run(NOTHING, config, durability)
            deletion.armed.set()
            with pytest.raises(ThreadDeletedError, match=f"thread '{build.__name__}' was deleted"):
                agent.run(NOTHING, config, durability)
            assert agent.state(config).values == {}
            assert agent.history(config) == []
            sweep_again(place)
            # In the background, a subgraph may begin whose caller is refused: nothing tells it from
            # one of a new run that is not saved yet.
            if build is surrounded or (build in WHOLE and durability != "async"):
                deletion.armed.clear()
                assert place.rows(build.__name__) == {}
                assert agent.run(NOTHING, config, durability)["log"][0] == "first"
        with place.store() as store:
            sweep(store)


def test_what_a_run_writes_late_through_a_stock_saver_goes_with_the_next_sweep(
    place: Place, mode: str, durability: str
) -> None:
    for build in WHOLE:
        deletion = Deletion(place)
        config = config_of(build.__name__)
        with agent_on(place, build(deletion), "stock", mode) as agent:
            agent.run(NOTHING, config, durability)
            deletion.armed.set()
            agent.run(NOTHING, config, durability)
        assert place.rows(build.__name__) != {}
        assert sweep_again(place) == {"cleaned:waiting": 1}
        assert place.rows(build.__name__) == {}
        assert sweep_again(place) == {}


def test_a_subgraph_begun_after_the_delete_goes_when_it_is_old_itself(place: Place) -> None:
    # Its first checkpoint has no parent: it looks like a new thread, and lives as long as one.
    deletion = Deletion(place)
    with agent_on(place, before(deletion), "stock") as agent:
        agent.run(NOTHING, config_of("doomed"))
        deletion.armed.set()
        agent.run(NOTHING, config_of("doomed"))
    sweep_again(place)
    with place.store() as store:
        sweep(store, later(9))
        sweep(store, later(11))
    assert place.rows("doomed") == {}


def write_late(place: Place, thread_id: str, head: str) -> None:
    """What a run of the old thread still had in hand, written by a stock saver."""
    with place.saver("stock") as saver:
        saver.put_writes(
            config_of(thread_id, checkpoint_id=head), [("log", ["late"])], str(uuid.uuid4())
        )
        seed_thread(saver, thread_id, datetime.now(UTC), checkpoints=2, parent=head)


def test_an_id_used_again_at_once_keeps_its_new_conversation_and_loses_the_old_ones_late_writes(
    place: Place, mode: str, durability: str
) -> None:
    config = config_of("reused")
    with agent_on(place, graphs.branching(), "stock", mode) as agent, place.store() as store:
        agent.run(NOTHING, config, durability)
        head = store.threads.facts(["reused"])["reused"].head
        assert head is not None
        assert sweep(store).to_json()["waiting_swept"] == ["reused"]
        agent.run({"log": ["hello"], "count": 1}, config, durability)
        state, rows = agent.state(config), place.rows("reused")
        write_late(place, "reused", head)
        assert agent.state(config) != state
        assert sweep_again(place) == {"cleaned:waiting": 1}
        assert (agent.state(config), place.rows("reused")) == (state, rows)
        write_late(place, "reused", head)
        assert sweep(store, later(10), policy=LENIENT).counts.values == {"cleaned:waiting": 1}
        assert (agent.state(config), place.rows("reused")) == (state, rows)
        result = agent.run(NOTHING, config, durability)
        assert result["log"] == ["hello", *["left", "right", "join"] * 2]
        assert sweep(store, later(12), policy=LENIENT).counts.values == {}
