"""The filesystem broker under several processes and torn files: nothing lost, nothing twice."""

import json
import logging
import multiprocessing
import os
import pickle
import stat
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from celery import Celery
from kombu import Connection, Exchange, Queue
from kombu.transport.virtual import Channel as AnyChannel

from retention.errors import ConfigurationError
from worker.brokers import prepare
from worker.brokers.filesystem import Channel, ResultBackend, Transport
from worker.settings import BrokerSettings, load_broker_settings

MESSAGES = 1_500
"""Messages of each writer."""

STOP = "stop"

CONTEXT = multiprocessing.get_context("forkserver")


def settings(folder: Path) -> BrokerSettings:
    return load_broker_settings({"CELERY_BROKER_URL": f"filesystem://{folder}"}, None)


def open_channel(connection: Connection) -> Channel:
    channel = connection.channel()
    assert isinstance(channel, Channel)
    return channel


def connect(folder: Path) -> Connection:
    broker = settings(folder)
    prepare(broker)
    return Connection(broker.broker_url, transport_options=broker.transport_options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a broker"


@pytest.fixture
def channel(folder: Path) -> Iterator[Channel]:
    """A channel of our own class, over a real connection."""
    with connect(folder) as connection:
        yield open_channel(connection)


def messages(folder: Path) -> Path:
    return folder / "messages"


def write(folder: Path, writer: int) -> None:
    """Send numbered messages; large enough that a write in place would be seen half done."""
    with connect(folder) as connection:
        queue = connection.SimpleQueue("work")
        for number in range(MESSAGES):
            queue.put([writer, number, "x" * 9_000])


def read(folder: Path, found: "multiprocessing.Queue[list[tuple[int, int]]]") -> None:
    """Take messages until the queue says stop; leave that for the other readers."""
    taken = []
    with connect(folder) as connection:
        queue = connection.SimpleQueue("work")
        while True:
            message = queue.get(timeout=30)
            message.ack()
            if message.payload == STOP:
                queue.put(STOP)
                break
            taken.append((message.payload[0], message.payload[1]))
    found.put(taken)


def test_no_message_is_lost_or_doubled_between_two_writers_and_two_readers(folder: Path) -> None:
    found: multiprocessing.Queue[list[tuple[int, int]]] = CONTEXT.Queue()
    readers = [CONTEXT.Process(target=read, args=(folder, found)) for _ in range(2)]
    writers = [CONTEXT.Process(target=write, args=(folder, n)) for n in range(2)]
    for process in readers + writers:
        process.start()
    for process in writers:
        process.join()
    with connect(folder) as connection:
        connection.SimpleQueue("work").put(STOP)
    taken = Counter(found.get(timeout=30) + found.get(timeout=30))
    for process in readers:
        process.join()
    assert [process.exitcode for process in readers + writers] == [0, 0, 0, 0]
    assert taken == Counter((w, n) for w in range(2) for n in range(MESSAGES))
    # What is left is the word to stop.
    assert len(list(messages(folder).iterdir())) == 1


def test_the_safe_class_serves_the_url_even_where_kombu_remembers_its_own(folder: Path) -> None:
    from kombu import transport

    transport._transport_cache["filesystem"] = object  # type: ignore[attr-defined]
    with connect(folder) as connection:
        assert type(connection.transport) is Transport
        assert connection.transport.polling_interval == 0.05


def test_messages_come_out_in_the_order_they_went_in(channel: Channel) -> None:
    for number in range(20):
        channel.basic_publish(channel.prepare_message(str(number)), "", "work")
    got = [channel.basic_get("work", no_ack=True) for _ in range(20)]
    assert [message.payload for message in got if message] == [str(n) for n in range(20)]
    assert channel.basic_get("work") is None


def test_a_queue_whose_name_begins_like_another_has_its_own_messages(channel: Channel) -> None:
    channel._put("work.more", envelope("a"))
    assert channel._size("work") == 0
    with pytest.raises(Empty):
        channel._get("work")
    assert channel._get("work.more")["body"] == "a"


def envelope(body: str) -> dict[str, Any]:
    return {"body": body, "properties": {"delivery_tag": str(uuid.uuid4()), "delivery_info": {}}}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"body": "abc", "prop',
        b"[1, 2]",
        b"null",
        b"{}",
        b'{"properties": null}',
        b'{"body": "abc", "properties": {"delivery_info": {}}}',
        b'{"body": "abc", "properties": {"delivery_tag": "1", "body_encoding": "base64"}}',
        b'{"body": {"__type__": "decimal", "__value__": "x"}, "properties": {}}',
        b"\xff\xfe\x00",
    ],
    ids=lambda content: repr(content)[:30],
)
def test_a_file_that_holds_no_message_is_moved_aside_and_the_next_one_is_read(
    channel: Channel, folder: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    bad = messages(folder) / "00_bad.work.msg"
    bad.write_bytes(content)
    channel._put("work", envelope("good"))
    with caplog.at_level(logging.INFO, "worker.brokers.filesystem"):
        assert channel._get("work")["body"] == "good"
    assert [(record.levelname, bad.name in record.message) for record in caplog.records] == [
        ("ERROR", True)
    ]
    assert (messages(folder) / "corrupt" / bad.name).read_bytes() == content
    assert channel._size("work") == 0


def test_names_with_a_dot_are_nobodys_message(channel: Channel, folder: Path) -> None:
    for name in (".half.part", ".taken-1_a.work.msg", "corrupt", "notes.txt"):
        (messages(folder) / name).write_text("{")
    assert channel._size("work") == 0
    assert channel._purge("work") == 0
    with pytest.raises(Empty):
        channel._get("work")
    assert len(list(messages(folder).iterdir())) == 4


@pytest.mark.parametrize(
    ("queue", "stays"),
    [
        ("celeryev.0b1c", False),
        ("celery@host.celery.pidbox", False),
        ("0b1c.reply.celery.pidbox", False),
        ("retention", True),
    ],
)
def test_old_events_and_commands_go_though_their_reader_died_but_no_old_task(
    channel: Channel, folder: Path, monkeypatch: pytest.MonkeyPatch, queue: str, stays: bool
) -> None:
    with monkeypatch.context() as past:
        past.setattr(time, "time_ns", lambda: 1_700_000_000 * 10**9)
        channel._put(queue, envelope("old"))
        assert channel._size(queue) == 1
    channel._put(queue, envelope("new"))
    assert channel._size(queue) == (2 if stays else 1)
    assert len(list(messages(folder).iterdir())) == channel._size(queue)


def test_purge_removes_and_counts_the_messages_of_one_queue(channel: Channel) -> None:
    for queue in ("work", "work", "other"):
        channel._put(queue, envelope("x"))
    assert channel._size("work") == 2
    assert channel._purge("work") == 2
    assert (channel._size("work"), channel._size("other")) == (0, 1)


def test_a_message_that_another_reader_took_after_the_look_is_passed_over(
    channel: Channel, folder: Path
) -> None:
    for number in range(3):
        channel._put("work", envelope(str(number)))
    assert channel._get("work")["body"] == "0"
    with connect(folder) as connection:
        assert open_channel(connection)._get("work")["body"] == "1"
    assert channel._get("work")["body"] == "2"


def test_of_two_readers_at_the_same_message_one_gets_it(
    channel: Channel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have seen the name; the second renames just before the first would."""
    channel._put("work", envelope("x"))
    with connect(folder) as connection:
        rival = open_channel(connection)
        taken: list[str] = []
        claim = channel._claim

        def claim_late(name: str) -> Path | None:
            taken.append(rival._get("work")["body"])
            return claim(name)

        monkeypatch.setattr(channel, "_claim", claim_late)
        with pytest.raises(Empty):
            channel._get("work")
    assert taken == ["x"]


def test_a_message_is_whole_at_the_instant_its_name_appears(
    channel: Channel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the rename, the folder shows no message."""
    rename = Path.rename
    sizes: list[tuple[int, bool]] = []

    def watch(self: Path, target: Path) -> Path:
        whole = json.loads(self.read_bytes())["body"] == "x"
        sizes.append((channel._size("work"), whole))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", watch)
    channel._put("work", envelope("x"))
    assert sizes == [(0, True)]
    assert channel._size("work") == 1


def test_a_folder_that_was_removed_comes_back(channel: Channel, folder: Path) -> None:
    messages(folder).rmdir()
    with pytest.raises(Empty):
        channel._get("work")
    messages(folder).rmdir()
    channel._put("work", envelope("x"))
    assert channel._get("work")["body"] == "x"


def test_a_write_that_fails_leaves_no_file(channel: Channel, folder: Path) -> None:
    from kombu.exceptions import ChannelError

    with pytest.raises(ChannelError, match=r"Cannot add message file .*: File name too long"):
        channel._put("q" * 250, envelope("x"))
    assert list(messages(folder).iterdir()) == []


def test_a_message_given_back_is_delivered_again(channel: Channel, folder: Path) -> None:
    channel.basic_publish(channel.prepare_message("x"), "", "work")
    message = channel.basic_get("work")
    assert message is not None
    message.requeue()
    again = channel.basic_get("work")
    assert again is not None
    assert again.payload == "x"


# Bindings ---------------------------------------------------------------------------------------


def bind(channel: AnyChannel, name: str) -> None:
    Queue(name, Exchange("all", type="fanout"))(channel).declare()


def test_every_binding_survives_many_binding_at_once(folder: Path) -> None:
    """Read, change and write back without a lock would keep only some of them."""
    start = threading.Barrier(8)

    def bind_five(number: int) -> None:
        with connect(folder) as connection:
            channel = open_channel(connection)
            start.wait(timeout=10)
            for index in range(5):
                channel._queue_bind("all", "", "", f"q{number}-{index}")

    threads = [threading.Thread(target=bind_five, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with connect(folder) as connection:
        bound = {row.queue for row in open_channel(connection).get_table("all")}
    assert bound == {f"q{n}-{i}" for n in range(8) for i in range(5)}


def test_a_fanout_reaches_every_bound_queue_until_it_is_deleted(channel: Channel) -> None:
    for name in ("a", "b"):
        bind(channel, name)
    bind(channel, "a")
    channel.basic_publish(channel.prepare_message("x"), "all", "")
    assert (channel._size("a"), channel._size("b")) == (1, 1)
    channel.queue_delete("a")
    channel.basic_publish(channel.prepare_message("y"), "all", "")
    assert (channel._size("a"), channel._size("b")) == (0, 2)


def test_a_table_of_bindings_that_cannot_be_read_is_moved_aside_and_made_again(
    channel: Channel, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = folder / "control" / "all.exchange"
    table.write_bytes(b'[["", "", "a"')
    assert channel.get_table("all") == []
    assert "broker_file_unreadable file=all.exchange" in caplog.text
    bind(channel, "b")
    assert [row.queue for row in channel.get_table("all")] == ["b"]


# Folders and results ----------------------------------------------------------------------------


def test_the_folders_are_made_for_this_user_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        prepare(settings(folder))
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"messages": 0o700, "control": 0o700, "results": 0o700}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError) as refused:
        prepare(settings(tmp_path / "file"))
    assert str(refused.value) == (
        f"CELERY_BROKER_URL='filesystem://{tmp_path}/file' is refused: "
        f"{tmp_path}/file cannot be created: File exists"
    )


def test_a_result_appears_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks while it is written sees the result from before, and never half of it."""
    broker = settings(folder)
    prepare(broker)
    with Celery(
        broker=broker.broker_url, backend=broker.result_backend, set_as_current=False
    ) as app:
        backend = app.backend
        assert isinstance(backend, ResultBackend)
        seen: list[str] = []
        rename = Path.rename

        def watch(self: Path, target: Path) -> Path:
            seen.append(app.AsyncResult("1").state)
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", watch)
        backend.store_result("1", {"threads": ["x" * 100] * 1000}, "SUCCESS")
        assert seen == ["PENDING"]
        assert len(app.AsyncResult("1").get(timeout=1)["threads"]) == 1000
        assert pickle.loads(pickle.dumps(backend)).url == broker.result_backend  # noqa: S301 - ours
