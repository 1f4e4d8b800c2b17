"""A gateway that is down, slow, or refuses: one reason in time, and never a password."""

import base64
import queue
import socket
import threading
import time
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler

import pytest
from prometheus_client import CollectorRegistry

from retention.runs import Latest
from tests.scraping import answering, series_of, status, value
from worker.metrics.families import Reading, registry_of
from worker.metrics.gateway import Gateway, PushError


@pytest.fixture
def registry() -> CollectorRegistry:
    """Series of one run."""
    return registry_of("tai42_checkpoint_sweep_", Reading({"runs:completed": 1}, Latest()))


def refusal(url: str, registry: CollectorRegistry, timeout: float = 5) -> str:
    """Why a push failed."""
    with pytest.raises(PushError) as failed:
        Gateway(url, timeout).put(registry, "store")
    return str(failed.value)


def test_a_group_is_replaced_whole_under_job_and_store(registry: CollectorRegistry) -> None:
    with answering(status(200)) as requests:
        Gateway(f"{requests.url}/prefix/", 5).put(registry, "agents")
        Gateway(requests.url, 5).put(registry, "postgres:db/agents")
    (method, path, auth, body), (_, coded, _, _) = requests.seen
    assert (method, path, auth) == ("PUT", "/prefix/metrics/job/retention/store/agents", "")
    assert value(series_of(body.decode()), "runs_total", outcome="completed") == 1
    name = base64.urlsafe_b64encode(b"postgres:db/agents").decode()
    assert coded == f"/metrics/job/retention/store@base64/{name}"


def test_user_and_password_go_into_the_header_alone(registry: CollectorRegistry) -> None:
    with answering(status(202)) as requests:
        url = requests.url.replace("//", "//op:gehe%2Fi%40m@")
        gateway = Gateway(url, 5)
        gateway.put(registry, "s")
    ((_, path, auth, _),) = requests.seen
    assert base64.b64decode(auth.removeprefix("Basic ")) == b"op:gehe/i@m"
    assert "gehe" not in path + gateway.shown
    assert gateway.shown == url.replace("gehe%2Fi%40m", "***")


@pytest.mark.parametrize(
    ("code", "body", "said"),
    [
        (400, b"pushed metrics are\ninvalid", "HTTP 400 pushed metrics are invalid"),
        (401, b"", "HTTP 401 Unauthorized"),
        (302, b"", "HTTP 302 Found"),
        (500, b"x" * 10_000, "HTTP 500 " + "x" * 300),
        (503, b"\xff\x00", "HTTP 503 \ufffd\x00"),
    ],
)
def test_a_refusal_is_said_as_the_gateway_says_it(
    code: int, body: bytes, said: str, registry: CollectorRegistry
) -> None:
    with answering(status(code, body)) as requests:
        assert refusal(requests.url, registry) == said
    assert len(requests.seen) == 1


def test_a_gateway_that_is_not_there_refuses(registry: CollectorRegistry) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    assert "refused" in refusal(f"http://op:geheim@127.0.0.1:{port}", registry)
    unknown = refusal("http://op:geheim@gateway.invalid:9091", registry)
    assert unknown
    assert "geheim" not in unknown


def test_a_gateway_that_does_not_answer_is_given_up_in_time(registry: CollectorRegistry) -> None:
    go_on = threading.Event()
    with answering(lambda handler: status(200)(handler) if go_on.wait(30) else None) as requests:
        begun = time.monotonic()
        assert refusal(requests.url, registry, 0.3) == "no answer within 0.3 seconds"
        assert time.monotonic() - begun < 3
        go_on.set()


def test_a_socket_that_times_out_first_says_the_same(registry: CollectorRegistry) -> None:
    answer: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gateway = Gateway(f"http://127.0.0.1:{silent.getsockname()[1]}", 0.2)
        gateway._attempt(registry, "store", answer)
    assert answer.get_nowait() == "no answer within 0.2 seconds"


def test_a_gateway_that_answers_byte_by_byte_is_given_up_in_time(
    registry: CollectorRegistry,
) -> None:
    """Each byte starts a socket's timeout anew; the whole push has one of its own."""
    ended = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        with suppress(OSError):
            while not ended.wait(0.05):
                handler.wfile.write(b"H")

    with answering(drip) as requests:
        begun = time.monotonic()
        assert refusal(requests.url, registry, 0.4) == "no answer within 0.4 seconds"
        assert time.monotonic() - begun < 3
        ended.set()


def test_what_is_no_answer_is_a_refusal(registry: CollectorRegistry) -> None:
    def garbage(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"SSH-2.0-x\r\n")
        handler.close_connection = True

    with answering(garbage) as requests:
        assert "BadStatusLine" in refusal(requests.url, registry)
    with answering(lambda handler: None) as requests:
        assert "closed connection" in refusal(requests.url, registry)


def test_a_refusal_cut_off_in_the_middle_is_said_by_its_status(
    registry: CollectorRegistry,
) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\nzz")
        handler.close_connection = True

    with answering(cut) as requests:
        assert refusal(requests.url, registry) == "HTTP 400 Bad Request"
