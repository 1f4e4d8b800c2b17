"""`retention thread`: holds, explain, end and erase, as an operator types them."""

import getpass
import os
import sqlite3
import subprocess
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from retention.threads import Hold
from stores import open_store
from stores.options import now
from tests.commands import PROGRAM, Ran, environment, retention_command
from tests.integration.places import Place
from tests.seeding import config_of, seed_thread
from tests.unit.test_cli_terminal import read_all, terminal

ODD = "-rm\n\x1b[31m '; --"
HEAD = "the head that the command showed"


def thread(path: Path, verb: str, *arguments: str, thread_id: str = "old-0000") -> Ran:
    """Run a verb on a thread; any id comes behind ``--``."""
    return retention_command("thread", verb, *arguments, "--storage", str(path), "--", thread_id)


def listed(path: Path, *arguments: str) -> Ran:
    """List the holds."""
    return retention_command("thread", "holds", *arguments, "--storage", str(path))


def rows(path: Path, thread_id: str = "old-0000") -> dict[str, int]:
    """What the store holds of a thread."""
    return Place("sqlite", str(path)).rows(thread_id)


@pytest.fixture
def odd(path: Path) -> Path:
    """A store with a thread whose name would move a cursor, end a line and look like an option."""
    with open_store(str(path)) as store:
        seed_thread(store.saver, ODD, now() - timedelta(days=1), interrupted=True)
    return path


def test_a_hold_is_placed_listed_and_released(path: Path) -> None:
    until = (now() + timedelta(days=30)).isoformat()
    held = thread(path, "hold", "--reason", "case 7", "--until", until, "--by", "legal", "--json")
    assert held.status == 0
    document = held.answer
    assert document.pop("at").startswith(f"{now():%Y-%m-}")
    said = {"reason": "case 7", "until": until, "by": "legal", "on": True}
    assert document == {"thread_id": "old-0000", **said}
    (found,) = listed(path, "--json").answer["holds"]
    del found["at"]
    assert found == document
    assert "case 7" in listed(path).out
    assert thread(path, "release", "--json").answer == {"thread_id": "old-0000", "released": True}
    none = listed(path, "--json").answer
    assert none == {"holds": [], "unreadable": [], "next_cursor": None}
    assert listed(path).out == "no thread is held\n"


def test_a_hold_may_last_a_while_from_now_as_a_pause_may(path: Path) -> None:
    held = thread(path, "hold", "--reason", "case 7", "--until", "3d", "--json").answer
    left = datetime.fromisoformat(held["until"]) - now()
    assert timedelta(days=2, hours=23) < left <= timedelta(days=3)


def test_the_person_at_the_machine_is_named_unless_another_is(path: Path) -> None:
    shown = thread(path, "hold", "--reason", "audit")
    assert shown.out == "thread 'old-0000' is held until it is released\n"
    (found,) = listed(path, "--json").answer["holds"]
    assert (found["by"], found["until"]) == (getpass.getuser(), None)


