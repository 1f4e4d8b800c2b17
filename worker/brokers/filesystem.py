"""Celery's filesystem broker and result backend, made safe.

Stock Kombu writes a message in place, so a reader can take half of it: messages get lost, and one
truncated file ends the worker. It also updates its table of bindings in place. Here every file is
written under a name that starts with a dot, which nobody reads, and then renamed, which is atomic;
a reader claims a message by renaming it, so of two readers one gets it; and a file that holds no
message is moved aside instead of raising.

What the design of this transport leaves open stays so: an acknowledgement is kept in memory only,
so a message that a killed worker had taken is gone. The run log's repair sends such work again.
Files are not synced to the disk either, for the same reason.
"""

import contextlib
import fcntl
import logging
import os
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from queue import Empty
from typing import Any

from celery.backends.filesystem import FilesystemBackend
from kombu import Connection
from kombu.exceptions import ChannelError
from kombu.transport import filesystem, virtual
from kombu.transport.filesystem import exchange_queue_t
from kombu.utils.json import dumps, loads

from retention.events import event

logger = logging.getLogger(__name__)

# Only the worker's own user may read what is asked of it, or ask.
_FOLDER_MODE = 0o700

# Celery's own lifetime of a control message (an event's is shorter) where brokers keep one.
_TRANSIENT_NS = 300 * 10**9

# What reading a file that holds no whole message can raise.
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError)


@contextlib.contextmanager
def _told_to_the_worker() -> Iterator[None]:
    """Call a folder that cannot be used an error of the channel: any other would end a worker."""
    try:
        yield
    except OSError as error:
        raise ChannelError(f"Cannot use {error.filename}: {error.strerror}") from error


