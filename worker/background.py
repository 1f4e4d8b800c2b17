"""How a process that sweeps stands back: for the agents on its host, and from its own modules."""

import gc
import os

#: New objects until the collector looks for cycles. A sweep makes millions without any, and 700 as
#: by default would have it look eight times as often as its work is worth.
_COLLECT_AFTER = 20_000


def stand_back(nice: int) -> None:
    """Take no processor that others on this host want, and spare the collector all modules.

    ``nice`` is the niceness of the process from now on, from 0 to 19; one that it has already is
    never lowered. Where the system has none, nothing is changed.
    """
    if hasattr(os, "setpriority"):
        present = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, max(present, nice))
    # The collector need not look through all modules again and again: they stay.
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])
