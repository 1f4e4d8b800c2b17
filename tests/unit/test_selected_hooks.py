"""Which hooks are on: what installed packages offer, as SWEEP_ON_DELETED chooses from it."""

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from retention.errors import ConfigurationError
from retention.hooks import Hooks
from stores import init_store, open_store
from stores.runlog.encoding import load_deliveries
from tests.commands import command_on, retention_command, retention_process
from tests.seeding import seed_thread
from tests.waiting import eventually
from worker.hooks import GROUP, hooks_of
from worker.settings import load_store_settings, load_sweep_settings

_CODE = """
import json, os
def files(thread_ids, *, store, run_id):
    with open("told.json", "a") as told:
        told.write(json.dumps([thread_ids, store, run_id]) + "\\n")
def vectors(thread_ids, *, store, run_id):
    if not os.path.exists("vectors-up"):
        raise ConnectionError("no vector store")
def dies(thread_ids, *, store, run_id):
    if not os.path.exists("died"):
        open("died", "w").close()
        os.kill(os.getpid(), 9)
    files(thread_ids, store=store, run_id=run_id)
nothing = None
"""


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Installs packages with these entry points, and a module of hooks."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "offered_hooks", raising=False)
    (tmp_path / "offered_hooks.py").write_text(_CODE)

    def install(*entry_points: str, name: str = "offered-hooks") -> None:
        folder = tmp_path / f"{name.replace('-', '_')}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        lines = "\n".join(entry_points)
        (folder / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}\n")
        importlib.invalidate_caches()

    return install


FILES, VECTORS = "files = offered_hooks:files", "vectors = offered_hooks:vectors"


def chosen(**settings: str) -> Hooks:
    """The hooks under these settings."""
    store = load_store_settings({"LLM_PROVIDER_CHECKPOINT": "memory"}, None)
    sweep = {f"SWEEP_{name}": value for name, value in settings.items()}
    return hooks_of(store, load_sweep_settings(sweep, None))


def refusal(**settings: str) -> str:
    """The line that refuses these settings."""
    with pytest.raises(ConfigurationError) as refused:
        chosen(**settings)
    return str(refused.value)


def test_without_a_package_that_offers_any_there_is_none() -> None:
    assert chosen().calls == {}


def test_all_that_are_installed_are_on_unless_some_are_named(
    offered: Callable[..., None],
) -> None:
    offered(VECTORS, FILES)
    assert list(chosen().calls) == ["files", "vectors"]
    assert list(chosen(ON_DELETED="vectors,files").calls) == ["vectors", "files"]
    assert list(chosen(ON_DELETED="files").calls) == ["files"]
    assert chosen(ON_DELETED="null").calls == {}


def test_hooks_know_the_stores_name_and_their_time(offered: Callable[..., None]) -> None:
    offered(FILES)
    hooks = chosen(STORE_NAME="chat-store", ON_DELETED_TIMEOUT_SECONDS="7")
    assert (hooks.store, hooks.timeout) == ("chat-store", timedelta(seconds=7))


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("file", "no hook is named 'file', did you mean files? installed are: files, vectors"),
        ("other", "no hook is named 'other'; installed are: files, vectors"),
        ("files,files", "the hook 'files' is named twice; installed are: files, vectors"),
    ],
)
def test_a_wrong_name_is_told_with_the_variable_its_value_and_what_is_installed(
    offered: Callable[..., None], value: str, rule: str
) -> None:
    offered(FILES, VECTORS)
    assert refusal(ON_DELETED=value) == f"SWEEP_ON_DELETED='{value}' is refused: {rule}"


def test_a_name_where_none_is_installed_says_so() -> None:
    assert refusal(ON_DELETED="files").endswith("no hook is named 'files'; installed are: none")


@pytest.mark.parametrize(
    ("entry_point", "line"),
    [
        ("files = nowhere_at_all:files", "cannot be loaded: ModuleNotFoundError: No module named"),
        ("files = offered_hooks:missing", "cannot be loaded: AttributeError: "),
        ("files = offered_hooks:nothing", "offered_hooks:nothing cannot be called"),
    ],
)
def test_code_that_is_no_hook_is_refused_in_one_line(
    offered: Callable[..., None], entry_point: str, line: str
) -> None:
    offered(entry_point)
    assert line in refusal()
    assert "\n" not in refusal()
    assert chosen(ON_DELETED="null").calls == {}


def test_two_packages_with_a_hook_of_one_name_are_refused(offered: Callable[..., None]) -> None:
    offered(FILES)
    offered("files = offered_hooks:vectors", name="another")
    line = refusal()
    assert line.startswith(f"two installed packages offer a hook 'files' in {GROUP}: ")
    assert "offered_hooks:files" in line
    assert "offered_hooks:vectors" in line


