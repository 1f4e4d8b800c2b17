"""What a pool pushes: each worker the same series, and no password in any log."""

from datetime import datetime

import pytest

from tests.acceptance.deployment import Deployment
from tests.acceptance.places import StorePlace
from tests.scraping import Series, series_of, value
from tests.seeding import seed_thread, seed_threads
from tests.servers.pushgateway import PushgatewayServer
from tests.unit.live_runs import begin_run
from tests.waiting import eventually

pytestmark = [
    pytest.mark.parametrize("broker", ["filesystem"], indirect=True),
    pytest.mark.parametrize("place", ["sqlite"], indirect=True),
]


@pytest.fixture
def name(deployment: Deployment) -> str:
    """A name that no other test's store has."""
    return f"pool-{deployment.folder.name}"


def pushed_runs(gateway: PushgatewayServer, name: str, outcome: str, count: int) -> Series:
    """What the gateway holds once so many runs have ended in a way."""

    def pushed() -> Series | None:
        series = series_of(gateway.metrics(), name)
        ended = ("runs_total", (("outcome", outcome),))
        return series if series.get(ended) == count else None

    return eventually(pushed, f"{count} runs {outcome}")


def test_each_worker_pushes_what_all_of_them_did(
    deployment: Deployment,
    place: StorePlace,
    pushgateway: PushgatewayServer,
    name: str,
    long_ago: datetime,
) -> None:
    """A second worker goes on where the first one ended, however that was."""
    deployment.settings |= {"SWEEP_PUSHGATEWAY_URL": pushgateway.url, "SWEEP_STORE_NAME": name}
    for round_ in (1, 2):
        with deployment.opened() as store:
            due = seed_threads(store.saver, f"due{round_}", 3, long_ago)
            seed_thread(store.saver, f"parked{round_}", long_ago, interrupted=True)
        worker = deployment.start_worker(f"w{round_}", "--pool", "solo")
        assert deployment.result(deployment.call())["swept_count"] == 3
        series = pushed_runs(pushgateway, name, "completed", round_)
        assert place.remains(due) == {}
        assert value(series, "swept_total", horizon="waiting") == 3 * round_
        # The first parked thread is spared in the second run as well.
        assert value(series, "spared_total", horizon="waiting", owner="flows-engine") == (
            1 if round_ == 1 else 3
        )
        worker.kill()
    with deployment.opened() as store:
        begin_run(store)
    deployment.start_worker("w3", "--pool", "solo")
    assert deployment.result(deployment.call())["outcome"] == "skipped_locked"
    skipped = pushed_runs(pushgateway, name, "skipped_locked", 1)
    success = "last_success_timestamp_seconds"
    assert value(skipped, success) == value(series, success)
    assert "metrics_not_pushed" not in deployment.logs()


def test_a_gateway_that_is_down_is_one_line_of_the_log_for_each_run(
    deployment: Deployment, place: StorePlace, long_ago: datetime
) -> None:
    deployment.settings["SWEEP_PUSHGATEWAY_URL"] = "http://op:geheim@127.0.0.1:9"
    with deployment.opened() as store:
        due = seed_threads(store.saver, "due", 3, long_ago)
    deployment.start_worker("retention")
    for _ in range(2):
        assert deployment.result(deployment.call())["outcome"] == "completed"
    eventually(lambda: deployment.logs().count("metrics_not_pushed") == 2, "two lines")
    assert place.remains(due) == {}
    assert "http://op:***@127.0.0.1:9" in deployment.logs()
    assert "geheim" not in deployment.logs()
