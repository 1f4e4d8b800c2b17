"""Operator policies, in every store: the shortest that applies wins, agents unchanged."""

from typing import Any

import pytest

from retention import ThreadRetention
from retention.operator import Limit, OperatorPolicy, Scalar, Source
from retention.runs import Outcome
from retention.sweep import SweepResult
from retention.threads import ThreadFacts
from tests.contract.lab import NOW, Lab, drops_waiting, in_sql, lists_waiting
from tests.seeding import seed_thread

EVALS = OperatorPolicy("evals", thread_id_prefix="eval-", waiting_minutes=20, finished_minutes=4)
TRIAL = OperatorPolicy("trial", metadata={"tenant": "t1", "trial": True}, waiting_minutes=15)
CHAT = OperatorPolicy("chat", metadata={"graph_id": "chat"}, finished_minutes=3)


@pytest.fixture
def metadata_keys() -> tuple[str, ...]:
    """What these policies ask for."""
    return ("graph_id", "tenant", "trial")


def swept(result: SweepResult) -> set[str]:
    """The threads that a sweep deleted."""
    found = result.to_json()
    return {*found["finished_swept"], *found["waiting_swept"]}


def run(lab: Lab, *policies: OperatorPolicy, **how: Any) -> set[str]:
    """The threads that a sweep deletes under policies; a dry run just before says the same."""
    foreseen = lab.preview(policies=policies, **how)
    done = lab.run(policies=policies, **how)
    assert swept(foreseen) == swept(done)
    assert done.to_json()["planned_count"] == foreseen.to_json()["planned_count"]
    return swept(done)


@in_sql
def test_a_prefix_shortens_the_waiting_horizon_of_its_threads_alone(lab: Lab) -> None:
    for thread_id in ("eval-1", "eva", "EVAL-2", "other"):
        lab.seed(thread_id, 21)
    lab.seed("eval-young", 19)
    assert run(lab, EVALS) == {"eval-1"}
    assert run(lab) == set()
    assert lab.threads() == {"eva", "EVAL-2", "other", "eval-young"}


def test_a_policy_brings_the_due_time_of_a_mark_forward(lab: Lab) -> None:
    lab.seed("eval-1", 15, marked=5)
    lab.seed("eval-2", 15, marked=3)
    lab.seed("other", 15, marked=5)
    lab.seed("eval-unmarked", 15)
    assert run(lab, EVALS) == {"eval-1"}
    assert lab.threads() == {"eval-2", "other", "eval-unmarked"}


def test_a_write_after_the_mark_counts_anew_under_a_policy_too(lab: Lab) -> None:
    lab.seed("eval-1", 30, marked=8)
    (head,) = lab.store.threads.facts(["eval-1"]).values()
    seed_thread(lab.saver, "eval-1", lab.ago(3), parent=head.head)
    assert run(lab, EVALS) == set()
    lab.clock.advance(1)
    assert run(lab, EVALS) == {"eval-1"}


def test_metadata_and_the_graph_of_the_head_pick_threads(lab: Lab) -> None:
    heads: dict[str, dict[str, Any]] = {
        "chat": {"graph_id": "chat"},
        "other-graph": {"graph_id": "chat2"},
        "no-graph": {"tenant": "chat"},
        "graph-as-object": {"graph_id": {"chat": "chat"}},
        "graph-as-list": {"graph_id": ["chat"]},
    }
    for thread_id, metadata in heads.items():
        lab.seed(thread_id, 30, marked=5, metadata=metadata)
    # The head decides: what older checkpoints say does not.
    seed_thread(lab.saver, "was-chat", lab.ago(9), metadata={"graph_id": "chat"})
    before = lab.store.threads.facts(["was-chat"])["was-chat"].head
    seed_thread(lab.saver, "was-chat", lab.ago(8), parent=before, metadata={"graph_id": "new"})
    lab.at(-5, lambda: lab.store.ledger.mark_finished(["was-chat"]))
    assert run(lab, CHAT) == {"chat"}


def test_all_values_of_a_match_must_be_there_and_of_their_type(lab: Lab) -> None:
    policy = OperatorPolicy("trial", None, {"tenant": "t1", "trial": True}, None, 3)
    heads: dict[str, dict[str, Any]] = {
        "both": {"tenant": "t1", "trial": True},
        "one": {"tenant": "t1"},
        "false": {"tenant": "t1", "trial": False},
        "number": {"tenant": "t1", "trial": 1},
        "text": {"tenant": "t1", "trial": "true"},
        "null": {"tenant": "t1", "trial": None},
    }
    for thread_id, metadata in heads.items():
        lab.seed(thread_id, 30, marked=5, metadata=metadata)
    assert run(lab, policy) == {"both"}
    numbered = OperatorPolicy("numbered", "", {"trial": 1}, None, 3)
    assert run(lab, numbered) == {"number"}


def test_the_head_of_a_subgraph_is_the_threads_head(lab: Lab) -> None:
    lab.seed("t", 30, metadata={"graph_id": "root"})
    lab.seed("t", 20, namespace="sub:1", metadata={"graph_id": "chat"})
    lab.at(-5, lambda: lab.store.ledger.mark_finished(["t"]))
    assert lab.store.threads.facts(["t"])["t"].metadata == {"graph_id": "chat"}
    assert run(lab, CHAT) == {"t"}


