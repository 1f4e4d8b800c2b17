"""Why a value is refused, and where in it."""

from collections.abc import Callable
from typing import Any, TypeVar

_Result = TypeVar("_Result")

#: How many containers may lie within each other: few enough for Python's stack, which holds up to
#: four calls for each while a value is read.
MAX_DEPTH = 100
#: A path longer than this many steps is shown with its middle left out.
_SHOWN_STEPS = 12
_SHOWN_KEY = 60


class Refused(Exception):  # noqa: N818  # inside this package; users see the documented error
    """A value that cannot be stored or read back.

    ``steps`` lead to it from the innermost out: each container adds its own on the way out.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[str] = []

    def at(self, path: str) -> str:
        """The whole message; ``path`` is where the outermost value is kept."""
        steps = self.steps[::-1]
        if len(steps) > _SHOWN_STEPS:
            half = _SHOWN_STEPS // 2
            steps = [*steps[:half], "…", *steps[-half:]]
        return f"{path}{''.join(steps)} {self.reason}"


def deepened(depth: int) -> int:
    """The depth of what a container at this depth holds.

    Raises:
        Refused: That is too deep.
    """
    if depth >= MAX_DEPTH:
        raise Refused(f"lies more than {MAX_DEPTH} containers deep, or holds itself")
    return depth + 1


def key_step(key: Any) -> str:
    """The step to what a dictionary keeps under a key: ``.name``, or ``['any key']``."""
    if type(key) is str and key.isidentifier() and len(key) <= _SHOWN_KEY:
        return f".{key}"
    if type(key) in (str, bytes, int, bool, type(None)):
        # Python may refuse to show a very large number in decimal.
        shown = repr(key) if type(key) is not int else hex(key) if key.bit_length() > 99 else key
        return f"[{str(shown)[:_SHOWN_KEY]}]"
    return f"[a key of type {type_name(type(key))}]"


def type_name(cls: type) -> str:
    """A class by module and name, as messages show it."""
    name = f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")
    return name if len(name) <= 200 else f"{name[:200]}…"


def guarded(call: Callable[..., _Result], *arguments: Any) -> _Result:
    """What a call into the application's own code gives.

    Raises:
        Refused: It raised. Its message may hold state, so only the type of the error is told.
    """
    try:
        return call(*arguments)
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"is of a class that raised {type_name(type(error))}") from error
