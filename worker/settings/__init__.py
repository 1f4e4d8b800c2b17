"""Settings of the worker and its command: from the environment or a ``.env`` file.

A value that breaks its rule, a name that no setting has and a variable that was removed are each
refused with one `ConfigurationError` line that names the variable, its value (secrets masked) and
the rule. Importing this package reads nothing.
"""

from worker.settings.broker import BrokerSettings
from worker.settings.loading import (
    ENV_FILE,
    Settings,
    load_broker_settings,
    load_settings,
    load_store_settings,
    load_sweep_settings,
)
from worker.settings.redaction import redact
from worker.settings.schedule import Crontab, Interval
from worker.settings.store import StoreSettings
from worker.settings.sweep import SweepSettings

__all__ = [
    "ENV_FILE",
    "BrokerSettings",
    "Crontab",
    "Interval",
    "Settings",
    "StoreSettings",
    "SweepSettings",
    "load_broker_settings",
    "load_settings",
    "load_store_settings",
    "load_sweep_settings",
    "redact",
]
