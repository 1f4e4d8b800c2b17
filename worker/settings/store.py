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
from stores.variables import COMPRESS, CONN_STRING, FINISHED, KNOWN, PREFIX, REMOVED, WAITING
from worker.settings.rules import (
    OptionalWhole,
    SettingsGroup,
    Whole,
    build,
    setting,
    whole,
)
from worker.settings.variables import (
    Variables,
    refusal,
    refuse_removed,
    refuse_unknown,
)

_SHARED: dict[Provider, str] = {"redis": "REDIS_URL", "postgres": "DATABASE_URL"}


class StoreSettings(SettingsGroup):
    """Which checkpoint store, and how long threads live in it."""

    model_config = SettingsConfigDict(
        alias_generator={
            "provider": PREFIX,
            "connection": CONN_STRING,
            "waiting_minutes": WAITING,
            "finished_minutes": FINISHED,
            "inline_compress_bytes": COMPRESS,
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
    refuse_unknown(variables, PREFIX, KNOWN)
    settings = build(StoreSettings, variables)
    _check_horizons(settings)
    if storage is not None:
        return _with_storage(settings, storage)
    return settings.model_copy(update={"connection": _connection(settings, variables)})


def _connection(settings: StoreSettings, variables: Variables) -> str | None:
    """Find the address and check it; None means memory without one."""
    provider = settings.provider
    name = CONN_STRING
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
    return f"{CONN_STRING}{instead} is not set: {PREFIX}={provider!r} needs {what}"


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
            f"{FINISHED}={settings.finished_minutes}"
            f"{'' if 'finished_minutes' in settings.model_fields_set else ' (its default)'} is "
            f"refused: it must not exceed {WAITING}, which is {settings.waiting_minutes}"
        )
