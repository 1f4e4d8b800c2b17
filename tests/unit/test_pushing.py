"""Pushing at the end of a run: said once where it fails, and never an error of the run."""

import logging
from typing import cast

import pytest

from retention.errors import StoreUnavailableError
from retention.ports import RunLog
from retention.runs import Latest
from tests.scraping import answering, series_of, status, value
from worker.metrics.gateway import Gateway
from worker.metrics.pushing import PushedMetrics


class Nothing:
    """Deliveries of a store that owes none."""

    def count(self) -> int:
        return 0


class Growing:
    """A run log whose totals grow at each of so many reads, as other workers end their runs."""

    def __init__(self, reads: int) -> None:
        self.deliveries = Nothing()
        self.reads = reads
        self.ended = 0

    def totals(self) -> dict[str, int]:
        self.ended += self.ended < self.reads
        return {"runs:completed": self.ended}

    def latest(self) -> Latest:
        return Latest()


class Gone(Growing):
    """A run log whose store does not answer."""

    def totals(self) -> dict[str, int]:
        raise StoreUnavailableError("postgres at db: gone")


def push(url: str, runs: Growing) -> None:
    """Push as a run does."""
    PushedMetrics(Gateway(url, 5), "tai42_checkpoint_sweep_", "s").push("r1", cast(RunLog, runs))


@pytest.mark.parametrize(("changes", "pushes"), [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_totals_that_changed_meanwhile_are_pushed_again(changes: int, pushes: int) -> None:
    """The older of two readings must not be the last that the gateway is given."""
    with answering(status(200)) as requests:
        push(requests.url, Growing(changes))
    ended = [
        value(series_of(r[3].decode()), "runs_total", outcome="completed") for r in requests.seen
    ]
    assert ended == list(range(1, pushes + 1))


def test_a_gateway_that_refuses_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with answering(status(400, b"no")) as requests:
        url = requests.url.replace("//", "//op:geheim@")
        push(url, Growing(9))
    (record,) = caplog.records
    shown = url.replace("geheim", "***")
    assert record.levelno == logging.WARNING
    assert record.getMessage() == (f'metrics_not_pushed run=r1 gateway={shown} error="HTTP 400 no"')


def test_a_store_that_cannot_be_read_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with answering(status(200)) as requests:
        push(requests.url, Gone(1))
    assert requests.seen == []
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "postgres at db: gone" in caplog.text
