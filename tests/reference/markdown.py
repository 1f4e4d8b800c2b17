"""Pieces of Markdown."""

from collections.abc import Iterable, Sequence

NOTE = "<!-- Made from the code by `./run docs`. Change the code, not this page. -->"


def page(title: str, *parts: str) -> str:
    """A page of parts, with a note on where it comes from."""
    return (
        "\n\n".join((NOTE, f"# {title}", *filter(None, (part.strip("\n") for part in parts))))
        + "\n"
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar in a cell is no end of the cell."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def code(text: object) -> str:
    """A word as it is typed."""
    return f"`{text}`"


def first_line(doc: str | None) -> str:
    """The first paragraph of a docstring, on one line and without its marks of code."""
    return " ".join((doc or "").split("\n\n")[0].split()).replace("``", "`")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
