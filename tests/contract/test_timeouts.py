"""I9: no statement and no wait for a lock is unbounded."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import cast

import pytest

from retention.errors import StoreTimeoutError, StoreUnavailableError
from stores.postgres.database import PostgresDatabase
from stores.relational.ledger import RelationalLedger
from tests.contract.lab import Lab, on_postgres, on_sqlite

SOON = timedelta(milliseconds=20)


@on_postgres
def test_each_transaction_has_the_timeouts_it_was_opened_with(lab: Lab) -> None:
    with lab.other(statement_timeout=timedelta(seconds=7), lock_timeout=SOON) as store:
        db = cast(PostgresDatabase, cast(RelationalLedger, store.ledger)._db)
        for begin in (db.transaction, db.reading):
            with begin() as tx:
                assert tx.rows("SHOW statement_timeout") == [("7s",)]
                assert tx.rows("SHOW lock_timeout") == [("20ms",)]
        with db.connected() as connection:
            row = connection.execute("SHOW statement_timeout").fetchone()
            assert row == ("0",)


@on_postgres
def test_a_statement_that_runs_out_of_time_is_a_store_error(lab: Lab) -> None:
    with lab.other(statement_timeout=SOON) as store:
        db = cast(PostgresDatabase, cast(RelationalLedger, store.ledger)._db)
        with pytest.raises(StoreTimeoutError, match="statement timeout"), db.transaction() as tx:
            tx.rows("SELECT pg_sleep(10)")
        # It may be the same threads every time: the batch is halved, not tried as it was.
        with pytest.raises(StoreTimeoutError) as caught, db.transaction() as tx:
            tx.rows("SELECT pg_sleep(10)")
        assert not isinstance(caught.value, StoreUnavailableError)


@on_sqlite
def test_a_file_that_stays_locked_is_worth_another_try(lab: Lab) -> None:
    lab.seed("t", 30, marked=20)
    with (
        lab.other(lock_timeout=SOON) as store,
        closing(sqlite3.connect(lab.address.removeprefix("sqlite:///"))) as writer,
    ):
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="locked"):
            store.ledger.start(["t"])
        with pytest.raises(StoreUnavailableError, match="locked"):
            lab.run(store=store)
        writer.rollback()
        assert lab.run(store=store).to_json()["finished_swept"] == ["t"]