@in_sql
def test_of_all_that_apply_the_shortest_wins_for_each_horizon(lab: Lab) -> None:
    trial: dict[str, Scalar] = {"tenant": "t1", "trial": True}
    lab.seed("eval-both", 16, metadata=trial)
    lab.seed("eval-alone", 16)
    lab.seed("both-declared", 16, metadata=trial)
    lab.at(-12, lambda: lab.store.ledger.start(["both-declared"], ThreadRetention(10)))
    assert run(lab, EVALS, TRIAL) == {"eval-both", "both-declared"}
    rule = lab.sweep(policies=(EVALS, TRIAL)).rule(lab.options.policy, NOW)
    facts = ThreadFacts("eval-x", None, None, None, trial)
    assert rule.governing(facts) == (
        Limit(15, Source.POLICY, "trial"),
        Limit(4, Source.POLICY, "evals"),
    )


@in_sql
def test_a_start_is_activity_under_a_policy_too(lab: Lab) -> None:
    lab.seed("eval-1", 25)
    lab.at(-19, lambda: lab.store.ledger.start(["eval-1"]))
    assert run(lab, EVALS) == set()
    lab.clock.advance(1)
    assert run(lab, EVALS) == {"eval-1"}


def test_held_threads_are_counted_and_stay_under_a_policy(lab: Lab) -> None:
    lab.seed("eval-1", 30, marked=5)
    lab.hold("eval-1")
    result = lab.run(policies=(EVALS,))
    assert result.counts.total(Outcome.HELD) == 1
    assert lab.threads() == {"eval-1"}


@drops_waiting
def test_where_waiting_threads_go_by_themselves_only_the_finished_part_of_policies_holds(
    lab: Lab,
) -> None:
    lab.seed("eval-1", 30)
    lab.seed("eval-2", 30, marked=5, metadata={"tenant": "t1", "trial": True})
    lab.seed("trial", 30, marked=9, metadata={"tenant": "t1", "trial": True})
    capping = OperatorPolicy("capping", None, {"trial": True}, 5)
    assert run(lab, EVALS, capping) == {"eval-2"}
    assert lab.threads() == {"eval-1", "trial"}


@in_sql
def test_a_waiting_policy_alone_caps_the_finished_retention(lab: Lab) -> None:
    lab.seed("t", 30, marked=5, metadata={"trial": True})
    lab.seed("u", 4, marked=4, metadata={"trial": True})
    assert run(lab, OperatorPolicy("capping", None, {"trial": True}, 5)) == {"t"}


@lists_waiting
def test_each_thread_is_planned_once_whatever_finds_it(lab: Lab) -> None:
    policies = (EVALS, TRIAL)
    names = [f"eval-{number}" for number in range(7)]
    for number, thread_id in enumerate(names):
        lab.seed(thread_id, 30 + number)
    lab.at(-25, lambda: lab.store.ledger.start(names, ThreadRetention(22)))
    lab.seed("eval-declared", 12)
    lab.at(-12, lambda: lab.store.ledger.start(["eval-declared"], ThreadRetention(11)))
    result = lab.preview(policies=policies, batch_size=2).to_json()
    sweeps = lab.store.waiting_skipped is None
    assert result["planned_count"] == (8 if sweeps else 0)


def test_marks_made_under_a_longer_platform_value_come_forward_too(lab: Lab) -> None:
    lab.seed("eval-1", 30)
    with lab.other(policy=lab.options.policy.__class__(5000, 5000)) as store:
        store.ledger.mark_finished(["eval-1"])
    lab.clock.advance(5)
    assert run(lab, EVALS) == {"eval-1"}


def test_odd_names_and_values_are_compared_as_they_are(lab: Lab) -> None:
    tenants = ["", "%", "t1'; --", "zwölf \U0001f600", 'a "quoted" \\ value', "x" * 5000]
    for number, tenant in enumerate(tenants):
        lab.seed(f"t{number}", 30, marked=5, metadata={"tenant": tenant})
    for number, tenant in enumerate(tenants):
        assert run(lab, OperatorPolicy("p", None, {"tenant": tenant}, None, 3)) == {f"t{number}"}


def test_a_policy_deletes_nothing_that_was_restarted_or_no_longer_matches(lab: Lab) -> None:
    lab.seed("eval-1", 30, marked=5)
    sweep = lab.sweep(policies=(EVALS,))
    rule = sweep.rule(sweep.policy, sweep.clock())
    (facts,) = lab.store.threads.facts(["eval-1"]).values()
    assert rule.judge(facts) == "finished"
    lab.store.ledger.start(["eval-1"])
    (facts,) = lab.store.threads.facts(["eval-1"]).values()
    assert rule.judge(facts) == "live"
    assert run(lab, EVALS) == set()


def test_nothing_is_read_of_metadata_that_no_policy_asks_for(lab: Lab) -> None:
    lab.seed("t", 30, metadata={"tenant": "t1", "secret": "s", "user": "u"})
    assert lab.store.threads.facts(["t"])["t"].metadata == {"tenant": "t1"}
