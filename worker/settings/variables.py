"""Reading variables from the environment and the ``.env`` file, and refusing names nobody knows."""

import io
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dotenv import dotenv_values
from dotenv.parser import parse_stream

from retention.errors import ConfigurationError
from stores.variables import hint, removed_rule, unknown_names
from worker.settings.redaction import MASK, redact

# These hold addresses with passwords. What is no URL there may be the password itself.
SECRET_NAMES = frozenset(
    {
        "LLM_PROVIDER_CHECKPOINT_CONN_STRING",
        "REDIS_URL",
        "DATABASE_URL",
        "CELERY_BROKER_URL",
        "CELERY_RESULT_BACKEND",
        "SWEEP_PUSHGATEWAY_URL",
    }
)

_SHOWN_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables in force.

    Attributes:
        values: Every variable by its exact name; the environment's where both give one.
        from_file: The names whose value comes from the ``.env`` file.
    """

    values: Mapping[str, str] = field(repr=False)
    from_file: frozenset[str] = frozenset()

    def get(self, name: str) -> str | None:
        """Give a variable without the blanks around it, or None where it is not set."""
        value = self.values.get(name)
        # A .env file written on Windows leaves a carriage return at the end of each value.
        return None if value is None else value.strip()

    def label(self, name: str) -> str:
        """Name a variable, with its file where it comes from one."""
        return f"{name} (in .env)" if name in self.from_file else name

    def refusal(self, name: str, rule: str) -> ConfigurationError:
        """Build the error for a variable with a wrong value.

        Args:
            name: The variable; it must be set.
            rule: What a right value looks like, or why this one is refused.
        """
        return refusal(self.label(name), self.get(name) or "", rule, secret=name in SECRET_NAMES)


def read_variables(environ: Mapping[str, str] | None, env_file: Path | None) -> Variables:
    """Read the variables; the environment wins over the file.

    Args:
        environ: The environment; None means this process's.
        env_file: A file of ``NAME=value`` lines; None reads none, a missing one counts as empty.

    Raises:
        ConfigurationError: The file cannot be read, or one of its lines cannot.
    """
    stored = _read_file(env_file) if env_file is not None else {}
    given = os.environ if environ is None else environ
    return Variables({**stored, **given}, frozenset(stored.keys() - given.keys()))


def refuse_unknown(variables: Variables, prefix: str, known: Collection[str]) -> None:
    """Refuse the first name under a prefix that no setting has.

    The value is not shown: nobody knows what it holds.

    Raises:
        ConfigurationError: Such a name is set; the nearest known one is suggested.
    """
    for name in unknown_names(variables.values, prefix, known):
        raise ConfigurationError(
            f"{variables.label(name)} is not a setting: {hint(name, prefix, known)}"
        )


def refuse_removed(variables: Variables, removed: Mapping[str, str]) -> None:
    """Refuse a variable that an earlier system had.

    Args:
        variables: The variables in force.
        removed: What replaces each removed name.

    Raises:
        ConfigurationError: One of them is set.
    """
    for name, instead in removed.items():
        if variables.get(name) is not None:
            raise variables.refusal(name, removed_rule(instead))


def refusal(label: str, value: str, rule: str, *, secret: bool = False) -> ConfigurationError:
    """Build the one line that names a setting, its value and the rule it breaks.

    Args:
        label: What the person set: a variable, or an option of a command.
        value: What it was set to; passwords in it are masked.
        rule: What a right value looks like.
        secret: Whether a value that is no URL must not be shown at all.
    """
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        rule = f"{rule} (the quotes are part of the value: remove them)"
    return ConfigurationError(f"{label}={_shown(value, secret=secret)} is refused: {rule}")


def _shown(value: str, *, secret: bool) -> str:
    # Cut after masking: a cut made first could part a password from the "@" that gives it away.
    text = redact(value) if "://" in value or not secret else MASK if value else ""
    return repr(text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…")


def _read_file(path: Path) -> dict[str, str]:
    # A folder named .env is somebody's virtual environment, not a file of settings.
    if not path.is_file():
        return {}
    try:
        # PowerShell and Notepad begin a file with a byte order mark.
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f"settings file {path} cannot be read: {reason}") from None
    # dotenv only warns of such a line, and the setting on it would be lost without a word.
    for line in (found.original.line for found in parse_stream(io.StringIO(text)) if found.error):
        raise ConfigurationError(f"settings file {path}, line {line}: it is not NAME=value")
    return {name: value or "" for name, value in dotenv_values(stream=io.StringIO(text)).items()}
