"""Running the command `retention` in tests: in this process, or as a person's shell would."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from tests import forked
from worker.cli import main
from worker.cli.program import retention

#: The console script's own lines.
PROGRAM = (sys.executable, "-c", "from worker.cli import main; main()")
_SETTINGS = (
    *("LLM_PROVIDER_CHECKPOINT", "FLOW_CHECKPOINT", "SWEEP_", "CELERY_"),
    *("DATABASE_URL", "REDIS_URL", "PYTHONPATH", "PG"),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """How a call of the command ended."""

    status: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        answer: dict[str, Any] = json.loads(self.out)
        return answer


def environment(**settings: str) -> dict[str, str]:
    """This environment without a setting that the command reads, and with these.

    Sweeps of tests do not stand back: several parts of the suite run side by side.
    """
    kept = {n: v for n, v in os.environ.items() if not n.upper().startswith(_SETTINGS)}
    return {**kept, "SWEEP_NICE": "0", **settings}


def retention_process(
    *arguments: str, folder: Path, settings: Mapping[str, str] | None = None
) -> Ran:
    """Run the command as a process of its own, in a folder."""
    done = subprocess.run(
        [*PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(**(settings or {})),
        timeout=120,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def retention_forked(
    *arguments: str,
    folder: Path,
    settings: Mapping[str, str] | None = None,
    program: forked.Main = main,
) -> Ran:
    """Run the command as a process of its own that had it imported before, in a folder."""
    env = environment(**(settings or {}))
    return Ran(*forked.run(program, *arguments, folder=folder, env=env, seconds=120))


def retention_command(*arguments: str) -> Ran:
    """Run the command in this process."""
    assert isinstance(retention, click.Group)
    done = CliRunner().invoke(retention, list(arguments))
    return Ran(done.exit_code, done.stdout, done.stderr)


def command_on(path: Path, *arguments: str) -> Ran:
    """Run the command on a store, in this process."""
    return retention_command(*arguments, "--storage", str(path))
