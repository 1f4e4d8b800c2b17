"""Flower listens on this machine alone, or asks for a password."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from retention.errors import ConfigurationError
from worker.flower_access import check_access, flower_options, is_loopback


def options(**given: Any) -> SimpleNamespace:
    """Flower's options, as tornado would have them."""
    return SimpleNamespace(
        **{"address": "", "unix_socket": "", "basic_auth": [], "auth": "", **given}
    )


def test_without_an_address_it_listens_on_this_machine_alone() -> None:
    given = options()
    check_access(given)
    assert given.address == "127.0.0.1"


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"])
def test_this_machine_needs_no_password(address: str) -> None:
    given = options(address=address)
    check_access(given)
    assert given.address == address
    assert is_loopback(address)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "flower.internal"])  # noqa: S104
def test_other_machines_need_one(address: str) -> None:
    with pytest.raises(ConfigurationError, match="set FLOWER_BASIC_AUTH=user:password"):
        check_access(options(address=address))
    check_access(options(address=address, basic_auth=["op:geheim", "two:words"]))
    check_access(options(address=address, auth=".*@example.org"))


def test_a_socket_in_a_folder_is_this_machines() -> None:
    check_access(options(unix_socket="/run/flower.sock"))


@pytest.mark.parametrize("entry", ["", "geheim", "op:", ":geheim"])
def test_a_password_that_is_none_is_refused_and_not_shown(entry: str) -> None:
    with pytest.raises(ConfigurationError, match="user:password is needed") as refused:
        check_access(options(basic_auth=["op:geheim", entry]))
    assert "geheim" not in str(refused.value)


def test_the_procfiles_line_starts_it_here_and_asks_for_a_password(tmp_path: Path) -> None:
    lines = (Path(__file__).parents[2] / "Procfile").read_text().splitlines()
    (line,) = [line.partition(": ")[2] for line in lines if line.startswith("flower:")]
    celery = tmp_path / "celery"
    celery.write_text('#!/bin/sh\necho "$@"\n')
    celery.chmod(0o755)

    def started(**settings: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", **settings}
        shell = ["sh", "-c", line]
        return subprocess.run(shell, env=env, capture_output=True, text=True, check=False)

    without = started()
    assert (without.returncode != 0, without.stdout) == (True, "")
    assert "FLOWER_BASIC_AUTH: set it to user:password" in without.stderr
    given = started(FLOWER_BASIC_AUTH="op:geheim").stdout
    assert given == "-A worker flower --address=127.0.0.1 --port=5555\n"


def test_only_the_command_flower_has_flowers_options() -> None:
    assert flower_options() is None
    with click.Context(click.Command("worker"), info_name="worker"):
        assert flower_options() is None
    with click.Context(click.Command("flower"), info_name="flower"):
        assert hasattr(flower_options(), "parse_command_line")
