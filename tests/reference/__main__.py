"""Write all reference pages."""

from pathlib import Path

from tests.reference import PAGES

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"

FOLDER.mkdir(parents=True, exist_ok=True)
for name, page in PAGES.items():
    (FOLDER / name).write_text(page(), encoding="utf-8")
