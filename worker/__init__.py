"""The outside: Celery application, tasks, schedule, settings and the command line.

`celery -A worker` finds its app here under the name ``celery``; it is made when it is asked for.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worker.app import RetentionApp


@cache
def _celery() -> "RetentionApp":
    from worker.app import command_app

    return command_app()


def __getattr__(name: str) -> object:
    # Not "app": that is a module here, and Celery then looks for the other name itself.
    if name == "celery":
        return _celery()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
