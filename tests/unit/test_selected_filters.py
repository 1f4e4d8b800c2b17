"""What SWEEP_FILTERS may name: filters there are, each once, and a wrong name is explained."""

from pathlib import Path

import pytest

from retention.errors import ConfigurationError
from retention.filters import FilterRegistry, FlowsEngineFilter
from stores import init_store, open_store
from tests.commands import retention_command
from worker.filters import select_filters

FLOWS = "flows-engine"


def registry() -> FilterRegistry:
    """The filter that is shipped, and one of an application's own."""
    filters = FilterRegistry()
    filters.register("auditors", FlowsEngineFilter)
    return filters


def refusal(*names: str) -> str:
    with open_store("memory://") as store, pytest.raises(ConfigurationError) as raised:
        select_filters(registry(), names, store)
    return str(raised.value)


def test_the_filters_come_in_the_order_of_their_names() -> None:
    with open_store("memory://") as store:
        chosen = select_filters(registry(), (FLOWS, "auditors"), store)
        assert len(chosen) == 2
        assert select_filters(registry(), (), store) == []


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (
            ("flow-engine",),
            (
                "no live-thread filter is named 'flow-engine', did you mean flows-engine? "
                "the known ones are: agents, auditors, flows-engine, interactions"
            ),
        ),
        (
            ("auditors", "nobody"),
            "no live-thread filter is named 'nobody'; the known ones are: agents, auditors, flows-engine, interactions",
        ),
        (
            ("agents", FLOWS, "auditors"),
            (
                "the live-thread filter 'auditors' is named twice; "
                "the known ones are: agents, auditors, flows-engine, interactions"
            ),
        ),
    ],
)
def test_a_wrong_name_is_told_with_the_variable_its_value_and_the_known_names(
    names: tuple[str, ...], rule: str
) -> None:
    assert refusal(*names) == f"SWEEP_FILTERS={','.join(names)!r} is refused: {rule}"


@pytest.mark.parametrize("value", ["flow-engine", "flows-engine,flows-engine"])
@pytest.mark.parametrize("verb", [("run",), ("run", "--dry-run"), ("status",)], ids=" ".join)
def test_a_command_refuses_a_wrong_name_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, value: str, verb: tuple[str, ...]
) -> None:
    init_store("store.db")
    monkeypatch.setenv("SWEEP_FILTERS", value)
    ran = retention_command("sweep", *verb, "--storage", "store.db")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"retention: SWEEP_FILTERS='{value}' is refused: ")
    assert ran.err.count("\n") == 1
