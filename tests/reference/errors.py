"""docs/reference/errors.md."""

import textwrap

from retention import errors
from tests.reference import markdown
from tests.reference.markdown import code, first_line, table
from worker.cli.failures import _explain
from worker.tasks import StoreTask

_INTRODUCTION = """\
Every error that this project raises on purpose is below `RetentionError`, in `retention.errors`.
Drivers' errors are turned into these at the edge of each store. "Held", "spared", "restarted" and
"busy" are outcomes, not errors.
"""


def page() -> str:
    """The tree of errors, and what each does to a command and to a task."""
    tree = "\n".join(_tree(errors.RetentionError, 0))
    rows = [_row(error) for error in _all(errors.RetentionError)]
    columns = ("error", "meaning", "exit status", "task")
    return markdown.page(
        "Errors", _INTRODUCTION, textwrap.indent(tree, "    "), table(columns, rows)
    )


def _below(error: type[Exception]) -> list[type[Exception]]:
    return [sub for sub in error.__subclasses__() if sub.__module__ == errors.__name__]


def _all(error: type[Exception]) -> list[type[Exception]]:
    return [error, *(found for sub in _below(error) for found in _all(sub))]


def _tree(error: type[Exception], depth: int) -> list[str]:
    below = [line for sub in _below(error) for line in _tree(sub, depth + 1)]
    return ["    " * depth + error.__name__, *below]


def _row(error: type[Exception]) -> tuple[str, ...]:
    # Made without their arguments: only the class decides.
    status = int(_explain(error.__new__(error))[1])
    again = "tried again" if issubclass(error, StoreTask.autoretry_for) else "fails"
    return code(error.__name__), first_line(error.__doc__), code(status), again
