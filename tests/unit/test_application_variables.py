"""What an application's environment may hold: the same names as a worker's, or a clear line."""

import pytest

from retention import RetentionPolicy
from retention.errors import ConfigurationError
from stores import StoreOptions, open_saver
from stores.variables import KNOWN, PREFIX, checked_variables
from worker.settings import StoreSettings, load_store_settings
from worker.settings.rules import variable_names

_WRONG = {
    f"{PREFIX}_RETENTION_WAITNG_MINUTES": f"did you mean {PREFIX}_RETENTION_WAITING_MINUTES?",
    f"{PREFIX}_TTL_MINUTES": "this variable was removed: set ",
    "FLOW_CHECKPOINT_RETENTION_DAYS": "this variable was removed: set ",
    PREFIX.lower(): f"names are read in upper case, so set {PREFIX}",
}


def test_the_names_are_those_of_the_workers_settings() -> None:
    assert variable_names(StoreSettings) == KNOWN


@pytest.mark.parametrize("name", _WRONG)
def test_a_wrong_name_is_refused_with_the_workers_own_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "60")
    with pytest.raises(ConfigurationError) as refused, open_saver("memory://"):
        pass
    with pytest.raises(ConfigurationError) as by_worker:
        load_store_settings({PREFIX: "memory", name: "60"}, None)
    assert str(refused.value) == str(by_worker.value)
    assert _WRONG[name] in str(refused.value)


def test_the_password_of_an_address_under_a_removed_name_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as refused:
        checked_variables({"FLOW_CHECKPOINT_RETENTION_DAYS": "redis://:hunter2@h"})
    assert str(refused.value).startswith("FLOW_CHECKPOINT_RETENTION_DAYS='***' is refused: ")


def test_what_is_set_in_code_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{PREFIX}_TTL_MINUTES", "60")
    made = StoreOptions(policy=RetentionPolicy(), compress_above=None, allowed_modules=())
    assert made.compress_above is None
