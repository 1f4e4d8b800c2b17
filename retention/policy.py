"""How long a thread lives: the platform's two horizons and what an owner may declare below them."""

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from retention.errors import ConfigurationError, ThreadRetentionError

#: Minutes a thread its owner may still continue lives after its last activity (7 days).
DEFAULT_WAITING_MINUTES = 10_080
#: Minutes a thread its owner marked finished lives after the mark (1 day).
DEFAULT_FINISHED_MINUTES = 1_440
#: A hundred years: above it, instants leave the range every store can hold.
MAX_MINUTES = 52_560_000


@dataclass(frozen=True, slots=True)
class ThreadRetention:
    """A retention that an owner declares for its own thread, in minutes.

    Either value may be left out: an unset waiting value is the platform's; an unset finished
    value is the platform's, capped at the thread's waiting one.
    """

    waiting_minutes: int | None = None
    finished_minutes: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no store could keep.

        Raises:
            ThreadRetentionError: A value is not a whole number of minutes from 1 up, or the
                finished value is above the waiting one.
        """
        for name in ("waiting_minutes", "finished_minutes"):
            value = getattr(self, name)
            if value is not None:
                check_minutes(f"declared {name}", value, ThreadRetentionError)
        if (
            self.waiting_minutes is not None
            and self.finished_minutes is not None
            and self.finished_minutes > self.waiting_minutes
        ):
            raise ThreadRetentionError(
                f"declared finished retention of {in_minutes(self.finished_minutes)} is above the "
                f"declared waiting retention of {in_minutes(self.waiting_minutes)}"
            )


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """The two horizons in force, in minutes: every thread's default and its ceiling."""

    waiting_minutes: int = DEFAULT_WAITING_MINUTES
    finished_minutes: int = DEFAULT_FINISHED_MINUTES

    def __post_init__(self) -> None:
        """Refuse impossible horizons.

        Raises:
            ConfigurationError: A value is not a whole number of minutes from 1 up, or the
                finished value is above the waiting one.
        """
        check_minutes("waiting_minutes", self.waiting_minutes, ConfigurationError)
        check_minutes("finished_minutes", self.finished_minutes, ConfigurationError)
        if self.finished_minutes > self.waiting_minutes:
            raise ConfigurationError(
                f"finished retention of {in_minutes(self.finished_minutes)} must not exceed the "
                f"waiting retention of {in_minutes(self.waiting_minutes)}"
            )

    @property
    def waiting(self) -> timedelta:
        """Age of the last activity from which a thread is past the waiting horizon."""
        return _span(self.waiting_minutes)

    @property
    def finished(self) -> timedelta:
        """Time between a mark and the instant it becomes due."""
        return _span(self.finished_minutes)

    def accept(self, declared: ThreadRetention) -> None:
        """Hold a declaration against its ceilings.

        Raises:
            ThreadRetentionError: It is none, a declared value is above the platform's for its
                horizon, or a declared finished value is above the waiting one it would be
                completed with.
        """
        _check_kind(declared)
        _check_ceiling("waiting", declared.waiting_minutes, self.waiting_minutes)
        _check_ceiling("finished", declared.finished_minutes, self.finished_minutes)

    def for_thread(self, declared: ThreadRetention | None) -> "RetentionPolicy":
        """The horizons of one thread: the declaration completed, and capped by this policy.

        The cap matters for declarations accepted before the platform's value was lowered.
        """
        if declared is None:
            return self
        waiting = min(declared.waiting_minutes or self.waiting_minutes, self.waiting_minutes)
        finished = min(declared.finished_minutes or self.finished_minutes, self.finished_minutes)
        return RetentionPolicy(waiting, min(finished, waiting))


# Asked of each thread of a store, for a handful of values.
@lru_cache
def _span(minutes: int) -> timedelta:
    return timedelta(minutes=minutes)


def in_minutes(count: int) -> str:
    """A number of minutes for people."""
    return "1 minute" if count == 1 else f"{count} minutes"


def check_minutes(name: str, value: object, error: type[ConfigurationError]) -> None:
    """Refuse, with this error, what is no whole number of minutes that every store can keep."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_MINUTES:
        raise error(f"{name} must be a whole number of minutes from 1 to {MAX_MINUTES}: {value!r}")


def _check_kind(declared: object) -> None:
    if not isinstance(declared, ThreadRetention):
        raise ThreadRetentionError(
            "a declared retention must be a ThreadRetention, such as "
            f"ThreadRetention(waiting_minutes=60): {declared!r}"
        )


def _check_ceiling(horizon: str, declared: int | None, ceiling: int) -> None:
    if declared is not None and declared > ceiling:
        raise ThreadRetentionError(
            f"declared {horizon} retention of {in_minutes(declared)} is above the platform's "
            f"{horizon} retention of {in_minutes(ceiling)}"
        )
