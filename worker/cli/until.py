"""The option ``--until``: when what an operator says ends."""

import re
from datetime import datetime, timedelta

import click

from stores.options import now

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def end_of(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> datetime | None:
    """Read a time, or how long from now; a callback of click's options.

    Raises:
        BadParameter: It is neither.
    """
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})([smhd])", value)
    try:
        if found:
            end = now() + timedelta(seconds=int(found[1]) * _SECONDS[found[2]])
            return end.replace(microsecond=0)
        return datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{value!r} is neither a time such as 2026-07-01T00:00:00Z nor a while such as 2h"
        ) from None
