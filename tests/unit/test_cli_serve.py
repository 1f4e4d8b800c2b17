"""`retention serve`: metrics and health of a store over HTTP, until it is ended."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from retention.errors import StoreUnavailableError
from tests.commands import command_on, environment
from tests.scraping import Serving, lint, series_of, serving, value
from tests.waiting import eventually
from worker.metrics.serving import MetricsApp, metrics_server


@pytest.fixture
def served(path: Path, folder: Path) -> Iterator[Serving]:
    """A store that is served."""
    with serving("--storage", str(path), folder=folder) as made:
        yield made


def test_metrics_are_what_the_store_holds_now(served: Serving, path: Path) -> None:
    status, content_type, before = served.get("/metrics")
    assert (status, content_type.split(";")[0]) == (200, "text/plain")
    assert value(series_of(before), "runs_total", outcome="completed") == 0
    assert command_on(path, "sweep", "run").status == 0
    after = served.get("/metrics?name[]=x")[2]
    series = series_of(after)
    assert value(series, "swept_total", horizon="waiting") == 5
    assert value(series, "spared_total", horizon="waiting", owner="flows-engine") == 1
    assert value(series, "runs_total", outcome="completed") == 1
    assert value(series, "due_threads", horizon="waiting") == 6
    assert value(series, "last_success_timestamp_seconds") > 1.7e9
    assert lint(after) == ""


def test_openmetrics_is_given_to_whoever_asks_for_it(served: Serving) -> None:
    status, content_type, text = served.get("/metrics", Accept="application/openmetrics-text")
    assert (status, content_type.split(";")[0]) == (200, "application/openmetrics-text")
    assert text.endswith("# EOF\n")


def test_only_two_pages_are_answered_and_only_to_readers(served: Serving) -> None:
    assert served.get("/healthz") == (200, "text/plain; charset=utf-8", "ok\n")
    assert served.get("/")[0] == served.get("/metrics/x")[0] == 404
    assert served.get("/metrics", "POST")[0] == served.get("/healthz", "DELETE")[0] == 405
    assert served.get("/metrics", "HEAD")[::2] == (200, "")


def test_several_ask_at_once(served: Serving) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: served.get("/metrics")[0], range(40)))
    assert set(answers) == {200}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_order_when_it_is_told_to(path: Path, folder: Path, number: int) -> None:
    with serving("--storage", str(path), folder=folder) as made:
        made.get("/metrics")
        made.process.send_signal(number)
        out, err = made.process.communicate(timeout=20)
    assert (made.process.returncode, out, err) == (0, "", "")


def test_it_ends_where_the_shell_lets_interrupts_be_ignored(path: Path, folder: Path) -> None:
    """As one does that starts it in the background of a script."""
    code = (
        "import signal, sys; signal.signal(2, signal.SIG_IGN); from worker.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--port", "0", "--storage", str(path)],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("serving http://127.0.0.1:")
    process.terminate()
    assert process.wait(timeout=20) == 0
    process.stdout.close()


def test_a_total_that_somebody_broke_is_no_traceback(served: Serving, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO retention_totals VALUES ('deleted:waiting', 'lots')")
        connection.commit()
    for page in ("/metrics", "/healthz"):
        answer = served.get(page)
        assert (answer[0], answer[2]) == (503, "the store cannot be read\n")


@pytest.mark.parametrize("host", ["", "  "])
def test_an_empty_host_does_not_mean_every_address(path: Path, host: str) -> None:
    ran = command_on(path, "serve", "--host", host, "--port", "0")
    assert ran.status == 2
    assert "--host needs an address" in ran.err


def test_a_store_is_read_and_never_made(folder: Path) -> None:
    ran = command_on(folder / "missing.db", "serve", "--port", "0")
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert not (folder / "missing.db").exists()


def test_serving_changes_nothing(path: Path, folder: Path) -> None:
    before = path.read_bytes()
    with serving("--storage", str(path), folder=folder) as made:
        made.get("/metrics")
    assert path.read_bytes() == before


def test_a_port_that_is_taken_is_one_line(path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        ran = command_on(path, "serve", "--port", str(taken.getsockname()[1]))
    assert ran.status == 2
    assert "cannot listen there: Address already in use" in ran.err
    assert ran.err.count("\n") == 1


def test_it_listens_on_this_machine_alone_unless_told_otherwise(path: Path, folder: Path) -> None:
    with serving("--storage", str(path), folder=folder) as made:
        assert made.url.startswith("http://127.0.0.1:")
    if os.path.exists("/proc/net/if_inet6"):  # noqa: PTH110 - a file of the kernel
        with serving("--storage", str(path), "--host", "::1", folder=folder) as made:
            assert made.url.startswith("http://[::1]:")
            assert made.get("/healthz")[0] == 200


def test_the_prefix_is_the_settings_one(path: Path, folder: Path) -> None:
    settings = {"SWEEP_METRICS_PREFIX": "mine_"}
    with serving("--storage", str(path), folder=folder, settings=settings) as made:
        assert "\nmine_swept_total{" in made.get("/metrics")[2]


class Away:
    """A run log whose store is away until it is back."""

    away = True

    def totals(self) -> dict[str, int]:
        if self.away:
            raise StoreUnavailableError("postgres at db.internal: gone")
        return {}


def test_a_store_that_is_away_is_not_healthy_and_the_reason_is_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from threading import Thread

    runs = Away()
    app = MetricsApp(cast("object", runs), "x_")  # type: ignore[arg-type]
    with metrics_server("127.0.0.1", 0, app) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        made = Serving(
            cast("subprocess.Popen[str]", None), f"http://127.0.0.1:{server.server_port}"
        )
        answers = [made.get(page) for page in ("/metrics", "/healthz")]
        runs.away = False
        eventually(lambda: made.get("/healthz")[0] == 200, "health")
        server.shutdown()
        thread.join()
    assert {(answer[0], answer[2]) for answer in answers} == {(503, "the store cannot be read\n")}
    assert caplog.text.count("db.internal: gone") == 2
