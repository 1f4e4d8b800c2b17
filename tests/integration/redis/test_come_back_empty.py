"""A Redis that comes back empty in the middle of a sweep: what is gone is gone, all goes on."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from retention.errors import StoreUnavailableError, ThreadDeletedError
from retention.sweep import SweepOptions
from stores import StoreOptions, open_store
from tests.conftest import service
from tests.integration.sweeping import sweep
from tests.seeding import config_of, seed_thread, seed_threads
from tests.servers import RedisServer

NOW = datetime.now(UTC)
TWO_DAYS_AGO = NOW - timedelta(days=2)


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A Redis that keeps nothing on disk, and that the test may stop."""
    with service():
        server = RedisServer()
    with server:
        yield server


def test_a_store_that_comes_back_empty_is_a_new_store(server: RedisServer) -> None:
    with (
        open_store(server.url(), settings=StoreOptions()) as store,
        open_store(server.url(), settings=StoreOptions(clock=lambda: TWO_DAYS_AGO)) as then,
    ):
        due = seed_threads(store.saver, "old", 6, TWO_DAYS_AGO)
        then.ledger.mark_finished(due)
        head = seed_thread(store.saver, "live", NOW)[-1]
        left: list[int] = []

        def stop(run_id: str, batches_left: int) -> None:
            left.append(batches_left)
            if batches_left == 1:
                server.kill()

        with pytest.raises(StoreUnavailableError):
            sweep(store, NOW, options=SweepOptions(batch_size=2), progress=stop)
        assert left[-1] == 1
        server.start()
        with pytest.raises(ThreadDeletedError):
            seed_thread(store.saver, "live", NOW, parent=head)
        assert store.saver.get_tuple(config_of("live")) is None
        assert sweep(store, NOW).to_json()["outcome"] == "completed"
        seed_thread(store.saver, "live", NOW)
    with open_store(server.url(), settings=StoreOptions()) as again:
        assert again.saver.get_tuple(config_of("live")) is not None
        assert sweep(again, NOW).to_json()["swept_count"] == 0
