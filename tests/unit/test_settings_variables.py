"""Where variables come from, and names that are refused: misspelt, in lower case, removed."""

import subprocess
import sys
from pathlib import Path

import pytest

from retention.errors import ConfigurationError
from worker.settings import (
    SweepSettings,
    load_broker_settings,
    load_settings,
    load_store_settings,
    load_sweep_settings,
)

NAME = "LLM_PROVIDER_CHECKPOINT"

KNOWN_SWEEP = "the known ones are " + ", ".join(
    sorted(f"SWEEP_{field.upper()}" for field in SweepSettings.model_fields)
)
KNOWN_STORE = (
    f"the known ones are {NAME}, {NAME}_CONN_STRING, {NAME}_INLINE_COMPRESS_BYTES, "
    f"{NAME}_RETENTION_FINISHED_MINUTES, {NAME}_RETENTION_WAITING_MINUTES"
)

WHOLE_SET = {NAME: "memory", "CELERY_BROKER_URL": "redis://h"}


def refusal(environ: dict[str, str], env_file: Path | None = None) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load_settings({**WHOLE_SET, **environ}, env_file)
    line = str(refused.value)
    assert line.splitlines() == [line]
    assert "hunter2" not in line
    return line


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    return tmp_path / ".env"


def test_all_settings_load_together() -> None:
    settings = load_settings({**WHOLE_SET, "SWEEP_BATCH_SIZE": "7"}, None)
    assert settings.store.address == "memory://"
    assert settings.sweep.batch_size == 7
    assert settings.broker.broker_url == "redis://h"


def test_each_part_loads_without_the_others() -> None:
    bad = {"CELERY_BROKER_URL": "rpc://", "SWEEP_BATCH_SIZE": "ten", NAME: "mongo"}
    store = load_store_settings({**bad, NAME: "memory"}, None)
    sweep = load_sweep_settings({**bad, "SWEEP_BATCH_SIZE": "7"}, None)
    broker = load_broker_settings({**bad, "CELERY_BROKER_URL": "redis://h"}, None)
    assert (store.address, sweep.batch_size, broker.broker_url) == ("memory://", 7, "redis://h")


def test_variables_of_other_programs_do_not_matter() -> None:
    others = {"PATH": "/bin", "SWEEPER": "x", "LLM_PROVIDER": "openai", "CELERY_X": "1", "": "x"}
    assert load_settings({**WHOLE_SET, **others}, None) == load_settings(WHOLE_SET, None)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("SWEEP_BTCH_SIZE", "did you mean SWEEP_BATCH_SIZE?"),
        ("SWEEP_BATCHSIZE", "did you mean SWEEP_BATCH_SIZE?"),
        ("SWEEP_LEASE", "did you mean SWEEP_LEASE_SECONDS?"),
        ("sweep_batch_size", "names are read in upper case, so set SWEEP_BATCH_SIZE"),
        ("Sweep_Batchsize", "did you mean SWEEP_BATCH_SIZE?"),
        ("SWEEP_TIME", "did you mean SWEEP_TIME_BUDGET_SECONDS?"),
        ("SWEEP_", KNOWN_SWEEP),
        ("SWEEP_QQQQQQQQQQQQQQQQ", KNOWN_SWEEP),
        (f"{NAME}_CONNSTRING", f"did you mean {NAME}_CONN_STRING?"),
        (f"{NAME}_CONN", f"did you mean {NAME}_CONN_STRING?"),
        (f"{NAME}_URL", KNOWN_STORE),
        (f"{NAME}S", f"did you mean {NAME}?"),
        (
            f"{NAME}_RETENTION_WAITING_MINUTE",
            f"did you mean {NAME}_RETENTION_WAITING_MINUTES?",
        ),
        (f"{NAME}_PASSWORD", KNOWN_STORE),
        (NAME.lower(), f"names are read in upper case, so set {NAME}"),
    ],
)
def test_a_name_that_no_setting_has_is_refused_without_its_value(name: str, hint: str) -> None:
    assert refusal({name: "hunter2"}) == f"{name} is not a setting: {hint}"


