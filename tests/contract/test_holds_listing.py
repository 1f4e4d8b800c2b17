"""The list of holds: who keeps which thread, page by page, on every store."""

from datetime import timedelta

import pytest

from retention.abilities import SupportsEnding, SupportsErasing, SupportsHoldsListing
from retention.errors import ConfigurationError, StoreUnavailableError
from retention.threads import Ended, Hold, LedgerEntry
from stores import Access
from tests.contract.lab import NOW, Lab, in_sql, on_redis, on_sqlite
from tests.contract.test_ledger import ODD_IDS
from tests.listings import all_holds


def holds_of(lab: Lab, limit: int = 100) -> list[LedgerEntry]:
    """All holds, read in pages of so many."""
    found, faults = all_holds(lab.store.ledger, limit)
    assert faults == {}
    return found


def test_there_is_no_hold_at_first(lab: Lab) -> None:
    lab.seed("t")
    lab.store.ledger.start(["t"])
    assert holds_of(lab) == []


@pytest.mark.parametrize("limit", [1, 2, 7, 100])
def test_every_hold_is_listed_once_whatever_the_size_of_a_page(lab: Lab, limit: int) -> None:
    ids = [f"t-{number:02}" for number in range(14)]
    lab.store.ledger.start([*ids, "free"])
    lab.store.ledger.hold(ids[:7], Hold("one", NOW + timedelta(hours=1), "a"))
    lab.store.ledger.hold(ids[7:], Hold("two"))
    found = holds_of(lab, limit)
    assert sorted(entry.thread_id for entry in found) == ids
    said = {entry.thread_id: entry.hold for entry in found}
    assert said["t-00"] == Hold("one", NOW + timedelta(hours=1), "a", NOW)
    assert said["t-13"] == Hold("two", at=NOW)
    assert all(entry.started_at == NOW for entry in found)


def test_odd_ids_are_listed_and_paged_like_any(lab: Lab) -> None:
    lab.store.ledger.start(ODD_IDS)
    lab.store.ledger.hold(ODD_IDS, Hold("audit"))
    assert sorted(entry.thread_id for entry in holds_of(lab, 3)) == sorted(ODD_IDS)


def test_a_lapsed_hold_is_listed_until_it_is_released(lab: Lab) -> None:
    lab.seed("t")
    lab.hold("t", lapsed=1)
    assert [entry.thread_id for entry in holds_of(lab)] == ["t"]
    lab.store.ledger.release(["t"])
    assert holds_of(lab) == []


@pytest.mark.parametrize("cursor", ["", "zz", "61.62", "61.62.63.64", "61.62.63", "é"])
def test_what_is_no_cursor_is_refused(lab: Lab, cursor: str) -> None:
    ledger = lab.store.ledger
    assert isinstance(ledger, SupportsHoldsListing)
    if cursor == "" and lab.store.provider != "redis":
        assert ledger.holds_page(cursor, 1).entries == []
        return
    with pytest.raises(ConfigurationError, match="is no cursor of a list of holds"):
        ledger.holds_page(cursor, 1)


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_an_entry_that_cannot_be_read_is_named_and_hides_no_other(lab: Lab, limit: int) -> None:
    ids = ["a", "broken", "z"]
    lab.store.ledger.start(ids)
    lab.store.ledger.hold(ids, Hold("audit"))
    lab.direct.declare("broken", -5)
    found, faults = all_holds(lab.store.ledger, limit)
    assert sorted(entry.thread_id for entry in found) == ["a", "z"]
    assert set(faults) == {"broken"}
    assert "says of thread 'broken' cannot be read" in faults["broken"]


@on_redis
def test_a_hold_that_expired_with_its_thread_is_not_listed(lab: Lab) -> None:
    lab.store.ledger.start(["t", "u"])
    lab.store.ledger.hold(["t", "u"], Hold("audit", NOW + timedelta(hours=1)))
    lab.direct.expire("t")  # type: ignore[attr-defined]
    assert [entry.thread_id for entry in holds_of(lab)] == ["u"]


@in_sql
def test_a_store_without_tables_of_ours_has_no_hold(lab: Lab) -> None:
    with lab.sql.without_own_tables(), lab.other(access=Access.READ) as store:
        assert isinstance(store.ledger, SupportsHoldsListing)
        assert store.ledger.holds_page(None, 5).entries == []


@on_sqlite
def test_the_list_is_read_from_an_index(lab: Lab) -> None:
    found = lab.store.ledger._db.connection.execute(  # type: ignore[attr-defined]
        "EXPLAIN QUERY PLAN SELECT thread_id FROM retention_threads"
        " WHERE hold_reason IS NOT NULL AND thread_id > 'a' ORDER BY thread_id LIMIT 5"
    ).fetchall()
    assert "retention_threads_held" in str(found)


@on_redis
def test_a_thread_that_changes_all_the_time_is_neither_ended_nor_erased(lab: Lab) -> None:
    lab.seed("t", 30)
    ledger, deleter = lab.store.ledger, lab.store.deleter
    assert isinstance(ledger, SupportsEnding)
    assert isinstance(deleter, SupportsErasing)

    def changing(state: object) -> None:
        lab.write_late("t")

    def may_go(facts: object) -> bool:
        lab.write_late("t")
        return True

    with pytest.raises(StoreUnavailableError, match="'t' changes all the time"):
        ledger.end("t", Ended(NOW, "ops", "why"), changing)
    with pytest.raises(StoreUnavailableError, match="'t' changes all the time"):
        deleter.erase("t", may_go)
    found = lab.store.ledger.entries(["t"]).get("t")
    assert found is None or found.ended is None
    assert lab.rows_of("t")["checkpoints"]
