"""The settings that slow a sweep down or keep it from starting."""

import math
from datetime import datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator
from pydantic_settings import SettingsConfigDict

from retention.sweep import SharedPace
from worker.settings.rules import OptionalWhole, SettingsGroup, setting, whole
from worker.settings.window import WINDOW_RULE, ZONE_RULE, Window, parse_window, parse_zone

PREFIX = "SWEEP_"

_LONGEST_PAUSE_SECONDS = 60
_UTC = ZoneInfo("UTC")


def _pause(value: float) -> float:
    # NaN passes every comparison of a range check.
    if math.isnan(value) or not 0 <= value <= _LONGEST_PAUSE_SECONDS:
        msg = "out of range"
        raise ValueError(msg)
    return value


class BrakeSettings(SettingsGroup):
    """The part of the sweep's settings that holds it back; off unless set, but for ``nice``."""

    model_config = SettingsConfigDict(alias_generator=lambda name: PREFIX + name.upper())

    window: Annotated[Window | None, BeforeValidator(parse_window)] = setting(
        None,
        WINDOW_RULE,
        "When a sweep that beat asks for may start; one asked for by a person always may.",
    )
    window_timezone: Annotated[ZoneInfo, BeforeValidator(parse_zone)] = setting(
        _UTC, ZONE_RULE, "The time zone in which the window is read."
    )
    max_threads_per_second: OptionalWhole = whole(
        None,
        1,
        10**6,
        "threads",
        "How many threads one worker process settles in a second; a pool, that times its "
        "processes.",
        null="no limit",
    )
    pause_seconds: Annotated[float, AfterValidator(_pause)] = setting(
        0.0,
        f"a number of seconds from 0 to {_LONGEST_PAUSE_SECONDS} is needed, such as 0.2",
        "How long a worker process rests between two transactions. The rests of one batch take at "
        "most a quarter of the soft time limit.",
    )
    nice: int = whole(
        10,
        0,
        19,
        "steps",
        "The niceness of a process that sweeps: whatever else runs on its host comes first, the "
        "more the higher it is.",
    )
    sqlite_pace: SharedPace = setting(
        SharedPace.AUTO,
        "auto, paced or unpaced is needed",
        "How a SQLite file is swept, which lets one connection write at a time. paced: at most 50 "
        "threads a transaction, then a rest as long as it took; unpaced: whole batches without a "
        "rest; auto: paced while another connection has written within a minute.",
    )
    max_replica_lag_seconds: OptionalWhole = whole(
        None,
        1,
        86_400,
        "seconds",
        "No batch begins while a replica is further behind than this; PostgreSQL only.",
        null="not asked",
    )
    max_lock_waits: OptionalWhole = whole(
        None,
        0,
        10_000,
        "sessions",
        "No batch begins while more sessions than this wait for a lock; PostgreSQL only.",
        null="not asked",
    )

    def closed(self, now: datetime) -> str | None:
        """Why a scheduled sweep may not start now, or None where it may."""
        if self.window is None or self.window.is_open(now, self.window_timezone):
            return None
        zone = self.window_timezone.key
        return f"the window {self.window.text!r} ({zone}, SWEEP_WINDOW) is closed"

    @property
    def pause(self) -> timedelta:
        """How long a process rests between two transactions."""
        return timedelta(seconds=self.pause_seconds)
