"""`.ci/run` installs the servers that no wheel brings, lets none start, and runs the tests."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["prometheus-pushgateway", "prometheus", "rabbitmq-server", "pgbouncer"]

Run = Callable[..., subprocess.CompletedProcess[str]]


def program(path: Path, text: str) -> None:
    """A program in a folder."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with a package manager that notes what it is asked, and a `run` that says so."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    program(tmp_path / "run", 'echo "run $* CI=$CI"; case $PATH in *:/usr/sbin:*) echo sbin;; esac')
    tools = tmp_path / "bin"
    program(tools / "id", "echo ${FAKE_UID:-0}")
    program(tools / "dpkg-query", 'for p in $HAS; do [ "$p" != "$4" ] || printf installed; done')
    program(
        tools / "apt-get",
        'while case $1 in -*) true;; *) false;; esac; do [ "$1" != -o ] || shift; shift; done\n'
        'echo "$* policy=$(test -x "$POLICY_RC_D" && echo forbids)" >>"$CALLS"\n'
        "exit ${APT_STATUS:-0}",
    )
    return tmp_path


@pytest.fixture
def ci(machine: Path) -> Run:
    """Runs the script there."""

    def run(**settings: str) -> subprocess.CompletedProcess[str]:
        env = {
            "PATH": f"{machine / 'bin'}:{os.environ['PATH']}",
            "CALLS": str(machine / "calls"),
            "POLICY_RC_D": str(machine / "policy-rc.d"),
            **settings,
        }
        command = [str(machine / ".ci" / "run")]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    return run


def calls(machine: Path) -> list[str]:
    """What apt-get was asked for."""
    path = machine / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_missing_packages_are_installed_and_their_services_kept_from_starting(
    machine: Path, ci: Run
) -> None:
    done = ci(HAS="prometheus")
    assert (done.returncode, done.stdout, done.stderr) == (0, "run test CI=true\nsbin\n", "")
    wanted = " ".join(name for name in PACKAGES if name != "prometheus")
    assert calls(machine) == [
        "update policy=forbids",
        f"install --yes --no-install-recommends {wanted} policy=forbids",
    ]
    assert not (machine / "policy-rc.d").exists()


def test_a_policy_of_the_machines_own_stays(machine: Path, ci: Run) -> None:
    program(machine / "policy-rc.d", "exit 101")
    assert ci().returncode == 0
    assert (machine / "policy-rc.d").read_text() == "#!/bin/sh\nexit 101\n"


def test_nothing_is_installed_where_all_is_there_or_nobody_may(machine: Path, ci: Run) -> None:
    assert ci(HAS=" ".join(PACKAGES)).stdout.startswith("run test")
    assert ci(FAKE_UID="1000").stdout.startswith("run test")
    assert calls(machine) == []


def test_without_a_network_the_tests_run_all_the_same(machine: Path, ci: Run) -> None:
    """Those that need a server then fail and name it."""
    done = ci(APT_STATUS="100")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "run test CI=true")
    assert done.stderr == f"ci: not installed: {' '.join(PACKAGES)}\n"
    assert not (machine / "policy-rc.d").exists()
