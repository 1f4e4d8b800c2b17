"""The settings of the checkpoint store: variables with the prefix ``LLM_PROVIDER_CHECKPOINT``."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from retention.errors import ConfigurationError
from retention.policy import (
    DEFAULT_FINISHED_MINUTES,
    DEFAULT_WAITING_MINUTES,
    MAX_MINUTES,
    RetentionPolicy,
)
from stores.address import SCHEMES, Provider, address_fault, provider_of
from worker.settings.rules import (
    OptionalWhole,
    SettingsGroup,
    Whole,
    build,
    setting,
    variable_names,
    whole,
)
from worker.settings.variables import (
    Variables,
    refusal,
    refuse_removed,
    refuse_unknown,
)

PREFIX = "LLM_PROVIDER_CHECKPOINT"

_CONN_STRING = f"{PREFIX}_CONN_STRING"
_WAITING = f"{PREFIX}_RETENTION_WAITING_MINUTES"
_FINISHED = f"{PREFIX}_RETENTION_FINISHED_MINUTES"

REMOVED = {
    f"{PREFIX}_TTL_MINUTES": f"set {_WAITING} and {_FINISHED} instead",
    "FLOW_CHECKPOINT_RETENTION_DAYS": f"set {_WAITING} and {_FINISHED} instead",
}
"""What replaces each variable that an earlier system had."""

_SHARED: dict[Provider, str] = {"redis": "REDIS_URL", "postgres": "DATABASE_URL"}


class StoreSettings(SettingsGroup):
    """Which checkpoint store, and how long threads live in it."""

    model_config = SettingsConfigDict(
        alias_generator={
            "provider": PREFIX,
            "connection": _CONN_STRING,
            "waiting_minutes": _WAITING,
            "finished_minutes": _FINISHED,
            "inline_compress_bytes": f"{PREFIX}_INLINE_COMPRESS_BYTES",
        }.__getitem__
    )

    provider: Provider = setting(
        "redis",
        "one of redis, postgres, sqlite and memory is needed",
        "The kind of store. Memory is swept in its own process only.",
    )
    connection: str | None = Field(
        None,
        repr=False,
        description="The store's address. Unset: REDIS_URL for redis, DATABASE_URL for postgres.",
        json_schema_extra={"rule": "the address of the store is needed"},
    )
    waiting_minutes: Whole = whole(
        DEFAULT_WAITING_MINUTES,
        1,
        MAX_MINUTES,
        "minutes",
        "How long a thread its owner may still continue lives after its last activity.",
    )
    finished_minutes: Whole = whole(
        DEFAULT_FINISHED_MINUTES,
        1,
        MAX_MINUTES,
        "minutes",
        "How long a thread lives after its owner marked it finished; not above waiting.",
    )
    inline_compress_bytes: OptionalWhole = whole(
        65_536,
        0,
        2**31 - 1,
        "bytes",
        "A value whose encoding is larger is stored compressed; null turns compression off.",
        null="no compression",
    )

    @property
    def address(self) -> str:
        """The store's address, password included: never print it without `redact`."""
        return self.connection or "memory://"

    @property
    def policy(self) -> RetentionPolicy:
        """The two horizons, as every thread's default and ceiling."""
        return RetentionPolicy(
            waiting_minutes=self.waiting_minutes, finished_minutes=self.finished_minutes
        )


def store_settings(variables: Variables, storage: str | None = None) -> StoreSettings:
    """Make the store's settings from the variables in force.

    Args:
        variables: The variables in force.
        storage: An address that stands in place of the provider and connection variables.

    Raises:
        ConfigurationError: A variable was removed, is unknown or breaks its rule, the horizons are
            in the wrong order, or the address is missing or does not fit the provider.
    """
    refuse_removed(variables, REMOVED)
    refuse_unknown(variables, PREFIX, variable_names(StoreSettings))
    settings = build(StoreSettings, variables)
    _check_horizons(settings)
    if storage is not None:
        return _with_storage(settings, storage)
    return settings.model_copy(update={"connection": _connection(settings, variables)})


def _connection(settings: StoreSettings, variables: Variables) -> str | None:
    """Find the address and check it; None means memory without one."""
    provider = settings.provider
    name = _CONN_STRING
    if settings.connection is None and provider in _SHARED:
        name = _SHARED[provider]
    address = variables.get(name)
    if not address:
        if provider == "memory":
            return None
        raise ConfigurationError(_missing(provider))
    fault = address_fault(provider, address)
    if fault is not None:
        raise variables.refusal(name, f"{fault}, as {PREFIX} is {provider}")
    return address


def _missing(provider: Provider) -> str:
    instead = f" or {_SHARED[provider]}" if provider in _SHARED else ""
    what = "a path" if provider == "sqlite" else "an address"
    return f"{_CONN_STRING}{instead} is not set: {PREFIX}={provider!r} needs {what}"


def _with_storage(settings: StoreSettings, storage: str) -> StoreSettings:
    address = storage.strip()
    provider = provider_of(address)
    if provider is None:
        known = ", ".join(f"{name}://" for names in SCHEMES.values() for name in names)
        raise refusal("--storage", address, f"an address needs a path or one of {known}")
    fault = address_fault(provider, address)
    if fault is not None:
        raise refusal("--storage", address, fault)
    return settings.model_copy(update={"provider": provider, "connection": address})


def _check_horizons(settings: StoreSettings) -> None:
    if settings.finished_minutes > settings.waiting_minutes:
        raise ConfigurationError(
            f"{_FINISHED}={settings.finished_minutes}"
            f"{'' if 'finished_minutes' in settings.model_fields_set else ' (its default)'} is "
            f"refused: it must not exceed {_WAITING}, which is {settings.waiting_minutes}"
        )
