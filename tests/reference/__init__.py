"""The reference pages in docs/reference/, made from the code: `./run docs` writes them.

`tests/architecture/test_reference.py` fails where a page is not what the code gives.
"""

from collections.abc import Callable

from tests.reference import cli, errors, logs, metrics, result, settings, tasks

#: What gives the text of each page, by the page's name.
PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli.page,
    "errors.md": errors.page,
    "logs.md": logs.page,
    "metrics.md": metrics.page,
    "result.md": result.page,
    "settings.md": settings.page,
    "tasks.md": tasks.page,
}

__all__ = ["PAGES"]
