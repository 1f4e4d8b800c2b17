"""What the exit status of the command says."""

from enum import IntEnum

from retention.runs import RunOutcome


class ExitStatus(IntEnum):
    """How the command ended; scripts rely on the numbers."""

    DONE = 0
    ERROR = 1
    USAGE = 2
    PARTIAL = 3
    LOCKED = 4
    REFUSED = 5
    INTERRUPTED = 130


_OF_OUTCOME = {
    RunOutcome.COMPLETED: ExitStatus.DONE,
    RunOutcome.PARTIAL: ExitStatus.PARTIAL,
    RunOutcome.BUDGET_EXHAUSTED: ExitStatus.PARTIAL,
    RunOutcome.SKIPPED_LOCKED: ExitStatus.LOCKED,
    RunOutcome.REFUSED: ExitStatus.REFUSED,
    RunOutcome.FAILED: ExitStatus.ERROR,
}


def status_of(outcome: str) -> ExitStatus:
    """The exit status of a sweep, by its outcome; spared threads alone leave it at 0."""
    return _OF_OUTCOME[RunOutcome(outcome)]
