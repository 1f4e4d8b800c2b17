"""Safety limits: how large a plan may be, and which stores are left alone."""

from retention.errors import ConfigurationError
from retention.sweep.context import Sweep


def over_limit(sweep: Sweep, planned: int) -> str | None:
    """Say why a plan of so many threads is refused, or None where it is not."""
    limit, share = sweep.options.max_threads, sweep.options.max_share
    above = limit is not None and planned > limit
    if not above and (share is None or planned == 0):
        return None
    total = sweep.store.threads.count_threads()
    if above:
        what = f"the limit of {limit} (SWEEP_MAX_THREADS)"
    elif share is not None and planned > share * total:
        what = f"the share of {share:g} (SWEEP_MAX_SHARE)"
    else:
        return None
    return (
        f"the plan holds {planned} of {total} threads, above {what}; --allow-over-limit, or "
        "allow_over_limit of the task, lets it pass once"
    )


def check_manager(sweep: Sweep) -> None:
    """Leave a store alone that another program runs: it would miss what a sweep deletes.

    Raises:
        ConfigurationError: It is such a store, and the operator does not insist.
    """
    managed = sweep.store.managed
    if managed is not None and not sweep.options.allow_server_database:
        raise ConfigurationError(
            f"the {sweep.store.provider} store is not swept: {managed}; "
            "SWEEP_ALLOW_SERVER_DATABASE=true sweeps it all the same"
        )
