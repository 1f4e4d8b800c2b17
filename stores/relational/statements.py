"""Named SQL statements, read from the ``.sql`` files beside the code that runs them."""

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def load(package: str, filename: str) -> dict[str, str]:
    """Read a file of statements, each under a ``-- name:`` line, parameters as ``:name``."""
    text = files(package).joinpath("sql", filename).read_text(encoding="utf-8")
    parts = _NAME.split(text)
    return {
        name: _without_comments(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def _without_comments(sql: str) -> str:
    lines = (line for line in sql.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(lines).strip().removesuffix(";")
