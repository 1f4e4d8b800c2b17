"""Operator policies as a person writes them: read whole, or refused in one line."""

import json

import pytest

from retention import RetentionPolicy
from retention.errors import ConfigurationError
from retention.operator import OperatorPolicy, Scalar
from stores import Access
from worker.settings import load_store_settings, load_sweep_settings
from worker.settings.policies import checked_against
from worker.wiring import store_options

_MATCH = {"thread_id_prefix": "eval-"}


def read(value: object) -> tuple[OperatorPolicy, ...]:
    """The policies of a value."""
    text = value if isinstance(value, str) else json.dumps(value)
    return load_sweep_settings({"SWEEP_POLICIES": text}, None).policies


def test_every_kind_of_match_is_read() -> None:
    match = {**_MATCH, "graph_id": "chat", "metadata": {"tenant": "a", "trial": True, "level": 2}}
    policies = read(
        [
            {"name": "evals", "match": match, "waiting_minutes": 60, "finished_minutes": 5},
            {"name": "chats", "match": {"graph_id": "chat"}, "finished_minutes": 9},
        ]
    )
    metadata: dict[str, Scalar] = {"tenant": "a", "trial": True, "level": 2, "graph_id": "chat"}
    assert policies == (
        OperatorPolicy("evals", "eval-", metadata, 60, 5),
        OperatorPolicy("chats", None, {"graph_id": "chat"}, None, 9),
    )


@pytest.mark.parametrize("value", ["null", "[]"])
def test_there_may_be_none(value: str) -> None:
    assert read(value) == ()
    assert load_sweep_settings({}, None).policies == ()


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("{", "SWEEP_POLICIES='{' is refused: a JSON list of policies is needed"),
        ('{"name": "a"}', "is refused: a JSON list of policies is needed"),
        ("[NaN]", "SWEEP_POLICIES='[NaN]' is refused: a JSON list"),
        ([7], "SWEEP_POLICIES, entry 1=7 is refused: an object with the keys name, match"),
        ([{"name": "a", "prefix": "x"}], "entry 1: 'prefix' is no key here: the known ones are"),
        ([{"match": _MATCH}], "SWEEP_POLICIES, entry 1: name=null is refused: 1 to 100 printable"),
        ([{"name": "x" * 101}], 'name="' + "x" * 79 + "… is refused"),
        ([{"name": "a\nb"}], r"SWEEP_POLICIES, entry 1: name=\"a\\nb\" is refused"),
        ([{"name": "a"}], "entry 1: match=null is refused: an object with thread_id_prefix or"),
        ([{"name": "a", "match": {"graph": "x"}}], "entry 1: match: 'graph' is no key here"),
        (
            [{"name": "a", "match": {}, "waiting_minutes": 5}],
            "SWEEP_POLICIES, policy 'a': it matches by nothing",
        ),
        (
            [{"name": "a", "match": {"thread_id_prefix": ""}, "waiting_minutes": 5}],
            'thread_id_prefix="" is refused: a text that is not empty is needed',
        ),
        (
            [{"name": "a", "match": {"graph_id": 7}, "waiting_minutes": 5}],
            "graph_id=7 is refused: a text that is not empty is needed",
        ),
        (
            [{"name": "a", "match": {"metadata": {}}, "waiting_minutes": 5}],
            "metadata={} is refused: an object of keys and their values is needed",
        ),
        (
            [{"name": "a", "match": {"metadata": {"k": None}}, "waiting_minutes": 5}],
            "metadata 'k'=null is refused: a text, a number, true or false is needed",
        ),
        (
            [{"name": "a", "match": _MATCH}],
            "policy 'a': it has neither waiting_minutes nor finished_minutes",
        ),
        (
            [{"name": "a", "match": _MATCH, "waiting_minutes": 0}],
            "policy 'a': waiting_minutes must be a whole number of minutes from 1 to 52560000: 0",
        ),
        (
            [{"name": "a", "match": _MATCH, "finished_minutes": 1.5}],
            "policy 'a': finished_minutes must be a whole number of minutes from 1 to",
        ),
        (
            [{"name": "a", "match": _MATCH, "waiting_minutes": 5, "finished_minutes": 6}],
            "policy 'a': finished_minutes of 6 must not exceed its waiting_minutes of 5",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_rule_in_one_line(value: object, line: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(value)
    message = str(refused.value)
    assert line.replace('\\"', '"').replace("\\\\n", "\\n") in message
    assert message.startswith("SWEEP_POLICIES")
    assert "\n" not in message


def test_two_policies_of_one_name_are_refused() -> None:
    policy = OperatorPolicy("a", "x", {}, 5)
    with pytest.raises(ConfigurationError, match="SWEEP_POLICIES, policy 'a' is there twice"):
        checked_against([policy, policy], RetentionPolicy(60, 10))


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        (OperatorPolicy("a", "x", {}, 61), "waiting_minutes of 61 .* retention of 60 minutes"),
        (OperatorPolicy("a", "x", {}, None, 11), "finished_minutes of 11 .* retention of 10 min"),
    ],
)
def test_a_policy_above_the_platform_is_refused_naming_both_values(
    policy: OperatorPolicy, line: str
) -> None:
    assert checked_against([], RetentionPolicy(60, 10)) == ()
    with pytest.raises(ConfigurationError, match=f"SWEEP_POLICIES, policy 'a': {line}"):
        checked_against([policy], RetentionPolicy(60, 10))


def test_a_store_is_not_opened_with_a_policy_above_the_platform_and_reads_what_policies_ask() -> (
    None
):
    store = load_store_settings({"LLM_PROVIDER_CHECKPOINT": "memory"}, None)
    entries = [
        {"name": "a", "match": {"graph_id": "chat"}, "waiting_minutes": 60},
        {"name": "b", "match": {"metadata": {"tenant": "x"}}, "waiting_minutes": 60},
    ]
    sweep = load_sweep_settings({"SWEEP_POLICIES": json.dumps(entries)}, None)
    assert store_options(store, sweep, Access.READ).metadata_keys == ("graph_id", "tenant")
    entries[1]["waiting_minutes"] = 10_081
    sweep = load_sweep_settings({"SWEEP_POLICIES": json.dumps(entries)}, None)
    with pytest.raises(ConfigurationError, match="policy 'b': waiting_minutes of 10081"):
        store_options(store, sweep, Access.READ)
