"""Turning variables into checked settings, and a validation error into one clear line."""

import re
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from worker.settings.variables import Variables


class SettingsGroup(BaseSettings):
    """Settings with one variable each, read through `build`."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take values from `build` alone.

        `read_variables` has read both places already: pydantic's own sources would drop a misspelt
        name without a word, and take a wrong case for a right one.
        """
        return (init_settings,)


Group = TypeVar("Group", bound=SettingsGroup)


def build(group: type[Group], variables: Variables) -> Group:
    """Make a group of settings from the variables in force.

    Raises:
        ConfigurationError: A value breaks its rule; the first such is named.
    """
    fields = {variable_of(info): info for info in group.model_fields.values()}
    given = {name: value for name in fields if (value := variables.get(name)) is not None}
    for name, value in given.items():
        if not value:
            rule = f"it is empty, but {_rule(fields[name])}; remove it to use the default"
            raise variables.refusal(name, rule)
    try:
        return group.model_validate(given)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise variables.refusal(name, _rule(fields[name])) from None


def variable_of(info: FieldInfo) -> str:
    """Name the variable that a field is read from."""
    return str(info.validation_alias)


def variable_names(group: type[SettingsGroup]) -> frozenset[str]:
    """Name every variable of a group."""
    return frozenset(variable_of(info) for info in group.model_fields.values())


def setting(default: Any, rule: str, meaning: str) -> Any:
    """Declare a setting.

    Args:
        default: Its value where the variable is not set.
        rule: What a right value looks like, as the second half of an error line.
        meaning: What it does, for people.
    """
    return Field(default, description=meaning, json_schema_extra={"rule": rule})


def whole(
    default: int | None,
    low: int,
    high: int,
    unit: str,
    meaning: str,
    *,
    null: str | None = None,
) -> Any:
    """Declare a whole number within bounds, both allowed.

    Args:
        default: Its value where the variable is not set.
        low: The smallest value allowed.
        high: The largest.
        unit: What is counted, as `seconds`.
        meaning: What it does, for people.
        null: What the word ``null`` stands for, where the setting takes it.
    """
    rule = f"a whole number of {unit} from {low} to {high} is needed"
    if null is not None:
        rule += f", or null for {null}"
    return Field(
        default,
        ge=low,
        le=high,
        description=meaning,
        json_schema_extra={"rule": rule, "unit": unit},
    )


def null_to_none(value: object) -> object:
    """Read the word ``null`` as nothing."""
    return None if value == "null" else value


def _digits_only(value: object) -> object:
    # pydantic would also take 5_00 and 500.0, which nobody writes on purpose.
    if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]{1,20}", value):
        msg = "not a whole number"
        raise ValueError(msg)
    return value


def _rule(info: FieldInfo) -> str:
    extra = info.json_schema_extra
    return str(extra["rule"]) if isinstance(extra, dict) else "it cannot be read"


Whole = Annotated[int, BeforeValidator(_digits_only)]
"""A whole number, written in plain digits."""

OptionalWhole = Annotated[int | None, BeforeValidator(_digits_only), BeforeValidator(null_to_none)]
"""A whole number or, as ``null``, none."""