def test_a_sweep_tells_the_installed_hooks_and_status_and_history_show_what_is_owed(
    offered: Callable[..., None], folder: Path
) -> None:
    offered(FILES, VECTORS)
    path = folder / "store.db"
    init_store(str(path))
    assert command_on(path, "sweep", "status", "--json").answer["undelivered_batches"] == 0
    with open_store(str(path)) as store:
        seed_thread(store.saver, "old", datetime(2026, 1, 1, tzinfo=UTC))
    run_id = command_on(path, "sweep", "run", "--json").answer["run_id"]
    told = [json.loads(line) for line in (folder / "told.json").read_text().splitlines()]
    ((ids, named, run),) = told
    assert (ids, named.partition("-")[0], run) == (["old"], "sqlite:store.db", run_id)

    answer = command_on(path, "sweep", "status", "--json").answer
    assert answer["undelivered_batches"] == 1
    (owed,) = answer["undelivered"]
    assert (owed["run_id"], owed["batch"], owed["threads"]) == (run_id, 0, 1)
    assert owed["hooks"]["vectors"]["error"] == "ConnectionError: no vector store"
    assert owed["hooks"]["files"]["error"] is None
    assert owed["hooks"]["files"]["delivered_at"] is not None
    assert command_on(path, "sweep", "history", run_id, "--json").answer["undelivered"] == [owed]
    for shown in (("status",), ("history", run_id)):
        out = command_on(path, "sweep", *shown).out
        assert "hooks are still to be told of 1 batch" in out
        assert "no vector store" in out
        assert "vectors" in out

    (folder / "vectors-up").touch()
    later = command_on(path, "sweep", "run", "--json").answer["run_id"]
    answer = command_on(path, "sweep", "status", "--json").answer
    assert (answer["undelivered_batches"], answer["undelivered"]) == (0, [])
    assert len((folder / "told.json").read_text().splitlines()) == 1
    assert command_on(path, "sweep", "history", later, "--json").answer["undelivered"] == []
    assert "hooks" not in command_on(path, "sweep", "status").out


def test_an_erase_tells_the_installed_hooks_and_says_which_failed(
    offered: Callable[..., None], folder: Path
) -> None:
    offered(FILES, VECTORS)
    path = folder / "store.db"
    with open_store(str(path)) as store:
        for thread_id in ("one", "two"):
            seed_thread(store.saver, thread_id, datetime(2026, 1, 1, tzinfo=UTC))
    answer = command_on(path, "thread", "erase", "one", "--yes", "--json").answer
    assert answer["hooks"] == {
        "files": {"told": True, "error": None},
        "vectors": {"told": False, "error": "ConnectionError: no vector store"},
    }
    shown = command_on(path, "thread", "erase", "two", "--yes")
    assert shown.status == 0
    assert shown.out.endswith(
        "hook 'files': told\n"
        "hook 'vectors': failed, and is told again by the next tick of a sweep: ConnectionError: "
        "no vector store\n"
    )
    assert "event=hook_failed" in shown.err
    assert command_on(path, "sweep", "status", "--json").answer["undelivered_batches"] == 2
    (folder / "vectors-up").touch()
    command_on(path, "sweep", "run")
    assert command_on(path, "sweep", "status", "--json").answer["undelivered_batches"] == 0
    told = [json.loads(line) for line in (folder / "told.json").open()]
    assert [ids for ids, _, _ in told] == [["one"], ["two"]]
    assert told[0][2] == answer["run_id"]


def test_an_erase_is_not_hindered_by_two_packages_with_a_hook_of_one_name(
    offered: Callable[..., None], folder: Path
) -> None:
    offered(FILES)
    offered("files = offered_hooks:vectors", name="another")
    with open_store(str(folder / "store.db")) as store:
        seed_thread(store.saver, "one", datetime(2026, 1, 1, tzinfo=UTC))
    erased = command_on(folder / "store.db", "thread", "erase", "one", "--yes", "--json")
    assert erased.status == 0
    assert "two installed packages" in erased.answer["hooks"]["files"]["error"]


def test_a_process_killed_in_a_hook_leaves_it_to_a_later_sweep(
    offered: Callable[..., None], folder: Path
) -> None:
    offered("dies = offered_hooks:dies")
    init_store("store.db")
    with open_store("store.db") as store:
        seed_thread(store.saver, "old", datetime(2026, 1, 1, tzinfo=UTC))
    limits = {"LEASE": "2", "SOFT_TIME_LIMIT": "1", "ON_DELETED_TIMEOUT": "1"}
    settings = {f"SWEEP_{name}_SECONDS": value for name, value in limits.items()}
    settings["PYTHONPATH"] = os.pathsep.join([str(folder), *sys.path])
    verb = ("sweep", "run", "--storage", "store.db")
    assert retention_process(*verb, folder=folder, settings=settings).status == -signal.SIGKILL
    with open_store("store.db") as store:
        assert store.threads.count_threads() == 0

    def is_told() -> bool:
        retention_process(*verb, folder=folder, settings=settings)
        return (folder / "told.json").exists()

    eventually(is_told, "the hook is told again", 60)
    ((ids, _, _),) = [json.loads(line) for line in (folder / "told.json").open()]
    assert ids == ["old"]


def test_a_command_refuses_a_wrong_name_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    init_store("store.db")
    monkeypatch.setenv("SWEEP_ON_DELETED", "files")
    ran = retention_command("sweep", "run", "--storage", "store.db")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("retention: SWEEP_ON_DELETED='files' is refused: no hook is named")
    assert ran.err.count("\n") == 1


def test_the_error_of_a_hook_is_kept_short_and_whatever_it_raises_stays_here() -> None:
    def leaves(thread_ids: list[str], *, store: str, run_id: str) -> None:
        raise SystemExit("x" * 1000)

    def fails(thread_ids: list[str], *, store: str, run_id: str) -> None:
        raise ValueError

    told = Hooks({"leaves": leaves, "fails": fails}, "s").tell(["t"], "r")
    assert told == {"leaves": "SystemExit: " + "x" * 488 + "…", "fails": "ValueError"}
    assert Hooks({"fails": fails}, "s").tell(["t"], "r", []) == {}


@pytest.mark.parametrize("text", ["", "[]", "7", '{"a": 1}', '{"a": ["x", null, null]}', "{"])
def test_deliveries_that_cannot_be_read_say_that_no_hook_was_told(text: str) -> None:
    assert load_deliveries(text) == {}
