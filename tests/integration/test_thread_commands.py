"""The commands on single threads on each store that a command can open."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from stores import StoreOptions, open_store
from stores.options import now
from tests.commands import Ran, environment, retention_command
from tests.seeding import seed_thread

ODD = "-a:b\n*"


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def address(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store with a thread of an odd name, parked and quiet for an hour."""

    for name in set(os.environ) - set(environment()):
        monkeypatch.delenv(name)
    servers = {"postgres": "postgres_dsn", "redis": "redis_store_url"}
    server = servers.get(request.param)
    found = request.getfixturevalue(server) if server else f"sqlite:///{tmp_path / 'store.db'}"
    with open_store(found, settings=StoreOptions()) as store:
        store.saver.delete_thread(ODD)
        seed_thread(store.saver, ODD, now() - timedelta(hours=1), 2, interrupted=True)
    return str(found)


def thread(address: str, verb: str, *arguments: str) -> Ran:
    """Run a verb on the odd thread."""
    return retention_command("thread", verb, *arguments, "--storage", address, "--json", "--", ODD)


def test_a_thread_is_explained_held_released_ended_and_erased(address: str) -> None:
    document = thread(address, "explain").answer
    assert document["sentence"].startswith("goes from ")
    assert (document["status"], document["filters"][-1]["claims"]) == ("interrupted", True)
    assert (document["keys_expire_at"] is not None) is address.startswith("redis")
    assert thread(address, "hold", "--reason", "audit", "--by", "legal").answer["by"] == "legal"
    listing = retention_command("thread", "holds", "--storage", address, "--json").answer
    assert [(h["thread_id"], h["reason"]) for h in listing["holds"]] == [(ODD, "audit")]
    assert thread(address, "explain").answer["sentence"].startswith("stays: held by 'legal'")
    assert thread(address, "erase", "--yes").status == 1
    assert thread(address, "release").answer["released"] is True
    assert thread(address, "end", "--reason", "stuck", "--yes").answer["ended"] is True
    assert thread(address, "explain").answer["ended"]["reason"] == "stuck"
    assert thread(address, "erase").answer["would_erase"] is True
    receipt = thread(address, "erase", "--yes").answer
    assert (receipt["outcome"], receipt["left"]) == ("erased", 0)
    assert thread(address, "explain").status == 1


def test_a_preview_counts_bytes_on_each_store(address: str) -> None:
    with open_store(address) as store:
        store.ledger.mark_finished([ODD])
    values = ("--waiting-minutes", "60", "--finished-minutes", "1")
    asked = ("policy", "preview", *values, "--storage", address, "--json")
    document = retention_command(*asked).answer
    # Marked just now, or idle for an hour and parked: a filter claims it.
    assert document["finished_count"] == 0
    assert document["bytes_unknown"] is None
    moved = retention_command(*asked, "--apply-to-marks", "--yes").answer
    assert moved["marks_moved"] == 1
