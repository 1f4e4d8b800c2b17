"""Every error this project raises on purpose.

The tree::

    RetentionError
    ├── ConfigurationError            a setting, address or argument is wrong; never retried
    │   └── ThreadRetentionError      a declared retention is above its ceiling
    ├── ThreadDeletedError            a late put met a thread that was deleted
    ├── ThreadEndedError              a start or a put met a thread that an operator ended
    ├── ParkRefusedError              an ask or a barrier was refused; nothing is parked
    │   └── ParkDeadlineError         it has no deadline, or one out of bounds
    ├── LiveThreadFilterError         a live-thread filter failed, so the sweep fails
    ├── CheckpointSerializationError  a value cannot be encoded or read back
    └── StoreError                    the store could not do what was asked
        ├── StoreUnavailableError     it cannot be reached now; worth another try
        ├── StoreTimeoutError         a statement ran out of time; fewer threads may not
        ├── CheckpointStoreFormatError  it is of another format generation, or of none
        ├── ClaimLostError            another worker holds the batch or the run by now
        └── CheckpointDeleteError     a thread still holds rows after its delete rounds

"Held", "spared", "restarted" and "busy" are outcomes, not errors.
"""

from datetime import datetime


class RetentionError(Exception):
    """Root of all errors raised on purpose by this project."""


class ConfigurationError(RetentionError):
    """A setting, address or argument is wrong. Trying again cannot help."""


class ThreadRetentionError(ConfigurationError):
    """A declared retention is above its ceiling; the message names both values."""


class ThreadDeletedError(RetentionError):
    """A checkpoint was put on a parent that is gone: its thread was deleted meanwhile."""

    def __init__(self, thread_id: str, parent_id: str) -> None:
        self.thread_id = thread_id
        self.parent_id = parent_id
        super().__init__(
            f"thread {thread_id!r} was deleted: the parent checkpoint {parent_id} of this put is "
            "no longer in the store; start the run again under a new thread or without a parent"
        )


class ParkRefusedError(RetentionError):
    """An ask or a park barrier was refused before anything was parked."""


class ParkDeadlineError(ParkRefusedError):
    """A park has no deadline, or one out of bounds; the message names it and the latest allowed."""

    def __init__(self, thread_id: str, deadline: datetime | None, latest: datetime) -> None:
        self.thread_id = thread_id
        self.deadline = deadline
        self.latest = latest
        given = "none" if deadline is None else deadline.isoformat()
        super().__init__(
            f"nothing is parked on thread {thread_id!r}: its deadline is {given}, but must lie "
            f"ahead and by {latest.isoformat()}, within the thread's waiting retention"
        )


class ThreadEndedError(RetentionError):
    """A start or a put came to a thread that an operator ended; the message says who and why."""

    def __init__(self, thread_id: str, by: str, reason: str) -> None:
        self.thread_id = thread_id
        self.by = by
        self.reason = reason
        super().__init__(
            f"thread {thread_id!r} was ended by {by!r}: {reason!r}; nothing more can run on it: "
            "start under a new thread id"
        )


class LiveThreadFilterError(RetentionError):
    """A live-thread filter raised or answered nonsense; nothing is deleted on a guess."""

    def __init__(self, owner: str, reason: str) -> None:
        self.owner = owner
        super().__init__(f"live-thread filter {owner!r} failed: {reason}")


class StoreError(RetentionError):
    """The store could not do what was asked of it."""


class StoreUnavailableError(StoreError):
    """The store cannot be reached or is too busy now; the same call may work later."""


class StoreTimeoutError(StoreError):
    """A statement, or its wait for a lock, ran out of time; one over fewer threads may not."""


class CheckpointSerializationError(RetentionError):
    """A checkpoint value cannot be encoded, or what is stored cannot be read back."""


class CheckpointStoreFormatError(StoreError):
    """The store is of another format generation than this version's, or of none it recorded."""


class ClaimLostError(StoreError):
    """The batch or run is no longer held under this token: another worker took it over."""


class CheckpointDeleteError(StoreError):
    """A thread still holds rows after its delete rounds."""

    def __init__(self, thread_id: str, checkpoints: int, writes: int, rounds: int) -> None:
        self.thread_id = thread_id
        self.checkpoints = checkpoints
        self.writes = writes
        super().__init__(
            f"thread {thread_id!r} still holds {checkpoints} checkpoints and {writes} writes "
            f"after {rounds} delete rounds"
        )
