"""`retention policy preview`: what other values would mean."""

from datetime import timedelta
from pathlib import Path

import pytest

from stores import open_store
from stores.options import now
from tests.commands import Ran, command_on
from tests.seeding import seed_thread


@pytest.fixture
def marked(path: Path) -> Path:
    """The store with one more thread, marked two hours ago."""
    then = now() - timedelta(hours=2)
    with open_store(str(path)) as store:
        seed_thread(store.saver, "marked", then)
        store.ledger.mark_finished(["marked"])
    return path


def preview(path: Path, *arguments: str) -> Ran:
    """Preview other values."""
    return command_on(path, "policy", "preview", *arguments)


def test_a_preview_counts_threads_and_bytes_by_horizon(marked: Path) -> None:
    document = preview(marked, "--json").answer
    assert (document["waiting_minutes"], document["finished_minutes"]) == (10_080, 1_440)
    assert (document["finished_count"], document["waiting_count"]) == (0, 5)
    assert (document["spared_count"], document["held_count"], document["marks_moved"]) == (
        1,
        0,
        None,
    )
    assert document["waiting_bytes"] > 0
    shorter = preview(marked, "--waiting-minutes", "60", "--finished-minutes", "1", "--json").answer
    assert shorter["waiting_count"] == 6
    assert shorter["waiting_bytes"] > document["waiting_bytes"]


def test_marks_are_counted_as_they_are_unless_they_are_to_be_moved(marked: Path) -> None:
    short = ("--finished-minutes", "1")
    shown = preview(marked, *short).out
    assert "finished 1 minute, a sweep now would delete" in shown
    assert "marks keep the due time they were made with" in shown
    assert preview(marked, *short, "--json").answer["finished_count"] == 0
    asked = preview(marked, *short, "--apply-to-marks").out
    assert "no due time was moved: --yes does it" in asked
    due_at = due_of(marked)
    assert due_of(marked) == due_at
    moved = preview(marked, *short, "--apply-to-marks", "--yes", "--json").answer
    assert moved["marks_moved"] == 1
    assert due_of(marked) == due_at - timedelta(minutes=1_439)
    again = preview(marked, *short, "--apply-to-marks", "--yes").out
    assert "the due times of 0 marks were moved" in again


def due_of(path: Path) -> timedelta:
    """When the mark is due, as time since it was made."""
    with open_store(str(path)) as store:
        entry = store.ledger.entries(["marked"])["marked"]
    assert entry.due_at is not None
    assert entry.marked_at is not None
    return entry.due_at - entry.marked_at


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--yes",), "--yes belongs to --apply-to-marks: there is nothing else to do"),
        (("--waiting-minutes", "0"), "waiting_minutes must be a whole number of minutes from 1"),
        (("--waiting-minutes", "soon"), "is not a valid integer"),
        (("--waiting-minutes", "60"), "finished retention of 1440 minutes must not exceed"),
    ],
)
def test_impossible_values_are_one_line_and_status_2(
    path: Path, arguments: tuple[str, ...], line: str
) -> None:
    done = preview(path, *arguments)
    assert (done.status, done.out) == (2, "")
    assert line in done.err
    assert done.err.count("\n") == 1


def test_a_mistyped_path_is_an_error_and_makes_no_store(folder: Path) -> None:
    for arguments in ((), ("--apply-to-marks", "--yes")):
        assert preview(folder / "mistyped.db", *arguments).status == 2
    assert list(folder.iterdir()) == []
