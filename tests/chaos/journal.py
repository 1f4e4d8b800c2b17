"""What an agent of the soak expects of its threads, written down before and after each act.

A line is synced before the agent goes on: whatever it did before it was killed, its journal says at
least what it was about to do.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

#: What a thread may be: in an agent's hands, waiting for an answer, kept, about to be marked or to
#: be taken back, marked, or marked and written to after it was gone.
RUNNING, PARKED, LIVE, MARKING, RESTARTING, FINISHED, LATE = (
    *("running", "parked", "live", "marking", "restarting", "finished", "late"),
)
#: States in which the owner no longer needs the thread.
GOING = (FINISHED, LATE)


@dataclass(frozen=True)
class Expected:
    """One thread as its owner last knew it."""

    thread_id: str
    kind: str
    state: str = RUNNING
    #: The log in the thread's state.
    log: list[str] = field(default_factory=list)
    #: How often its owner took it back and found it deleted.
    found_gone: int = 0
    head: str = ""
    marked_at: float = 0
    #: What the owner found that should not be.
    wrong: str = ""


class Journal:
    """The threads of one agent; the last line on each counts."""

    def __init__(self, path: Path) -> None:
        """Read what an earlier process of the agent wrote."""
        self._path = path
        self.threads: dict[str, Expected] = {}
        if path.exists():
            self._read(path.read_text().splitlines())

    def note(self, expected: Expected, **changes: object) -> Expected:
        """Write down what a thread is from now on."""
        changed = replace(expected, **changes)  # type: ignore[arg-type]
        self.threads[changed.thread_id] = changed
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(changed)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        return changed

    def those(self, *states: str) -> list[Expected]:
        """The threads in one of these states."""
        return [thread for thread in self.threads.values() if thread.state in states]

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            if line.endswith("}"):  # the last one may be cut short
                found = Expected(**json.loads(line))
                self.threads[found.thread_id] = found
        # A line that was cut short must not swallow the next one.
        with self._path.open("a") as file:
            file.write("\n")
