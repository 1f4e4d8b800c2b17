"""Loading the settings, whole or in part; nothing is read before one of these is called."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from worker.settings.broker import BrokerSettings, broker_settings
from worker.settings.store import StoreSettings, store_settings
from worker.settings.sweep import SweepSettings, sweep_settings
from worker.settings.variables import read_variables

ENV_FILE = Path(".env")
"""The settings file, in the working directory."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a worker needs to know.

    Attributes:
        store: The checkpoint store and its retention.
        sweep: How the sweep works.
        broker: Where messages and results go.
    """

    store: StoreSettings
    sweep: SweepSettings
    broker: BrokerSettings


def load_settings(
    environ: Mapping[str, str] | None = None,
    env_file: Path | None = ENV_FILE,
    *,
    storage: str | None = None,
) -> Settings:
    """Load all settings.

    Args:
        environ: The environment; None means this process's. It wins over the file.
        env_file: A file of ``NAME=value`` lines; None reads none.
        storage: An address that stands in place of the provider and connection variables.

    Raises:
        ConfigurationError: A variable is wrong; one line names it, its value and the rule.
    """
    variables = read_variables(environ, env_file)
    return Settings(
        store=store_settings(variables, storage),
        sweep=sweep_settings(variables),
        broker=broker_settings(variables),
    )


def load_store_settings(
    environ: Mapping[str, str] | None = None,
    env_file: Path | None = ENV_FILE,
    *,
    storage: str | None = None,
) -> StoreSettings:
    """Load the store's settings alone, with the arguments and the error of `load_settings`."""
    return store_settings(read_variables(environ, env_file), storage)


def load_sweep_settings(
    environ: Mapping[str, str] | None = None, env_file: Path | None = ENV_FILE
) -> SweepSettings:
    """Load the sweep's settings alone, with the arguments and the error of `load_settings`."""
    return sweep_settings(read_variables(environ, env_file))


def load_broker_settings(
    environ: Mapping[str, str] | None = None, env_file: Path | None = ENV_FILE
) -> BrokerSettings:
    """Load the broker's settings alone, with the arguments and the error of `load_settings`."""
    return broker_settings(read_variables(environ, env_file))
