"""The names of the store's variables: those there are, those removed, and what others meant."""

import difflib
import os
from collections.abc import Collection, Mapping

from retention.errors import ConfigurationError

#: The provider's variable, and how the names of the others begin.
PREFIX = "LLM_PROVIDER_CHECKPOINT"
CONN_STRING = f"{PREFIX}_CONN_STRING"
WAITING = f"{PREFIX}_RETENTION_WAITING_MINUTES"
FINISHED = f"{PREFIX}_RETENTION_FINISHED_MINUTES"
COMPRESS = f"{PREFIX}_INLINE_COMPRESS_BYTES"
MODULES = "CHECKPOINT_ALLOWED_MODULES"

#: Every name there is under the prefix.
KNOWN = frozenset({PREFIX, CONN_STRING, WAITING, FINISHED, COMPRESS})

REMOVED = {
    f"{PREFIX}_TTL_MINUTES": f"set {WAITING} and {FINISHED} instead",
    "FLOW_CHECKPOINT_RETENTION_DAYS": f"set {WAITING} and {FINISHED} instead",
}
"""What replaces each variable that an earlier system had."""

_SHOWN_CHARACTERS = 120


def checked_variables(environ: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """The environment, by default this process's, once no name in it is a wrong one.

    Raises:
        ConfigurationError: A name under the prefix is unknown, or one that was removed is set.
    """
    variables = os.environ if environ is None else environ
    for name, instead in REMOVED.items():
        if name in variables:
            # An address in the wrong place may hold a password.
            given = "***" if "://" in variables[name] else variables[name].strip()
            value = given[:_SHOWN_CHARACTERS]
            raise ConfigurationError(f"{name}={value!r} is refused: {removed_rule(instead)}")
    for name in unknown_names(variables, PREFIX, KNOWN):
        raise ConfigurationError(f"{name} is not a setting: {hint(name, PREFIX, KNOWN)}")
    return variables


def removed_rule(instead: str) -> str:
    """Why a removed variable is refused."""
    return f"this variable was removed: {instead}"


def unknown_names(names: Collection[str], prefix: str, known: Collection[str]) -> list[str]:
    """The names under a prefix that are not known, in whatever case, in their order."""
    return sorted(name for name in names if name.upper().startswith(prefix) and name not in known)


def hint(name: str, prefix: str, known: Collection[str]) -> str:
    """What to set instead of a name under a prefix that is not known."""
    name = name.upper()
    if name in known:
        return f"names are read in upper case, so set {name}"
    # Without the prefix they all share, which would make any two of them alike.
    tails = {candidate.removeprefix(prefix): candidate for candidate in sorted(known)}
    tail = name.removeprefix(prefix)
    near = [full for rest, full in tails.items() if tail and rest.startswith(tail)]
    near += [tails[rest] for rest in difflib.get_close_matches(tail, tails, n=1, cutoff=0.6)]
    near += difflib.get_close_matches(name, known, n=1, cutoff=0.95)
    return f"did you mean {near[0]}?" if near else f"the known ones are {', '.join(tails.values())}"
