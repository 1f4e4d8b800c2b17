"""Brakes on a sweep: an operator's pause, and how hard a store's server has it."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol, Self, runtime_checkable

from retention.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Pause:
    """An operator's word that no sweep begins and no further batch: until when, who, and why."""

    at: datetime
    until: datetime | None = None
    by: str | None = None
    reason: str | None = None

    def placed(self) -> Self:
        """The pause as a store keeps it.

        Raises:
            ConfigurationError: Its end is past, or in no time zone.
        """
        if self.until is None:
            return self
        if self.until.tzinfo is None:
            raise ConfigurationError(f"a pause's end needs a time zone: {self.until.isoformat()}")
        if self.until <= self.at:
            raise ConfigurationError(
                f"a pause's end must lie ahead: {self.until.isoformat()} is past"
            )
        return replace(self, until=self.until.astimezone(UTC))

    def is_on(self, now: datetime) -> bool:
        """Whether the pause still stands; one without an end stands until it is taken off."""
        return self.until is None or now < self.until

    def __str__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        end = "resumed" if self.until is None else self.until.isoformat(" ", "seconds")
        reason = f": {self.reason}" if self.reason else ""
        return f"paused{by} until {end}{reason}"


class PauseLog(Protocol):
    """Where the pause of a store is kept: there is one at most, for all its sweeps."""

    def put(self, pause: Pause) -> None:
        """Pause; an earlier pause is replaced."""

    def take_off(self) -> bool:
        """End the pause; False where there is none."""

    def current(self) -> Pause | None:
        """The pause, lapsed or not."""


@runtime_checkable
class SupportsStrain(Protocol):
    """A deleter whose server tells how it bears up."""

    def replica_lag(self) -> timedelta:
        """How far the replica furthest behind is; nothing where there is none.

        Raises:
            ConfigurationError: The role may not see it.
        """

    def lock_waits(self) -> int:
        """How many sessions wait for a lock at this moment."""
