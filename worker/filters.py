"""The live-thread filters that ``SWEEP_FILTERS`` names, made for a store."""

import difflib
from collections.abc import Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points

from retention.errors import ConfigurationError, RetentionError
from retention.filters import (
    FilterRegistry,
    Grace,
    LiveThreadFilter,
    UnaskedFilter,
    default_owners,
)
from retention.ports import CheckpointStore
from worker.settings.variables import refusal

#: The entry points by which an installed package offers filters: each one's name is its owner, and
#: it makes a filter for a store.
GROUP = "langgraph_retention.filters"

_VARIABLE = "SWEEP_FILTERS"


def known_filters(grace: Grace | None = None) -> FilterRegistry:
    """The filters this project ships, and those that installed packages offer.

    A package's code is loaded when one of its filters is selected.

    Raises:
        ConfigurationError: Two filters have the same owner.
    """
    registry = FilterRegistry(grace)
    for offered in entry_points(group=GROUP):
        registry.register(offered.name, partial(_made, offered))
    return registry


def select_filters(
    registry: FilterRegistry, names: Sequence[str] | None, store: CheckpointStore
) -> list[LiveThreadFilter]:
    """Make the filters of these names for a store, in this order; by default those that suit it.

    Raises:
        ConfigurationError: A name is unknown or given twice, or a filter cannot work on the store;
            the line names the variable, its value and the names there are.
    """
    if names is None:
        return registry.select(default_owners(store), store)
    fault = _fault(names, registry.owners)
    if fault is not None:
        raise refusal(_VARIABLE, ",".join(names), fault)
    try:
        return registry.select(names, store)
    except ConfigurationError as error:
        raise refusal(_VARIABLE, ",".join(names), str(error)) from error


def askable_filters(
    grace: Grace | None, names: Sequence[str] | None, store: CheckpointStore
) -> list[LiveThreadFilter]:
    """As ``select_filters``; in the place of a filter that cannot be made is one that says why."""
    chosen = default_owners(store) if names is None else tuple(dict.fromkeys(names))
    try:
        registry = known_filters(grace)
    except ConfigurationError as error:
        return [UnaskedFilter(name, str(error)) for name in chosen]
    return [_askable(registry, name, store) for name in chosen]


def _askable(registry: FilterRegistry, name: str, store: CheckpointStore) -> LiveThreadFilter:
    try:
        return select_filters(registry, [name], store)[0]
    except ConfigurationError as error:
        return UnaskedFilter(name, str(error))


def _fault(names: Sequence[str], owners: Sequence[str]) -> str | None:
    known = f"the known ones are: {', '.join(owners)}"
    for position, name in enumerate(names):
        if name not in owners:
            near = difflib.get_close_matches(name, owners, n=1)
            hint = f", did you mean {near[0]}?" if near else ";"
            return f"no live-thread filter is named {name!r}{hint} {known}"
        if name in names[:position]:
            return f"the live-thread filter {name!r} is named twice; {known}"
    return None


def _made(offered: EntryPoint, store: CheckpointStore) -> LiveThreadFilter:
    where = f"the live-thread filter {offered.name!r} of the entry point {offered.value}"
    try:
        made: LiveThreadFilter = offered.load()(store)
    except RetentionError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ConfigurationError(f"{where} cannot be made: {reason}") from error
    if getattr(made, "owner", None) != offered.name or not callable(getattr(made, "claims", None)):
        raise ConfigurationError(f"{where} is no filter whose owner is {offered.name!r}")
    return made