def test_a_user_without_a_name_is_named_by_number(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr(getpass, "getuser", nobody)
    thread(path, "hold", "--reason", "audit")
    assert listed(path, "--json").answer["holds"][0]["by"].startswith("user ")


def test_a_release_of_what_is_not_held_says_so(path: Path) -> None:
    done = thread(path, "release")
    assert (done.status, done.out) == (
        0,
        "thread 'old-0000' is not held: there is nothing to release\n",
    )
    thread(path, "hold", "--reason", "audit")
    assert thread(path, "release").out == "thread 'old-0000' is no longer held\n"


def test_holds_are_listed_page_by_page(path: Path) -> None:
    ids = [f"old-{number:04}" for number in range(5)]
    with open_store(str(path)) as store:
        store.ledger.hold(ids, Hold("audit"))
    seen: list[str] = []
    cursor = None
    while cursor is not None or not seen:
        page = listed(path, "--json", "--limit", "2", *(("--after", cursor) if cursor else ()))
        seen += [entry["thread_id"] for entry in page.answer["holds"]]
        cursor = page.answer["next_cursor"]
    assert seen == ids
    assert "more: --after" in listed(path, "--limit", "2").out
    wrong = listed(path, "--after", "nonsense")
    assert (wrong.status, wrong.err) == (
        2,
        "retention: 'nonsense' is no cursor of a list of holds\n",
    )


def test_a_hold_that_cannot_be_read_is_named_on_stderr_beside_the_others(path: Path) -> None:
    with open_store(str(path)) as store:
        store.ledger.hold(["old-0000", "old-0001"], Hold("audit"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE retention_threads SET hold_until = 'junk' WHERE thread_id = 'old-0000'"
        )
    found = listed(path, "--json")
    assert found.status == 3
    assert [entry["thread_id"] for entry in found.answer["holds"]] == ["old-0001"]
    (unread,) = found.answer["unreadable"]
    assert unread["thread_id"] == "old-0000"
    assert found.err == f"retention: {unread['error']}\n"
    shown = listed(path)
    assert (shown.status, "old-0001" in shown.out, shown.err) == (3, True, found.err)
    thread(path, "release", thread_id="old-0001")
    alone = listed(path)
    assert (alone.status, alone.out, alone.err) == (3, "", found.err)


def test_a_lapsed_hold_is_listed_as_lapsed(path: Path) -> None:
    ahead = now() + timedelta(minutes=5)
    with open_store(str(path)) as store:
        store.ledger.hold(["old-0000"], Hold("audit", ahead))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE retention_threads SET hold_until = held_at")
    assert "lapsed" in listed(path).out
    assert listed(path, "--json").answer["holds"][0]["on"] is False


def test_explain_says_the_sentence_and_what_decides(path: Path) -> None:
    shown = thread(path, "explain").out
    assert shown.startswith("old-0000: goes at the next sweep: it was last active at ")
    assert "10080 minutes (platform)" in shown
    assert "does not claim it" in shown
    document = thread(path, "explain", "--json", thread_id="parked").answer
    assert document["sentence"].endswith("the live-thread filter flows-engine claims it")
    assert (document["status"], document["goes"]) == ("interrupted", False)
    assert "claims it" in thread(path, "explain", thread_id="parked").out


def test_explain_shows_a_declared_retention(path: Path) -> None:
    with open_store(str(path)) as store:
        store.ledger.start(["fresh-0000"])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE retention_threads SET declared_waiting_minutes = 30")
    shown = thread(path, "explain", thread_id="fresh-0000").out
    assert "30 minutes (declared); the platform says 10080 minutes" in shown
    assert "the owner declared 30 minutes" in shown


def test_an_end_says_what_it_would_do_and_does_it_once_it_is_told_yes(path: Path) -> None:
    before = rows(path, "parked")
    asked = thread(path, "end", "--reason", "stuck", thread_id="parked")
    assert asked.status == 0
    assert asked.out.startswith("would end thread 'parked', which is interrupted, at its head 1")
    assert rows(path, "parked") == before
    document = thread(path, "end", "--reason", "stuck", "--json", thread_id="parked").answer
    assert (document["ended"], document["would_end"]) == (False, True)
    head = document["head"]
    done = thread(path, "end", "--reason", "stuck", "--yes", "--head", head, thread_id="parked")
    assert (done.status, done.out) == (
        0,
        "thread 'parked' is ended: nothing more can run on it\n",
    )
    said = thread(path, "explain", "--json", thread_id="parked").answer["ended"]
    assert (said["by"], said["reason"]) == (getpass.getuser(), "stuck")


@pytest.mark.parametrize("yes", [(), ("--yes",)])
@pytest.mark.parametrize(
    ("thread_id", "options", "line"),
    [
        ("old-0000", ("--head", HEAD), f"not {HEAD}: something was written to it meanwhile"),
        ("fresh-0000", (), "counts as running: it was active at "),
        ("nobody", (), "no thread 'nobody' in this store"),
    ],
)
def test_an_end_that_is_refused_is_one_line_and_status_1(
    path: Path, thread_id: str, options: tuple[str, ...], yes: tuple[str, ...], line: str
) -> None:
    done = thread(path, "end", "--reason", "x", *options, *yes, thread_id=thread_id)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("retention: ")
    assert line in done.err
    assert done.err.count("\n") == 1


def test_how_long_a_thread_must_be_idle_can_be_said(path: Path) -> None:
    options = ("--reason", "x", "--yes", "--idle-seconds", "0", "--json")
    assert thread(path, "end", *options, thread_id="fresh-0000").answer["ended"] is True


def test_an_erase_says_what_would_go_until_it_is_told_yes(path: Path) -> None:
    before = rows(path)
    asked = thread(path, "erase")
    assert asked.status == 0
    assert asked.out == (
        "would erase thread 'old-0000': 1 in checkpoints, 1 in writes; nothing was changed: --yes "
        "does it\n"
    )
    document = thread(path, "erase", "--json").answer
    assert document["would_erase"] is True
    assert document["holds"] == {"checkpoints": 1, "writes": 1, "retention_threads": 0}
    assert rows(path) == before


def test_an_erase_prints_a_receipt(path: Path) -> None:
    done = thread(path, "erase", "--yes", "--by", "privacy", "--json")
    receipt = done.answer
    assert (done.status, receipt["outcome"], receipt["left"]) == (0, "erased", 0)
    assert (receipt["by"], receipt["store"]) == ("privacy", "sqlite")
    assert receipt["tables"]["checkpoints"] == {"held": 1, "left": 0}
    assert rows(path) == {}
    shown = thread(path, "erase", "--yes", thread_id="old-0001").out
    assert "thread 'old-0001': erased at " in shown
    assert "; 0 left" in shown


@pytest.mark.parametrize("yes", [(), ("--yes",)])
def test_a_held_thread_is_not_erased_and_the_line_says_whose_hold_it_is(
    path: Path, yes: tuple[str, ...]
) -> None:
    thread(path, "hold", "--reason", "case 7", "--by", "legal")
    before = rows(path)
    done = thread(path, "erase", *yes)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("retention: thread 'old-0000' is not erased: held by 'legal' since ")
    assert done.err.endswith(" until it is released: 'case 7'\n")
    assert rows(path) == before


def test_an_erase_that_leaves_something_fails_after_its_receipt(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER broken BEFORE DELETE ON checkpoints BEGIN SELECT RAISE(IGNORE); END"
        )
    done = thread(path, "erase", "--yes", "--json")
    assert (done.status, done.answer["outcome"], done.answer["left"]) == (1, "left", 1)
    assert done.err == (
        "retention: thread 'old-0000' is not wholly gone: 1 rows or keys are left under its id, "
        "see the receipt\n"
    )


def test_what_was_written_meanwhile_and_removed_is_said(path: Path) -> None:
    with open_store(str(path)) as store:
        store.ledger.start(["old-0000"])
        stored = store.saver.get_tuple(config_of("old-0000"))
    assert stored is not None
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER later AFTER DELETE ON retention_threads BEGIN INSERT INTO writes "
            "(thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel) VALUES "
            f"('old-0000', '', '{stored.checkpoint['id']}', 'late', 0, 'messages'); END"
        )
    assert "written meanwhile, and removed too: 1" in thread(path, "erase", "--yes").out


@pytest.mark.parametrize(("answer", "is_erased"), [(b"y\n", True), (b"n\n", False)])
def test_at_a_terminal_a_person_is_asked(
    path: Path, folder: Path, answer: bytes, is_erased: bool
) -> None:
    with terminal() as (ours, theirs):
        asked = subprocess.Popen(
            [*PROGRAM, "thread", "erase", "old-0000", "--storage", str(path)],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            cwd=folder,
            env=environment(),
            text=True,
        )
        os.close(theirs)
        os.write(ours, answer)
        out, _ = asked.communicate(timeout=60)
        shown = read_all(ours)
    assert asked.returncode == 0
    assert "erase thread 'old-0000' for good? [y/N]" in shown
    assert ("; 0 left" in out) is is_erased
    assert ("nothing was changed" in out) is not is_erased
    assert (rows(path) == {}) is is_erased


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain",),
        ("hold", "--reason", "x"),
        ("release",),
        ("end", "--reason", "x"),
        ("erase",),
        ("erase", "--yes"),
    ],
)
def test_an_unknown_thread_is_one_line_and_status_1(path: Path, arguments: tuple[str, ...]) -> None:
    done = thread(path, *arguments, thread_id="nobody")
    assert (done.status, done.out) == (1, "")
    assert done.err == "retention: no thread 'nobody' in this store\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("hold",), "Missing option '--reason'"),
        (("hold", "--reason", " "), "a hold needs a reason: none was given"),
        (("hold", "--reason", "x", "--until", "soon"), "'soon' is neither a time such as"),
        (("hold", "--reason", "x", "--until", "2200-01-01"), "a hold's end needs a time zone"),
        (("hold", "--reason", "x", "--until", "2020-01-01T00:00Z"), "is past"),
        (("end",), "Missing option '--reason'"),
        (("end", "--reason", " ", "--yes"), "to end a thread needs a reason: none was given"),
        (("end", "--reason", "x", "--idle-seconds", "-1"), "is not in the range"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    path: Path, arguments: tuple[str, ...], line: str
) -> None:
    before = rows(path)
    done = thread(path, *arguments)
    assert (done.status, done.out) == (2, "")
    assert line in done.err
    assert done.err.count("\n") == 1
    assert rows(path) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain",),
        ("hold", "--reason", "x"),
        ("release",),
        ("end", "--reason", "x"),
        ("end", "--reason", "x", "--yes"),
        ("erase",),
        ("erase", "--yes"),
    ],
)
def test_a_mistyped_path_is_an_error_and_makes_no_store(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    done = thread(folder / "mistyped.db", *arguments)
    assert done.status == 2
    assert "no such file; nothing was created" in done.err
    assert list(folder.iterdir()) == []
    assert listed(folder / "mistyped.db").status == 2
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("verb", ["explain", "hold", "holds", "release", "end", "erase"])
def test_an_odd_id_prints_as_one_harmless_line(odd: Path, verb: str) -> None:
    reason = ("--reason", f"because\n\x1b[2J of {ODD}") if verb in ("hold", "end") else ()
    if verb == "holds":
        thread(odd, "hold", "--reason", ODD, thread_id=ODD)
        done = listed(odd)
    else:
        done = thread(odd, verb, *reason, thread_id=ODD)
    assert done.status == 0, done.err
    assert "\x1b" not in done.out + done.err
    assert r"-rm\n\x1b[31m '; --" in done.out


def test_an_odd_id_is_itself_in_json_and_leaves_with_its_receipt(odd: Path) -> None:
    assert thread(odd, "explain", "--json", thread_id=ODD).answer["thread_id"] == ODD
    receipt = thread(odd, "erase", "--yes", "--json", thread_id=ODD).answer
    assert (receipt["thread_id"], receipt["outcome"]) == (ODD, "erased")