@pytest.mark.parametrize("name", [f"{NAME}_TTL_MINUTES", "FLOW_CHECKPOINT_RETENTION_DAYS"])
@pytest.mark.parametrize("value", ["60", ""])
def test_a_removed_variable_is_refused_with_what_replaces_it(
    name: str, value: str, env_file: Path
) -> None:
    rule = (
        f"this variable was removed: set {NAME}_RETENTION_WAITING_MINUTES and "
        f"{NAME}_RETENTION_FINISHED_MINUTES instead"
    )
    assert refusal({name: value}) == f"{name}={value!r} is refused: {rule}"
    env_file.write_text(f"{name}={value}\n")
    assert refusal({}, env_file) == f"{name} (in .env)={value!r} is refused: {rule}"


def test_the_environment_wins_over_the_file(env_file: Path) -> None:
    env_file.write_text("SWEEP_BATCH_SIZE=3\nexport SWEEP_LEASE_SECONDS='400' # more\n")
    sweep = load_sweep_settings({"SWEEP_BATCH_SIZE": "5"}, env_file)
    assert (sweep.batch_size, sweep.lease_seconds) == (5, 400)


def test_a_wrong_value_in_the_file_is_said_to_be_there(env_file: Path) -> None:
    env_file.write_text("SWEEP_BATCH_SIZE=ten\n")
    assert refusal({}, env_file) == (
        "SWEEP_BATCH_SIZE (in .env)='ten' is refused: "
        "a whole number of threads from 1 to 500 is needed"
    )


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("SWEEP_BTCH_SIZE=1", "SWEEP_BTCH_SIZE (in .env) is not a setting: did you mean"),
        ("sweep_batch_size=1", "sweep_batch_size (in .env) is not a setting: names are read in"),
        ("SWEEP_BATCH_SIZE", "SWEEP_BATCH_SIZE (in .env)='' is refused: it is empty"),
    ],
)
def test_a_wrong_name_in_the_file_is_refused(env_file: Path, content: str, line: str) -> None:
    env_file.write_text(content)
    assert refusal({}, env_file).startswith(line)


@pytest.mark.parametrize("content", ["A=1\nhunter2: x y\n", "A=1\n'hunter2\n", "A=1\n=hunter2\n"])
def test_a_line_of_the_file_that_cannot_be_read_is_refused(env_file: Path, content: str) -> None:
    env_file.write_text(content)
    assert refusal({}, env_file) == f"settings file {env_file}, line 2: it is not NAME=value"


def test_a_file_that_is_no_text_is_refused(env_file: Path) -> None:
    env_file.write_bytes(b"A=\xff\n")
    assert refusal({}, env_file) == (
        f"settings file {env_file} cannot be read: it is not UTF-8 text"
    )


def test_a_file_that_may_not_be_read_is_refused(
    env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env_file.write_text("")

    def deny(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", deny)
    assert refusal({}, env_file) == f"settings file {env_file} cannot be read: Permission denied"


def test_a_missing_file_counts_as_empty_and_so_does_a_folder(env_file: Path) -> None:
    assert load_sweep_settings({}, env_file).batch_size == 500
    env_file.mkdir()
    assert load_sweep_settings({}, env_file).batch_size == 500


def test_a_file_from_windows_is_read(env_file: Path) -> None:
    env_file.write_bytes(b"\xef\xbb\xbfSWEEP_BATCH_SIZE=3\r\nSWEEP_HISTORY_DAYS=4\r\n")
    sweep = load_sweep_settings({}, env_file)
    assert (sweep.batch_size, sweep.history_days) == (3, 4)


def test_without_arguments_the_environment_and_the_working_folder_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("SWEEP_HISTORY_DAYS=4\nSWEEP_BATCH_SIZE=4\n")
    monkeypatch.setenv("SWEEP_BATCH_SIZE", "3")
    sweep = load_sweep_settings()
    assert (sweep.batch_size, sweep.history_days) == (3, 4)


def test_importing_the_settings_reads_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("not a setting\n")
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", "import worker.settings"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "SWEEP_BATCH_SIZE": "ten"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
