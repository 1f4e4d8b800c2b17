"""Operator policies: a shorter retention for threads picked out from outside, agents unchanged.

A policy picks threads by a prefix of their id and by values in the metadata of their head, where
LangGraph also keeps the graph's id. It only ever shortens: of the platform's retention, a thread's
declared one and all policies that match it, the shortest wins, for each horizon by itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from retention.errors import ConfigurationError
from retention.policy import RetentionPolicy, ThreadRetention, check_minutes

#: What a policy can compare: metadata of any other type matches none.
Scalar: TypeAlias = str | int | float | bool

#: The key under which a head's metadata names its graph.
GRAPH_ID = "graph_id"


@dataclass(frozen=True, slots=True)
class OperatorPolicy:
    """A retention, in minutes, for all threads that match; at least one of each is given.

    ``metadata`` is compared with that of the thread's head, key by key; the graph's id is one.
    Where ``waiting_minutes`` is given alone, the finished retention is capped by it.
    """

    name: str
    thread_id_prefix: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    waiting_minutes: int | None = None
    finished_minutes: int | None = None

    def __post_init__(self) -> None:
        """Refuse a policy that means nothing.

        Raises:
            ConfigurationError: It matches by nothing or shortens nothing, a value is no whole
                number of minutes, or the finished one is above the waiting one.
        """
        if not self.thread_id_prefix and not self.metadata:
            raise ConfigurationError(f"{self}: it matches by nothing, and would be every thread's")
        if self.waiting_minutes is None and self.finished_minutes is None:
            raise ConfigurationError(f"{self}: it has neither waiting_minutes nor finished_minutes")
        for horizon in ("waiting", "finished"):
            minutes = self.minutes(horizon)
            if minutes is not None:
                check_minutes(f"{self}: {horizon}_minutes", minutes, ConfigurationError)
        waiting, finished = self.waiting_minutes, self.finished_minutes
        if waiting is not None and finished is not None and finished > waiting:
            raise ConfigurationError(
                f"{self}: finished_minutes of {finished} must not exceed its waiting_minutes "
                f"of {waiting}"
            )

    def __str__(self) -> str:
        """How the policy is named to people."""
        return f"policy {self.name!r}"

    def minutes(self, horizon: str) -> int | None:
        """What the policy gives for a horizon."""
        return self.waiting_minutes if horizon == "waiting" else self.finished_minutes

    def matches(self, thread_id: str, metadata: Mapping[str, Scalar] | None) -> bool:
        """Whether a thread with this metadata on its head is one of the policy's."""
        if not thread_id.startswith(self.thread_id_prefix or ""):
            return False
        found = metadata or {}
        return all(_is_same(found.get(key), value) for key, value in self.metadata.items())


class Source(StrEnum):
    """Who gave the retention that governs a thread."""

    PLATFORM = "platform"
    DECLARED = "declared"
    POLICY = "policy"


class Limit(NamedTuple):
    """The retention that governs a thread for one horizon, and where it comes from."""

    minutes: int
    source: Source
    policy: str | None = None

    @property
    def span(self) -> timedelta:
        """The same as a length of time."""
        return timedelta(minutes=self.minutes)

    def __str__(self) -> str:
        """Where it comes from, for people."""
        return str(self.source) if self.policy is None else f"{self.source} {self.policy!r}"


class Governing(NamedTuple):
    """What governs a thread, by horizon."""

    waiting: Limit
    finished: Limit


def governing(
    platform: RetentionPolicy,
    declared: ThreadRetention | None,
    matching: Iterable[OperatorPolicy],
) -> Governing:
    """The shortest retention for each horizon, and whose it is; of equal ones the first named."""
    own = platform.for_thread(declared)
    waiting = _of_owner(own.waiting_minutes, platform.waiting_minutes)
    finished = _of_owner(own.finished_minutes, platform.finished_minutes)
    for policy in matching:
        waiting = _shorter(waiting, policy, policy.waiting_minutes)
        finished = _shorter(finished, policy, policy.finished_minutes or policy.waiting_minutes)
    return Governing(waiting, finished)


def matching(
    policies: Iterable[OperatorPolicy], thread_id: str, metadata: Mapping[str, Scalar] | None
) -> list[OperatorPolicy]:
    """The policies that a thread is one of, in their order."""
    return [policy for policy in policies if policy.matches(thread_id, metadata)]


def check_policies(policies: Sequence[OperatorPolicy], platform: RetentionPolicy) -> None:
    """Hold policies against their ceilings and each other.

    Raises:
        ConfigurationError: Two have one name, or a value is above the platform's for its horizon.
    """
    names: set[str] = set()
    for policy in policies:
        if policy.name in names:
            raise ConfigurationError(f"{policy} is there twice: each name once is needed")
        names.add(policy.name)
        for horizon, ceiling in (
            ("waiting", platform.waiting_minutes),
            ("finished", platform.finished_minutes),
        ):
            minutes = policy.minutes(horizon)
            if minutes is not None and minutes > ceiling:
                raise ConfigurationError(
                    f"{policy}: {horizon}_minutes of {minutes} is above the platform's {horizon} "
                    f"retention of {ceiling} minutes"
                )


def metadata_keys(policies: Iterable[OperatorPolicy]) -> tuple[str, ...]:
    """The keys that must be read of each head, in the order of the alphabet."""
    return tuple(sorted({key for policy in policies for key in policy.metadata}))


def without_waiting(policies: Iterable[OperatorPolicy]) -> tuple[OperatorPolicy, ...]:
    """The policies as far as they hold where waiting threads go by themselves: finished ones."""
    return tuple(
        OperatorPolicy(p.name, p.thread_id_prefix, p.metadata, None, p.finished_minutes)
        for p in policies
        if p.finished_minutes is not None
    )


def _of_owner(own: int, platform: int) -> Limit:
    return Limit(own, Source.DECLARED if own < platform else Source.PLATFORM)


def _shorter(limit: Limit, policy: OperatorPolicy, minutes: int | None) -> Limit:
    if minutes is None or minutes >= limit.minutes:
        return limit
    return Limit(minutes, Source.POLICY, policy.name)


def _is_same(found: Scalar | None, wanted: Scalar) -> bool:
    # To Python, True is 1; in metadata they are two things.
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)
