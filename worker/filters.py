"""The live-thread filters that ``SWEEP_FILTERS`` names, made for a store."""

import difflib
from collections.abc import Sequence

from retention.filters import FilterRegistry, LiveThreadFilter
from retention.ports import CheckpointStore
from worker.settings.variables import refusal

_VARIABLE = "SWEEP_FILTERS"


def select_filters(
    registry: FilterRegistry, names: Sequence[str], store: CheckpointStore
) -> list[LiveThreadFilter]:
    """Make the filters of these names for a store, in this order.

    Raises:
        ConfigurationError: A name is unknown or given twice, or a filter cannot work on the store;
            the line names the variable, its value and the names there are.
    """
    fault = _fault(names, registry.owners)
    if fault is not None:
        raise refusal(_VARIABLE, ",".join(names), fault)
    return registry.select(names, store)


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
