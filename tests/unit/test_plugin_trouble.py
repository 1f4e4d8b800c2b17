"""Filters and hooks that cannot be loaded stop a sweep, and no other command."""

import importlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stores import init_store, open_store
from tests.commands import retention_command
from tests.seeding import seed_thread

_OLD = datetime(2026, 1, 1, tzinfo=UTC)
_UNLOADED = (
    "sweep pause",
    "sweep status",
    "sweep history",
    "sweep cancel --yes",
    "sweep resume",
    "thread hold old --reason law",
    "thread holds",
    "thread release old",
    "thread explain old",
    "thread end old --reason over",
    "policy preview",
    "thread erase old",
)


@pytest.fixture
def seeded(folder: Path) -> Path:
    """A store with one old thread."""
    init_store("store.db")
    with open_store("store.db") as store:
        seed_thread(store.saver, "old", _OLD)
    return folder


@pytest.fixture(params=["SWEEP_FILTERS", "SWEEP_ON_DELETED", "entry point"])
def _trouble(request: pytest.FixtureRequest, seeded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "entry point":
        monkeypatch.setenv(request.param, "elsewhere")
        return
    offer(
        seeded,
        monkeypatch,
        on_deleted="broken = nowhere_at_all:told",
        filters="agents = nowhere_at_all:Made",
    )


def offer(folder: Path, monkeypatch: pytest.MonkeyPatch, **groups: str) -> None:
    """Install a package with these entry points."""
    monkeypatch.syspath_prepend(str(folder))
    made = folder / "plugged-1.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1\n")
    points = [f"[langgraph_retention.{group}]\n{point}\n" for group, point in groups.items()]
    (made / "entry_points.txt").write_text("\n".join(points))
    importlib.invalidate_caches()


@pytest.mark.usefixtures("_trouble")
def test_every_other_command_works_without_them() -> None:
    for command in _UNLOADED:
        ran = retention_command(*command.split(), "--storage", "store.db")
        assert (ran.status, ran.err) == (0, ""), command


@pytest.mark.parametrize(
    ("settings", "offered", "why"),
    [
        ("elsewhere", None, "no hook is named 'elsewhere'; installed are: none"),
        (None, "nowhere_at_all:told", "No module named 'nowhere_at_all'"),
    ],
)
def test_an_erase_goes_on_without_a_hook_and_whoever_has_it_is_to_tell_it(
    seeded: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: str | None,
    offered: str | None,
    why: str,
) -> None:
    if settings is not None:
        monkeypatch.setenv("SWEEP_ON_DELETED", settings)
    if offered is not None:
        offer(seeded, monkeypatch, on_deleted=f"elsewhere = {offered}")
    ran = retention_command("thread", "erase", "old", "--yes", "--json", "--storage", "store.db")
    assert (ran.status, ran.answer["outcome"]) == (0, "erased")
    told = ran.answer["hooks"]["elsewhere"]
    assert not told["told"]
    assert why in told["error"]
    owed = retention_command("sweep", "status", "--json", "--storage", "store.db").answer
    assert owed["undelivered"][0]["run_id"] == ran.answer["run_id"]


@pytest.mark.usefixtures("_trouble")
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_sweep_is_refused_without_them(options: tuple[str, ...]) -> None:
    ran = retention_command("sweep", "run", *options, "--storage", "store.db")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.count("\n") == 1


def test_explain_and_preview_name_a_filter_that_they_cannot_ask(
    seeded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEP_FILTERS", "elsewhere,flows-engine")
    explained = retention_command("thread", "explain", "old", "--json", "--storage", "store.db")
    answer = explained.answer
    why = "SWEEP_FILTERS='elsewhere' is refused: no live-thread filter is named 'elsewhere'"
    assert not answer["goes"]
    assert f"'elsewhere' failed: it cannot be asked: {why}" in answer["sentence"]
    assert [found["owner"] for found in answer["filters"]] == ["elsewhere", "flows-engine"]
    assert answer["filters"][1]["error"] is None
    preview = ("policy", "preview", "--storage", "store.db")
    counted = retention_command(*preview, "--json").answer
    assert counted["waiting_count"] == 1
    assert counted["filters_not_asked"]["elsewhere"].startswith(why)
    assert "filter elsewhere was not asked" in retention_command(*preview).out


def test_what_filters_and_hooks_print_stays_out_of_the_answer(
    seeded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (seeded / "loud_plugins.py").write_text(
        "print('loaded')\n"
        "class Loud:\n"
        "    owner = 'loud'\n"
        "    def __init__(self, store): print('made')\n"
        "    def claims(self, thread_ids): print('asked'); return []\n"
        "def told(thread_ids, *, store, run_id): print('told')\n"
    )
    offer(
        seeded,
        monkeypatch,
        filters="loud = loud_plugins:Loud",
        on_deleted="told = loud_plugins:told",
    )
    monkeypatch.setenv("SWEEP_FILTERS", "loud")
    for verb in (("thread", "explain", "old"), ("sweep", "run", "--dry-run"), ("sweep", "run")):
        ran = retention_command(*verb, "--json", "--storage", "store.db")
        assert (ran.status, bool(ran.answer)) == (0, True)
        assert "asked" in ran.err.splitlines()
    assert "told" in ran.err.splitlines()
