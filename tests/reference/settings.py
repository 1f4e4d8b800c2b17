"""docs/reference/settings.md."""

import re
from typing import Any

from pydantic.fields import FieldInfo

from stores.variables import COMPRESS, FINISHED, MODULES, REMOVED, WAITING
from tests.reference import markdown
from tests.reference.markdown import code, table
from worker.settings import (
    Crontab,
    Interval,
    StoreSettings,
    SweepSettings,
)
from worker.settings.broker import (
    _BROKER_RULE,
    _REFUSED_BACKENDS,
    _REFUSED_BROKERS,
    _RESULTS_RULE,
    BROKER,
    RESULTS,
)
from worker.settings.rules import SettingsGroup, variable_of
from worker.settings.store import _SHARED

_COLUMNS = ("variable", "default", "value", "meaning")

_INTRODUCTION = """\
The worker, beat and the `retention` command read settings from the environment, and from a file
`.env` in the working directory; the environment wins. A wrong value, a name under one of the
prefixes that no setting has, and a removed variable each stop the start with one line that names
the variable, its value (passwords masked) and the rule. Names are in upper case. [An
application](#in-an-application) reads a few of them.
"""

_APPLICATION = """\
Where an application calls `open_store` or `open_saver`, these are read from its environment, and
nothing from `.env`. A wrong value is refused there too, and so is a misspelt or removed name under
the prefix, with the same line. Where `settings` gives every field in the table, none is read.
Give the application and the worker the same two retentions: marks are made, declared retentions
are checked, and keys on Redis get their time to live, by those of the application.
`settings=StoreOptions(…)` sets them in code.
"""

_BROKER = """\
These are Celery's own variables. The broker's URL is needed by workers, by beat and by whoever asks
for a sweep; the `retention` command needs it only for `sweep start`.
"""


def page() -> str:
    """Every setting, from the models that read them."""
    return markdown.page(
        "Settings",
        _INTRODUCTION,
        "## The checkpoint store",
        table(_COLUMNS, [*_rows(StoreSettings), *_shared()]),
        "## The sweep",
        table(_COLUMNS, _rows(SweepSettings)),
        "## In an application",
        _APPLICATION,
        table(("variable", "field of `StoreOptions`"), _application_rows()),
        "## The broker and the results",
        _BROKER,
        table(_COLUMNS, _broker_rows()),
        "Refused:",
        table(("URL", "because"), _refused()),
        "## Removed",
        table(("variable", "instead"), [(code(name), text) for name, text in REMOVED.items()]),
    )


def _rows(group: type[SettingsGroup]) -> list[tuple[str, ...]]:
    return [_row(info) for info in group.model_fields.values()]


def _row(info: FieldInfo) -> tuple[str, ...]:
    extra = info.json_schema_extra
    assert isinstance(extra, dict)
    rule = _without_needed(str(extra["rule"]))
    return code(variable_of(info)), _default(info.default), rule, info.description or ""


def _without_needed(rule: str) -> str:
    """The rule as a description: it is written as the end of a refusal."""
    return re.sub(r",? (is|are) needed", "", rule).replace("*", "\\*")


def _default(value: Any) -> str:
    match value:
        case None:
            return "unset"
        case Interval():
            return code(value.seconds)
        case Crontab():  # pragma: no cover - today's default is an interval
            raise TypeError(value)
        case bool():
            return code(str(value).lower())
        case ():
            return "none"
        case tuple():
            return code(",".join(value))
    return code(value)


def _shared() -> list[tuple[str, ...]]:
    return [
        (code(name), "unset", "an address", f"The address of a {provider} store that names none.")
        for provider, name in _SHARED.items()
    ]


def _application_rows() -> list[tuple[str, ...]]:
    modules = "`allowed_modules`: see [the codec](../codec.md#name-the-modules-of-your-classes)"
    return [
        (f"{code(WAITING)}, {code(FINISHED)}", "`policy`"),
        (code(COMPRESS), "`compress_above`"),
        (f"{code(MODULES)}: modules joined by commas, none unless set", modules),
    ]


def _broker_rows() -> list[tuple[str, ...]]:
    results = "The broker's URL where that is Redis; a folder beside the messages on filesystem://."
    return [
        (code(BROKER), "none: it must be set", _without_needed(_BROKER_RULE), "The broker."),
        (code(RESULTS), "from the broker", _without_needed(_RESULTS_RULE), results),
    ]


def _refused() -> list[tuple[str, ...]]:
    brokers = [(f"`{name}://` as broker", why) for name, why in _REFUSED_BROKERS.items()]
    backends = [(f"`{name}://` as result backend", why) for name, why in _REFUSED_BACKENDS.items()]
    return [*brokers, *backends]
