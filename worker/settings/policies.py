"""The operator's policies, as ``SWEEP_POLICIES`` holds them: a JSON list."""

import json
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from retention.errors import ConfigurationError
from retention.operator import GRAPH_ID, OperatorPolicy, Scalar, check_policies
from retention.policy import RetentionPolicy

VARIABLE = "SWEEP_POLICIES"

POLICIES_RULE = (
    "a JSON list of policies is needed, such as "
    '[{"name": "evals", "match": {"thread_id_prefix": "eval-"}, "waiting_minutes": 60}], or null '
    "for none"
)

_KEYS = ("name", "match", "waiting_minutes", "finished_minutes")
_MATCH_KEYS = ("thread_id_prefix", "graph_id", "metadata")
_LONGEST_NAME = 100
_SHOWN = 80


def parse_policies(value: object) -> object:
    """Read policies as a person writes them; what is no text comes back unchanged.

    Raises:
        ValueError: It is no JSON list.
        ConfigurationError: One of the policies is wrong; the line names it, the value and the rule.
    """
    if not isinstance(value, str):
        return value
    if value == "null":
        return ()
    entries = json.loads(value, parse_constant=_refuse_constant)
    if not isinstance(entries, list):
        msg = "not a list"
        raise ValueError(msg)
    return tuple(_policy(number, entry) for number, entry in enumerate(entries, 1))


def checked_against(
    policies: Collection[OperatorPolicy], platform: RetentionPolicy
) -> tuple[OperatorPolicy, ...]:
    """Policies that keep below their ceilings.

    Raises:
        ConfigurationError: Two have one name, or one is above the platform's retention.
    """
    try:
        check_policies(tuple(policies), platform)
    except ConfigurationError as error:
        raise ConfigurationError(f"{VARIABLE}, {error}") from None
    return tuple(policies)


def _policy(number: int, entry: object) -> OperatorPolicy:
    where = f"{VARIABLE}, entry {number}"
    if not isinstance(entry, dict):
        _refuse(where, entry, f"an object with the keys {', '.join(_KEYS)} is needed")
    _refuse_unknown(where, entry, _KEYS)
    name = entry.get("name")
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
        _refuse(f"{where}: name", name, f"1 to {_LONGEST_NAME} printable characters are needed")
    match = entry.get("match")
    if not isinstance(match, dict):
        _refuse(f"{where}: match", match, f"an object with {' or '.join(_MATCH_KEYS)} is needed")
    _refuse_unknown(f"{where}: match", match, _MATCH_KEYS)
    waiting, finished = entry.get("waiting_minutes"), entry.get("finished_minutes")
    prefix = _text(f"{where}: thread_id_prefix", match, "thread_id_prefix")
    try:
        return OperatorPolicy(name, prefix, _metadata(where, match), waiting, finished)
    except ConfigurationError as error:
        raise ConfigurationError(f"{VARIABLE}, {error}") from None


def _text(where: str, match: Mapping[str, Any], key: str) -> str | None:
    value = match.get(key)
    if key in match and (not isinstance(value, str) or not value):
        _refuse(where, value, "a text that is not empty is needed")
    return value


def _metadata(where: str, match: Mapping[str, Any]) -> dict[str, Scalar]:
    found = match.get("metadata", {})
    if not isinstance(found, dict) or ("metadata" in match and not found):
        _refuse(f"{where}: metadata", found, "an object of keys and their values is needed")
    for key, value in found.items():
        if not isinstance(value, str | int | float) or "\0" in key:
            _refuse(
                f"{where}: metadata {key!r}", value, "a text, a number, true or false is needed"
            )
    graph = _text(f"{where}: graph_id", match, "graph_id")
    return found if graph is None else {**found, GRAPH_ID: graph}


def _refuse_unknown(where: str, entry: Mapping[str, Any], known: Collection[str]) -> None:
    for key in entry:
        if key not in known:
            raise ConfigurationError(
                f"{where}: {key!r} is no key here: the known ones are {', '.join(known)}"
            )


def _refuse(where: str, value: object, rule: str) -> NoReturn:
    text = json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    raise ConfigurationError(f"{where}={shown} is refused: {rule}")


def _refuse_constant(name: str) -> NoReturn:
    msg = f"{name} is no number of JSON"
    raise ValueError(msg)
