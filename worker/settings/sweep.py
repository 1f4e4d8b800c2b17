"""The settings of the sweep: variables with the prefix ``SWEEP_``."""

import math
import re
from datetime import timedelta
from itertools import pairwise
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import SettingsConfigDict

from retention.errors import ConfigurationError
from retention.operator import OperatorPolicy
from retention.policy import MAX_MINUTES
from worker.settings.brakes import PREFIX, BrakeSettings
from worker.settings.policies import POLICIES_RULE, parse_policies
from worker.settings.queue import QueueName, QueueType
from worker.settings.rules import (
    OptionalWhole,
    Whole,
    build,
    null_to_none,
    setting,
    variable_names,
    whole,
)
from worker.settings.schedule import SCHEDULE_RULE, Crontab, Interval, parse_schedule
from worker.settings.variables import Variables, refuse_unknown

_DAY_SECONDS = 86_400
_YEAR_DAYS = 3_650


def _share(value: float | None) -> float | None:
    # NaN passes every comparison of a range check.
    if value is not None and (math.isnan(value) or not 0 < value <= 1):
        msg = "out of range"
        raise ValueError(msg)
    return value


def _filter_names(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value == "null":
        return ()
    names = tuple(name.strip() for name in value.split(","))
    if not all(re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", n) for n in names):
        msg = "not a list of names"
        raise ValueError(msg)
    return names


def _yes_or_no(value: object) -> object:
    # pydantic would also take on, y and 1, and their opposites, in any case.
    if isinstance(value, str) and value not in ("true", "false"):
        msg = "neither true nor false"
        raise ValueError(msg)
    return value


def _metric_name(value: str) -> str:
    if not re.fullmatch(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,99}", value):
        msg = "not the beginning of a metric name"
        raise ValueError(msg)
    return value


def _gateway_url(value: str | None) -> str | None:
    if value is None:
        return None
    parts = urlsplit(value)
    # Reading a port that is no number fails as well.
    is_place = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    # An "@" after the host ends a password with a slash in it, of which the host is then a part.
    if not is_place or "@" in parts.path or parts.query or parts.fragment:
        msg = "not the address of a gateway"
        raise ValueError(msg)
    return value


def _store_name(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.:/@ -]{0,99}", value):
        msg = "not a name"
        raise ValueError(msg)
    return value


class SweepSettings(BrakeSettings):
    """How the sweep works. Each field is the variable ``SWEEP_`` plus its name in upper case."""

    model_config = SettingsConfigDict(alias_generator=lambda name: PREFIX + name.upper())

    batch_size: Whole = whole(
        500, 1, 500, "threads", "Threads that one task handles and one transaction may lock."
    )
    result_threads: Whole = whole(
        1000, 0, 100_000, "threads", "Longest list of threads in a result; counts stay exact."
    )
    max_delete_rounds: Whole = whole(
        100, 1, 1_000, "rounds", "Deletes of one thread before it counts as undeletable."
    )
    history_days: Whole = whole(
        30, 1, _YEAR_DAYS, "days", "How long the record of a run is kept; totals stay for ever."
    )
    schedule: Annotated[Interval | Crontab, BeforeValidator(parse_schedule)] = setting(
        Interval(3600), SCHEDULE_RULE, "When beat starts a sweep. Crontab fields are read in UTC."
    )
    jitter_seconds: Whole = whole(
        30,
        0,
        3600,
        "seconds",
        "Each start is put off at random by up to this long, and at most by half an interval.",
    )
    queue: QueueName = setting(
        "retention",
        "letters, digits, _ . and - are needed, at most 100, and none of Celery's own names",
        "The queue of every task; sweeps of two stores on one broker need two queues.",
    )
    queue_type: QueueType = setting(
        QueueType.CLASSIC,
        "classic or quorum is needed",
        "What kind of queue RabbitMQ keeps; quorum needs an amqp:// or amqps:// broker.",
    )
    lease_seconds: Whole = whole(
        300, 2, _DAY_SECONDS, "seconds", "How long a claim on a batch or a run lasts unrenewed."
    )
    soft_time_limit_seconds: Whole = whole(
        240, 1, _DAY_SECONDS, "seconds", "How long one task may run; below the lease."
    )
    soft_shutdown_seconds: Whole = whole(
        20,
        0,
        3600,
        "seconds",
        "How long a worker that is to end lets its batches go on before it gives them back.",
    )
    visibility_timeout_seconds: OptionalWhole = whole(
        None,
        3,
        7 * _DAY_SECONDS,
        "seconds",
        "After how long a Redis broker delivers an unfinished task again; above the lease. "
        "Unset is twice the lease.",
        null="twice the lease",
    )
    statement_timeout_seconds: Whole = whole(
        60, 1, _DAY_SECONDS, "seconds", "How long one database statement may run."
    )
    lock_timeout_seconds: Whole = whole(
        5, 1, 3600, "seconds", "How long one database statement may wait for a lock."
    )
    time_budget_seconds: OptionalWhole = whole(
        None,
        1,
        7 * _DAY_SECONDS,
        "seconds",
        "After how long a run stops starting new batches.",
        null="no budget",
    )
    max_threads: OptionalWhole = whole(
        None,
        1,
        10**12,
        "threads",
        "A plan with more candidates than this is refused.",
        null="no limit",
    )
    max_share: Annotated[float | None, BeforeValidator(null_to_none), AfterValidator(_share)] = (
        setting(
            None,
            "a share above 0 and up to 1, such as 0.2, is needed, or null for no limit",
            "A plan with more than this share of all threads is refused.",
        )
    )
    filters: Annotated[tuple[str, ...] | None, BeforeValidator(_filter_names)] = setting(
        None,
        "names of live-thread filters joined by commas, each once, are needed, or null for none",
        "The live-thread filters to ask before a delete; a thread counts for the first that claims "
        "it. Unset: agents,interactions,flows-engine; the last alone where no asks can be held.",
    )
    filter_timeout_seconds: OptionalWhole = whole(
        None,
        1,
        _DAY_SECONDS,
        "seconds",
        "How long a live-thread filter may take over one batch until it fails the sweep; below the "
        "soft time limit. Unset is a quarter of that.",
        null="a quarter of the soft time limit",
    )
    flows_engine_grace_minutes: OptionalWhole = whole(
        None,
        1,
        MAX_MINUTES,
        "minutes",
        "How long after a thread's last activity flows-engine lets go of its pending interrupt.",
        null="never",
    )
    on_deleted: Annotated[tuple[str, ...] | None, BeforeValidator(_filter_names)] = setting(
        None,
        "names of hooks joined by commas, each once, are needed, or null for none",
        "The hooks to tell of deleted threads, in this order. Unset: all that are installed.",
    )
    on_deleted_timeout_seconds: Whole = whole(
        30, 1, 3600, "seconds", "How long a hook may take for one batch before it has failed."
    )
    policies: Annotated[tuple[OperatorPolicy, ...], BeforeValidator(parse_policies)] = setting(
        (),
        POLICIES_RULE,
        "Shorter retentions by thread id prefix, graph id or metadata.",
    )
    allow_server_database: Annotated[bool, BeforeValidator(_yes_or_no)] = setting(
        False,
        "true or false is needed",
        "Whether a database is swept that LangGraph's own server runs, which has a thread TTL.",
    )
    orphan_grace_seconds: Whole = whole(
        3600, 0, 30 * _DAY_SECONDS, "seconds", "How long a write may wait for its checkpoint."
    )
    batch_attempts: Whole = whole(
        5, 1, 100, "attempts", "How often a batch is tried before its threads count as failed."
    )
    log_format: Literal["kv", "json"] = setting(
        "kv",
        "kv (key=value) or json is needed",
        "How a log line of the worker, of beat and of the command is written.",
    )
    metrics_prefix: Annotated[str, AfterValidator(_metric_name)] = setting(
        "tai42_checkpoint_sweep_",
        "letters, digits, _ and : are needed, no digit first, at most 100",
        "What the name of each metric begins with.",
    )
    pushgateway_url: Annotated[
        str | None, BeforeValidator(null_to_none), AfterValidator(_gateway_url)
    ] = Field(
        None,
        repr=False,
        description="The Prometheus Pushgateway that is told of each run. Unset: none is.",
        json_schema_extra={
            "rule": "a URL such as http://host:9091 or https://user:password@host/path, special "
            "characters in it as %XX, is needed, or null for none"
        },
    )
    pushgateway_timeout_seconds: Whole = whole(
        5, 1, 60, "seconds", "How long the end of a run may wait for the Pushgateway."
    )
    store_name: Annotated[
        str | None, BeforeValidator(null_to_none), AfterValidator(_store_name)
    ] = setting(
        None,
        "letters, digits, blanks and _ . : / @ - are needed, a letter or digit first, at most 100",
        "What the store is called in metrics. Unset: its provider, host and database, or its file.",
    )

    @property
    def longest_rest(self) -> timedelta:
        """How long one batch may rest between its transactions in all, or wait for its server."""
        return timedelta(seconds=self.soft_time_limit_seconds / 4)

    @property
    def filter_timeout(self) -> timedelta:
        """How long a live-thread filter may take over one batch."""
        return timedelta(seconds=self.filter_timeout_seconds or self.soft_time_limit_seconds / 4)

    @property
    def visibility_timeout(self) -> int:
        """Seconds after which a Redis broker delivers an unfinished task again."""
        return self.visibility_timeout_seconds or 2 * self.lease_seconds


def sweep_settings(variables: Variables) -> SweepSettings:
    """Make the sweep's settings from the variables in force.

    Raises:
        ConfigurationError: A name under the prefix is unknown, a value breaks its rule, or the soft
            time limit, the lease and the visibility timeout are not in ascending order.
    """
    refuse_unknown(variables, PREFIX, variable_names(SweepSettings))
    settings = build(SweepSettings, variables)
    _check_order(settings)
    return settings


def _check_order(settings: SweepSettings) -> None:
    """Check that a task ends before its claim runs out, and that before it is delivered again.

    In any other order two workers would do the same work at the same time.
    """
    given = settings.filter_timeout_seconds
    steps = [
        *([] if given is None else [("filter_timeout_seconds", given)]),
        ("soft_time_limit_seconds", settings.soft_time_limit_seconds),
        ("lease_seconds", settings.lease_seconds),
        ("visibility_timeout_seconds", settings.visibility_timeout),
    ]
    for (field, value), (next_field, next_value) in pairwise(steps):
        if value >= next_value:
            raise ConfigurationError(
                f"{_stated(settings, field, value)} is refused: "
                f"it must be below {_stated(settings, next_field, next_value)}"
            )


def _stated(settings: SweepSettings, field: str, value: int) -> str:
    origin = "" if field in settings.model_fields_set else " (its default)"
    return f"{PREFIX}{field.upper()}={value}{origin}"