class Channel(filesystem.Channel):
    """A channel that writes, claims and rebinds atomically."""

    @cached_property
    def _seen(self) -> dict[str, deque[str]]:
        """What the last look at the folder found, by queue.

        Listing it for each message would make draining a full folder quadratic. A name that
        somebody else has taken since costs one failed rename.
        """
        return {}

    def _put(  # type: ignore[override] # the stubs of the two bases disagree
        self, queue: str, payload: dict[str, Any], **_options: object
    ) -> None:
        # Padded, so that the order of the names is the order of the messages.
        name = f"{time.time_ns():020}_{uuid.uuid4()}.{queue}.msg"
        try:
            _write(Path(self.data_folder_out) / name, dumps(payload).encode())
        except OSError as error:
            raise ChannelError(f"Cannot add message file {name!r}: {error.strerror}") from error

    @_told_to_the_worker()
    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        for name in self._names(queue):
            claimed = self._claim(name)
            message = None if claimed is None else self._read(claimed, name)
            if message is not None:
                return message
        raise Empty

    @_told_to_the_worker()
    def _size(self, queue: str) -> int:
        return len(self._list().get(queue, ()))

    @_told_to_the_worker()
    def _purge(self, queue: str) -> int:
        removed = 0
        for name in self._list().get(queue, ()):
            with contextlib.suppress(FileNotFoundError):
                self._folder.joinpath(name).unlink()
                removed += 1
        self._seen.pop(queue, None)
        return removed

    @property
    def _folder(self) -> Path:
        return Path(self.data_folder_in)

    def _names(self, queue: str) -> Iterator[str]:
        """Give the names of a queue's messages, oldest first, after at most one look."""
        if not self._seen.get(queue):
            self._seen = self._list()
        names = self._seen.get(queue, deque())
        while names:
            yield names.popleft()

    def _list(self) -> dict[str, deque[str]]:
        """Look at the folder: the names of whole messages by queue, oldest first."""
        found: dict[str, deque[str]] = defaultdict(deque)
        try:
            names = sorted(os.listdir(self._folder))  # noqa: PTH208 - names alone, at a poll's pace
        except FileNotFoundError:
            _make(self._folder)
            return found
        oldest = f"{time.time_ns() - _TRANSIENT_NS:020}"
        for name in names:
            if name.startswith(".") or not name.endswith(".msg"):
                continue
            queue = name.partition(".")[2].removesuffix(".msg")
            if name < oldest and _is_transient(queue):
                self._folder.joinpath(name).unlink(missing_ok=True)
            else:
                found[queue].append(name)
        return found

    def _claim(self, name: str) -> Path | None:
        """Take a message out of every other reader's sight, or give None where one was faster."""
        claimed = self._folder / f".taken-{name}"
        try:
            return self._folder.joinpath(name).rename(claimed)
        except FileNotFoundError:
            return None

    def _read(self, claimed: Path, name: str) -> dict[str, Any] | None:
        """Read and remove a claimed message; one that is none is moved aside."""
        try:
            message: dict[str, Any] = loads(claimed.read_bytes().decode())
            # The consumer takes it apart like this, where an error would end the worker.
            virtual.Message(message, channel=self)
        except OSError as error:
            raise ChannelError(f"Cannot read message file {name!r}: {error.strerror}") from error
        except _UNREADABLE:
            self._set_aside(claimed, name)
            return None
        claimed.unlink(missing_ok=True)
        return message

    def _set_aside(self, path: Path, name: str) -> None:
        corrupt = self._folder / "corrupt"
        _make(corrupt)
        with contextlib.suppress(FileNotFoundError):
            path.rename(corrupt / name)
            event(logger, logging.ERROR, "broker_file_unreadable", file=name, moved_to=corrupt)

    def _table_path(self, exchange: str) -> Path:
        path: Path = self._exchange_file(exchange)  # type: ignore[attr-defined] # not in the stubs
        return path

    def get_table(  # type: ignore[override] # the stubs of the two bases disagree
        self, exchange: str
    ) -> list[exchange_queue_t]:
        """Read the bindings of an exchange; a table that cannot be read is moved aside."""
        path = self._table_path(exchange)
        try:
            return [exchange_queue_t(*row) for row in loads(path.read_bytes().decode())]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ChannelError(f"Cannot read {path}: {error.strerror}") from error
        except _UNREADABLE:
            # Every worker and client binds its queues again when it next connects.
            self._set_aside(path, path.name)
            return []

    def _queue_bind(
        self, exchange: str, routing_key: str | None, pattern: str | None, queue: str | None
    ) -> None:
        binding = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._table(exchange) as table:
            if binding not in table:
                table.insert(0, binding)

    def _delete(
        self,
        queue: str,
        exchange: str,
        routing_key: str,
        pattern: str,
        *_args: object,
        **_options: object,
    ) -> None:
        self._purge(queue)
        binding = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._table(exchange) as table, contextlib.suppress(ValueError):
            table.remove(binding)

    @contextlib.contextmanager
    def _table(self, exchange: str) -> Iterator[list[exchange_queue_t]]:
        """Change the bindings of an exchange with nobody else changing them meanwhile."""
        path = self._table_path(exchange)
        try:
            _make(path.parent)
            # The table itself is replaced by each change, so the lock needs a file that stays.
            with path.parent.joinpath(".lock").open("ab") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                table = self.get_table(exchange)
                before = list(table)
                yield table
                if table != before:
                    _write(path, dumps(table).encode())
        except OSError as error:
            raise ChannelError(f"Cannot write {path}: {error.strerror}") from error


class Transport(filesystem.Transport):
    """The transport of ``filesystem://`` URLs once `worker.brokers.prepare` has run."""

    Channel = Channel
    polling_interval = 0.05

    def __init__(self, client: Connection, **options: object) -> None:
        super().__init__(client, **options)
        # Stock Kombu remembers bindings for the whole process, whatever the folder, and so would
        # never write again one that its table lost.
        self.state = virtual.BrokerState()


class ResultBackend(FilesystemBackend):
    """The backend of ``file://`` URLs: a reader sees a whole result or none."""

    def set(self, key: str | bytes, value: str | bytes) -> None:
        """Store a result; stock Celery writes it in place, under the reader's eyes."""
        folder: bytes = self.path  # type: ignore[attr-defined] # not in the stubs
        path = Path(os.fsdecode(folder)) / os.fsdecode(key)
        _write(path, value.encode() if isinstance(value, str) else value)


def _is_transient(queue: str) -> bool:
    """Say whether a queue holds events or remote commands, which pile up once its reader died."""
    return queue.startswith("celeryev.") or queue.endswith(".celery.pidbox")


def _write(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all; the folder is made where it is missing."""
    hidden = path.with_name(f".{uuid.uuid4()}.part")
    try:
        try:
            hidden.write_bytes(content)
        except FileNotFoundError:
            _make(path.parent)
            hidden.write_bytes(content)
        hidden.rename(path)
    except OSError:
        hidden.unlink(missing_ok=True)
        raise


def _make(folder: Path) -> None:
    folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
