"""What an owner does, described once and done by a sync and an async runner alike.

A piece of work is a generator. It yields each call to the outside, is sent the call's result or
thrown its error, and returns its own result.
"""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Step:
    """One call to the outside: as sync code makes it, and as async code does."""

    call: Callable[[], Any]
    acall: Callable[[], Awaitable[Any]]


Steps: TypeAlias = Generator[Step, Any, Result]


def run_steps(steps: Steps[Result]) -> Result:
    """Do the work with sync calls.

    Raises:
        Exception: Whatever a call raised and the work did not catch.
    """
    try:
        step = next(steps)
        while True:
            # A Ctrl-C or a cancellation is no answer: it ends the work where it stands.
            try:
                result = step.call()
            except Exception as error:  # noqa: BLE001 - the work decides
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as done:
        # What a generator returns has no type of its own here.
        value: Result = done.value
        return value


async def arun_steps(steps: Steps[Result]) -> Result:
    """Async twin of ``run_steps``."""
    try:
        step = next(steps)
        while True:
            try:
                result = await step.acall()
            except Exception as error:  # noqa: BLE001 - the work decides
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as done:
        value: Result = done.value
        return value
