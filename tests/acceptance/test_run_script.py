"""The script ./run, in a checkout of its own with a stand-in for the installer."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Where the script would use pip after all, the interpreter of the stand-in says no.
_UV = """#!/bin/sh
case $1 in
    venv)
        for folder; do :; done
        mkdir -p "$folder/bin"
        cat >"$folder/bin/python" <<'END'
#!/bin/sh
case "$1 $2" in "-m pip") echo "pip: no such release"; exit 1 ;; esac
exec "{python}" "$@"
END
        chmod +x "$folder/bin/python"
        echo made >>"{calls}"
        ;;
    pip)
        if [ -e "{calls}.fail" ]; then echo "uv: no such release"; exit 1; fi
        while [ -e "{calls}.hold" ]; do sleep 0.05; done
        echo "installed $*" >>"{calls}"
        ;;
esac
"""
_BENCH = """
import os, sys
print(os.getcwd(), sys.argv[1:], os.environ.get("PYTHONPATH"))
sys.exit(7)
"""


class Checkout:
    """A folder with the script, and a PATH on which the stand-in comes first."""

    def __init__(self, folder: Path, tools: Path) -> None:
        self.folder = folder
        self.calls = tools / "calls"
        self.path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        (folder / "bench").mkdir(parents=True)
        shutil.copy(ROOT / "run", folder / "run")
        (folder / "pyproject.toml").write_text("[project]\n")
        (folder / "constraints.txt").write_text("")
        (folder / "bench" / "__main__.py").write_text(_BENCH)
        tools.mkdir()
        uv = tools / "uv"
        uv.write_text(_UV.format(python=sys.executable, calls=self.calls))
        uv.chmod(0o755)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start the script from another folder, with little in the environment."""
        return subprocess.Popen(
            [str(self.folder / "run"), *arguments],
            cwd="/",
            env={"PATH": self.path, "PYTHON": sys.executable, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the script to its end."""
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def done(self) -> list[str]:
        """What the stand-in was asked for: `made` an environment, `installed` into it."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line.split()[0] for line in lines]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout in a path with spaces."""
    return Checkout(tmp_path / "a check out", tmp_path / "tools")


def test_a_command_runs_in_the_checkout_and_its_exit_status_is_the_scripts(
    checkout: Checkout,
) -> None:
    done = checkout.run("bench", "sweep", "two words", PYTHONPATH="/elsewhere")
    assert done.stdout == f"{checkout.folder} ['sweep', 'two words'] None\n"
    assert done.returncode == 7


@pytest.mark.parametrize(
    ("arguments", "minutes", "given"),
    [
        ([], None, ["-m", "soak"]),
        (["-k", "rounds"], None, ["-m", "soak", "-k", "rounds"]),
        (["2.5", "-x"], "2.5", ["-m", "soak", "-s", "tests/chaos/test_soak.py", "-x"]),
    ],
)
def test_a_soak_of_some_minutes_is_that_of_the_agents_alone(
    checkout: Checkout, arguments: list[str], minutes: str | None, given: list[str]
) -> None:
    says = "import os, sys; print(os.environ.get('SOAK_MINUTES'), sys.argv[1:])"
    (checkout.folder / "pytest.py").write_text(says)
    assert checkout.run("soak", *arguments).stdout == f"{minutes} {given}\n"


def test_it_installs_the_pinned_releases_of_the_extras_that_the_command_needs(
    checkout: Checkout,
) -> None:
    checkout.run("bench")
    call = checkout.calls.read_text().splitlines()[1]
    assert call.endswith("-c constraints.txt -e .[test]")


def test_it_installs_again_only_when_the_project_or_its_pins_changed(checkout: Checkout) -> None:
    checkout.run("bench")
    second = checkout.run("bench")
    assert second.stderr == ""
    assert checkout.done() == ["made", "installed"]
    (checkout.folder / "constraints.txt").write_text("celery==5.7.0\n")
    checkout.run("bench")
    assert checkout.done() == ["made", "installed", "installed"]


def test_the_comparison_with_the_official_redis_saver_brings_what_only_it_needs(
    checkout: Checkout,
) -> None:
    checkout.run("bench")
    checkout.run("bench", "redis")
    call = checkout.calls.read_text().splitlines()[2]
    assert call.endswith("-c constraints.txt -e .[test,bench]")


def test_what_holds_all_extras_is_not_installed_again_for_fewer(checkout: Checkout) -> None:
    checkout.run("bench", "redis")
    checkout.run("bench", "redis")
    checkout.run("bench")
    checkout.run("soak")
    assert checkout.done() == ["made", "installed"]


def test_two_at_once_install_once(checkout: Checkout) -> None:
    hold = Path(f"{checkout.calls}.hold")
    hold.touch()
    both = [checkout.start("bench"), checkout.start("bench")]
    said = {next(iter(process.stderr or [])) for process in both}
    hold.unlink()
    for process in both:
        process.communicate(timeout=60)
    assert "run: waiting for another installation to finish ...\n" in said
    assert [process.returncode for process in both] == [7, 7]
    assert checkout.done() == ["made", "installed"]


def test_a_checkout_that_was_moved_gets_a_new_environment(
    checkout: Checkout, tmp_path: Path
) -> None:
    checkout.run("bench")
    checkout.folder = checkout.folder.rename(tmp_path / "moved")
    assert checkout.run("bench").stdout.startswith(str(checkout.folder))
    assert checkout.done() == ["made", "installed"] * 2


def test_a_failed_installation_shows_its_log_and_is_tried_again_next_time(
    checkout: Checkout,
) -> None:
    fail = Path(f"{checkout.calls}.fail")
    fail.touch()
    failed = checkout.run("bench")
    assert failed.returncode == 1
    assert "uv: no such release" in failed.stderr
    assert "pip: no such release" in failed.stderr
    assert failed.stdout == ""
    fail.unlink()
    assert checkout.run("bench").returncode == 7


@pytest.mark.parametrize("home", ["", "/nonexistent"])
def test_it_needs_no_home(checkout: Checkout, home: str) -> None:
    assert checkout.run("bench", HOME=home).returncode == 7


def test_without_a_usable_python_it_says_in_one_line_what_it_needs(
    checkout: Checkout, tmp_path: Path
) -> None:
    tools = tmp_path / "bare"
    tools.mkdir()
    for name in ("sh", "dirname", "cat", "cksum"):
        (tools / name).symlink_to(str(shutil.which(name)))
    (tools / "python3").write_text("#!/bin/sh\necho broken >&2\nexit 127\n")
    (tools / "python3").chmod(0o755)
    checkout.path = str(tools)
    done = checkout.run("bench", PYTHON="")
    assert done.returncode == 1
    assert done.stderr == (
        "run: needs CPython 3.11, 3.12 or 3.13 with venv on PATH (python3 does not start)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "status"), [((), 0), (("help",), 0), (("--help",), 0), (("tset",), 2)]
)
def test_help_names_every_command_and_installs_nothing(
    checkout: Checkout, arguments: tuple[str, ...], status: int
) -> None:
    done = checkout.run(*arguments)
    assert done.returncode == status
    text = done.stderr if status else done.stdout
    for command in ("demo", "worker", "test", "check", "bench", "soak"):
        assert f"\n  {command} " in text
    assert checkout.done() == []


@pytest.mark.skipif(shutil.which("dash") is None, reason="needs dash")
def test_it_is_written_for_a_plain_posix_shell() -> None:
    assert subprocess.run(["dash", "-n", str(ROOT / "run")], check=False).returncode == 0
