"""A database that LangGraph's own server runs is left alone, unless an operator insists."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from retention.errors import ConfigurationError
from retention.sweep import LocalDispatch, SweepOptions, dry_run, open_run
from stores import Access, StoreOptions, adopt_store
from tests.commands import retention_command
from tests.integration.places import Place
from tests.integration.sweeping import sweep, sweep_of
from tests.seeding import seed_thread
from worker.process import ProcessSweep
from worker.settings import load_sweep_settings

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=8)
SERVER_TABLES = ("assistant", "run", "thread")
SHOWN = (
    "its tables assistant, run, thread are those of LangGraph's own server, which lets threads go "
    "by a TTL of its own"
)
REFUSAL = (
    f"the postgres store is not swept: {SHOWN}; "
    "SWEEP_ALLOW_SERVER_DATABASE=true sweeps it all the same"
)
INSISTS = SweepOptions(allow_server_database=True)


@pytest.fixture
def served(postgres_place: Place) -> Place:
    """A database of that server, adopted, with an old thread."""
    with postgres_place.stock_saver() as saver:
        seed_thread(saver, "old", OLD)
    for table in SERVER_TABLES:
        postgres_place.query(f"CREATE TABLE {table} (id UUID PRIMARY KEY)")
    postgres_place.adopt()
    return postgres_place


def test_a_sweep_and_a_dry_run_are_refused_in_one_line_and_leave_no_trace(served: Place) -> None:
    with served.store(access=Access.WRITE) as store:
        work = sweep_of(store, LocalDispatch(), NOW)
        with pytest.raises(ConfigurationError) as refused:
            open_run(work, "r", allow_over_limit=True)
        assert str(refused.value) == REFUSAL
        with pytest.raises(ConfigurationError) as refused:
            dry_run(work, "r")
        assert str(refused.value) == REFUSAL
        assert store.runs.history(10) == []
    assert served.threads() == {"old"}


def test_an_operator_who_insists_has_it_swept(served: Place) -> None:
    with served.store(access=Access.WRITE) as store:
        assert sweep(store, NOW, options=INSISTS).to_json()["waiting_swept"] == ["old"]


@pytest.mark.parametrize("missing", SERVER_TABLES)
def test_an_application_may_have_tables_of_some_of_these_names(served: Place, missing: str) -> None:
    served.query(f"DROP TABLE {missing}")
    with served.store(access=Access.WRITE) as store:
        assert sweep(store, NOW).to_json()["waiting_swept"] == ["old"]


def test_a_server_in_another_schema_runs_another_database(served: Place) -> None:
    served.query("CREATE SCHEMA server")
    for table in SERVER_TABLES:
        served.query(f"ALTER TABLE {table} SET SCHEMA server")
    with served.store(access=Access.WRITE) as store:
        assert store.managed is None


async def test_an_async_application_uses_the_store_all_the_same(served: Place) -> None:
    from stores import aopen_store

    async with aopen_store(served.address, settings=StoreOptions()) as store:
        assert store.managed == SHOWN
        await store.ledger.astart(["old"])


def test_adopting_says_it_as_well(served: Place) -> None:
    assert adopt_store(served.address).managed == SHOWN
    looked = retention_command("store", "adopt", "--storage", served.address)
    assert looked.status == 0
    assert (
        f"mind: {SHOWN}; sweeps refuse this store unless SWEEP_ALLOW_SERVER_DATABASE=true\n"
    ) in looked.out
    asked = retention_command("store", "adopt", "--storage", served.address, "--json")
    assert asked.answer["managed"] == SHOWN


def test_the_command_refuses_it_and_takes_the_setting(
    served: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (("run",), ("run", "--dry-run")):
        ran = retention_command("sweep", *arguments, "--storage", served.address)
        assert (ran.status, ran.out, ran.err) == (2, "", f"retention: {REFUSAL}\n")
    assert retention_command("sweep", "history", "--storage", served.address).status == 0
    monkeypatch.setenv("SWEEP_ALLOW_SERVER_DATABASE", "true")
    assert retention_command("sweep", "run", "--storage", served.address).status == 0
    assert served.threads() == set()


def test_a_worker_does_not_start_on_it(
    served: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_PROVIDER_CHECKPOINT", "postgres")
    monkeypatch.setenv("DATABASE_URL", served.address)

    def check(**settings: str) -> None:
        ProcessSweep(load_sweep_settings(settings, None), LocalDispatch()).check()

    with pytest.raises(ConfigurationError) as refused:
        check()
    assert str(refused.value) == REFUSAL
    check(SWEEP_ALLOW_SERVER_DATABASE="true")


def test_a_file_is_nobody_elses(sqlite_place: Place) -> None:
    with sqlite_place.store() as store:
        for table in SERVER_TABLES:
            sqlite_place.query(f"CREATE TABLE {table} (id TEXT)")
    with sqlite_place.store() as store:
        assert store.managed is None
