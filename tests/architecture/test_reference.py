"""The reference pages say what the code says, and each link of the documents leads somewhere."""

import re
from pathlib import Path

import pytest

from tests.commands import retention_command
from tests.reference import PAGES

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_gives(name: str) -> None:
    page = ROOT / "docs" / "reference" / name
    assert page.read_text(encoding="utf-8") == PAGES[name](), "write it anew with ./run docs"


def test_the_page_of_the_command_is_the_same_once_the_command_was_used() -> None:
    """The command keeps what it was first asked for in the process, its help option among it."""
    for words in (("--help",), ("sweep", "-h"), ("sweep", "history", "--help")):
        assert retention_command(*words).status == 0
    page = ROOT / "docs" / "reference" / "cli.md"
    assert PAGES["cli.md"]() == page.read_text(encoding="utf-8")


def test_every_page_of_the_reference_is_made_from_the_code() -> None:
    assert {page.name for page in (ROOT / "docs" / "reference").iterdir()} == set(PAGES)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_link_within_the_repository_is_dead(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|mailto:|#)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []
