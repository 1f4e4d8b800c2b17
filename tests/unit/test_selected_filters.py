"""What SWEEP_FILTERS may name: filters there are, each once, and a wrong name is explained."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from retention.errors import ConfigurationError
from retention.filters import FilterRegistry, FlowsEngineFilter
from stores import init_store, open_store
from tests.commands import retention_command
from worker.filters import GROUP, known_filters, select_filters

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
            (
                "no live-thread filter is named 'nobody'; "
                "the known ones are: agents, auditors, flows-engine, interactions"
            ),
        ),
        (
            ("auditors", FLOWS, "auditors"),
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


@pytest.mark.parametrize("owner", ["interactions", "agents"])
def test_a_filter_for_asks_is_refused_on_a_store_that_can_hold_none(owner: str) -> None:
    line = refusal(owner)
    assert line.startswith(f"SWEEP_FILTERS='{owner}' is refused: the memory store cannot hold asks")
    assert line.endswith("redis and postgres can")


@pytest.mark.parametrize("value", ["flow-engine", "flows-engine,flows-engine"])
@pytest.mark.parametrize("verb", [("run",), ("run", "--dry-run")], ids=" ".join)
def test_a_command_refuses_a_wrong_name_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, value: str, verb: tuple[str, ...]
) -> None:
    init_store("store.db")
    monkeypatch.setenv("SWEEP_FILTERS", value)
    ran = retention_command("sweep", *verb, "--storage", "store.db")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"retention: SWEEP_FILTERS='{value}' is refused: ")
    assert ran.err.count("\n") == 1


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Installs a package with these entry points, and a module of filters."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "offered_filters.py").write_text(
        "class Mine:\n"
        "    owner = 'mine'\n"
        "    def __init__(self, store): self.provider = store.provider\n"
        "    def claims(self, thread_ids): return thread_ids\n"
        "def breaks(store): raise OSError('no network')\n"
        "def refuses(store):\n"
        "    from retention.errors import ConfigurationError\n"
        "    raise ConfigurationError('needs its own database')\n"
    )

    def install(entry_points: str) -> None:
        folder = tmp_path / "offered_filters-1.dist-info"
        folder.mkdir()
        metadata = "Metadata-Version: 2.1\nName: offered-filters\nVersion: 1\n"
        (folder / "METADATA").write_text(metadata)
        (folder / "entry_points.txt").write_text(f"[{GROUP}]\n{entry_points}\n")
        importlib.invalidate_caches()

    return install


def test_an_installed_package_offers_filters_by_entry_point(
    offered: Callable[[str], None],
) -> None:
    offered("mine = offered_filters:Mine")
    assert "mine" in known_filters().owners
    with open_store("memory://") as store:
        (mine,) = select_filters(known_filters(), ["mine"], store)
        assert (mine.owner, list(mine.claims(["a"]))) == ("mine", ["a"])


def test_only_the_code_of_a_selected_filter_is_loaded(offered: Callable[[str], None]) -> None:
    offered("mine = offered_filters_that_are_missing:Mine")
    with open_store("memory://") as store:
        assert [f.owner for f in select_filters(known_filters(), None, store)] == [FLOWS]


@pytest.mark.parametrize(
    ("entry_point", "line"),
    [
        ("mine = nowhere_at_all:Mine", "cannot be made: ModuleNotFoundError: No module named"),
        ("mine = offered_filters:Missing", "cannot be made: AttributeError: "),
        ("mine = offered_filters:breaks", "offered_filters:breaks cannot be made: OSError: no net"),
        ("mine = offered_filters:refuses", "needs its own database"),
        ("yours = offered_filters:Mine", "is no filter whose owner is 'yours'"),
        ("mine = builtins:id", "is no filter whose owner is 'mine'"),
    ],
)
def test_an_entry_point_that_makes_no_filter_is_refused_in_one_line(
    offered: Callable[[str], None], entry_point: str, line: str
) -> None:
    offered(entry_point)
    with open_store("memory://") as store, pytest.raises(ConfigurationError) as refused:
        select_filters(known_filters(), [entry_point.split(maxsplit=1)[0]], store)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_entry_point_with_the_owner_of_another_filter_is_refused(
    offered: Callable[[str], None],
) -> None:
    offered("agents = offered_filters:Mine")
    with pytest.raises(ConfigurationError, match="'agents' is registered twice"):
        known_filters()
