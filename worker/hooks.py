"""The hooks that ``SWEEP_ON_DELETED`` names, from the packages that are installed."""

import difflib
from collections.abc import Mapping
from datetime import timedelta
from importlib.metadata import EntryPoint, entry_points

from retention.errors import ConfigurationError
from retention.hooks import Hooks, OnDeleted
from worker.metrics.naming import store_name
from worker.settings import StoreSettings, SweepSettings
from worker.settings.variables import refusal

#: The entry points by which an installed package offers hooks, each a callable.
GROUP = "langgraph_retention.on_deleted"

_VARIABLE = "SWEEP_ON_DELETED"


def hooks_of(store: StoreSettings, sweep: SweepSettings) -> Hooks:
    """The hooks that are on, loaded: all that are installed, where none are named.

    Raises:
        ConfigurationError: Two have one name, one that is named is not installed or named twice,
            or the code of one cannot be loaded.
    """
    offered = _offered()
    chosen = list(offered) if sweep.on_deleted is None else list(sweep.on_deleted)
    fault = _fault(chosen, offered)
    if fault is not None:
        raise refusal(_VARIABLE, ",".join(chosen), fault)
    calls = {name: _loaded(offered[name]) for name in chosen}
    timeout = timedelta(seconds=sweep.on_deleted_timeout_seconds)
    return Hooks(calls, store_name(store, sweep), timeout)


def tellable_hooks(store: StoreSettings, sweep: SweepSettings) -> Hooks:
    """As ``hooks_of``; in the place of a hook that cannot be loaded is one that says why it fails.

    So it is told again by whoever has it.
    """
    named = {offered.name for offered in entry_points(group=GROUP)}
    chosen = sorted(named) if sweep.on_deleted is None else dict.fromkeys(sweep.on_deleted)
    calls = {name: _tellable(name, store, sweep) for name in chosen}
    timeout = timedelta(seconds=sweep.on_deleted_timeout_seconds)
    return Hooks(calls, store_name(store, sweep), timeout)


def _tellable(name: str, store: StoreSettings, sweep: SweepSettings) -> OnDeleted:
    try:
        return hooks_of(store, sweep.model_copy(update={"on_deleted": (name,)})).calls[name]
    except ConfigurationError as error:
        why = str(error)

    def unloaded(thread_ids: list[str], *, store: str, run_id: str) -> None:
        raise ConfigurationError(why)

    return unloaded


def _offered() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for offered in entry_points(group=GROUP):
        known = found.setdefault(offered.name, offered)
        if known.value != offered.value:
            raise ConfigurationError(
                f"two installed packages offer a hook {offered.name!r} in {GROUP}: "
                f"{known.value} and {offered.value}"
            )
    return dict(sorted(found.items()))


def _fault(names: list[str], offered: Mapping[str, EntryPoint]) -> str | None:
    known = f"installed are: {', '.join(offered) or 'none'}"
    for position, name in enumerate(names):
        if name not in offered:
            near = difflib.get_close_matches(name, offered, n=1)
            hint = f", did you mean {near[0]}?" if near else ";"
            return f"no hook is named {name!r}{hint} {known}"
        if name in names[:position]:
            return f"the hook {name!r} is named twice; {known}"
    return None


def _loaded(offered: EntryPoint) -> OnDeleted:
    where = f"the hook {offered.name!r} of the entry point {offered.value}"
    try:
        loaded: OnDeleted = offered.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ConfigurationError(f"{where} cannot be loaded: {reason}") from error
    if not callable(loaded):
        raise ConfigurationError(f"{where} cannot be called")
    return loaded
