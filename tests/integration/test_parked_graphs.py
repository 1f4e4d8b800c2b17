"""A run parked on a question outlives every horizon, and goes once it is answered and old."""

from retention.runs import RunOutcome
from tests.integration import graphs
from tests.integration.graphs import NOTHING, Agent, agent_on, answer
from tests.integration.places import Place
from tests.integration.sweeping import sweep, would_sweep
from tests.seeding import config_of

#: Graphs that park, each with its questions.
SHAPES: dict[str, tuple[graphs.Builder, list[str]]] = {
    "asking": (graphs.asking, ["ask"]),
    "asking_within": (graphs.asking_within, ["ask"]),
    "asking_deep_within": (graphs.asking_deep_within, ["ask"]),
    "asking_within_memory": (graphs.asking_within_memory, ["ask"]),
    "asking_twice": (graphs.asking_twice, ["left", "right"]),
}


def undisturbed(place: Place, shape: str, durability: str) -> object:
    """The result of a run of the same graph that nobody swept in between."""
    build, questions = SHAPES[shape]
    config = config_of("undisturbed")
    with agent_on(place, build(), "stock") as agent:
        agent.run(NOTHING, config, durability)
        result = [answer(agent, config, which, durability) for which in questions][-1]
        agent.saver.delete_thread("undisturbed")
        return result


def spared(place: Place, thread_id: str) -> bool:
    """Whether a sweep in eight days spares a thread, all it holds kept, and counts nothing else."""
    before = place.rows(thread_id)
    with place.store() as store:
        foreseen = would_sweep(store)
        result = sweep(store)
    claimed = {"thread_id": thread_id, "horizon": "waiting", "owner": "flows-engine"}
    assert foreseen.to_json()["spared"] == result.to_json()["spared"]
    return result.to_json()["spared"] == [claimed] and place.rows(thread_id) == before


def test_a_parked_run_is_spared_resumes_to_the_right_result_and_then_goes(
    place: Place, who: str, mode: str, durability: str
) -> None:
    for shape, (build, questions) in SHAPES.items():
        config = config_of(shape)
        with agent_on(place, build(), who, mode) as agent:
            agent.run(NOTHING, config, durability)
            for which in questions:
                assert spared(place, shape)
                result = answer(agent, config, which, durability)
        assert result == undisturbed(place, shape, durability)
        with place.store() as store:
            swept = sweep(store)
        assert swept.outcome is RunOutcome.COMPLETED
        assert swept.to_json()["waiting_swept"] == [shape]
        assert place.threads() == set()


def test_a_finished_mark_on_a_parked_run_does_not_let_it_go(place: Place) -> None:
    with agent_on(place, graphs.asking()) as agent, place.store() as store:
        agent.run(NOTHING, config_of("parked"))
        store.ledger.mark_finished(["parked"])
        result = sweep(store)
        assert result.to_json()["spared"] == [
            {"thread_id": "parked", "horizon": "finished", "owner": "flows-engine"}
        ]
        assert answer(agent, config_of("parked"), "ask")["log"] == ["first", "ask=yes", "last"]


def test_an_edit_past_the_question_ends_the_parking(place: Place, who: str) -> None:
    with agent_on(place, graphs.asking_within(), who) as agent:
        config = config_of("edited")
        agent.run(NOTHING, config)
        assert spared(place, "edited")
        fork_past(agent)
    with place.store() as store:
        assert sweep(store).to_json()["waiting_swept"] == ["edited"]
    assert place.threads() == set()


def fork_past(agent: Agent) -> None:
    """Leave the question unanswered behind a newer head."""
    oldest = agent.history(config_of("edited"))[-1].config
    agent.update(oldest, {"log": ["edited"], "count": 1})


def test_a_run_stopped_before_a_node_is_no_parked_run(place: Place) -> None:
    # interrupt_before leaves no pending write: only the graph itself knows that it waits.
    with place.saver("ours") as saver:
        graph = graphs.chain().compile(checkpointer=saver, interrupt_before=["second"])
        graph.invoke(NOTHING, config_of("stopped"))
        assert graph.get_state(config_of("stopped")).next == ("second",)
    with place.store() as store:
        assert sweep(store).to_json()["waiting_swept"] == ["stopped"]
