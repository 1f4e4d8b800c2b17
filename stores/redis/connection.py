"""Running operations on a server, a sentinel's master or a cluster, sync and async.

Both connections differ only in what they await. Their clients send a request again where its
answer was lost, so every script must come to the same when it runs twice.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from redis.cluster import RedisCluster
from redis.exceptions import (
    AskError,
    ClusterError,
    NoScriptError,
    RedisClusterException,
    TryAgainError,
)
from redis.exceptions import ConnectionError as LostError

from stores.redis.errors import translate, translated
from stores.redis.layout import LOG
from stores.redis.requests import Call, Result, Steps, command, one
from stores.redis.room import Crowd, Room
from stores.redis.scripts import script
from stores.redis.streaming import Stream

#: What a node says that is gone, or that has a slot no longer or not yet.
_ELSEWHERE = (LostError, ClusterError, RedisClusterException, AskError, TryAgainError)


class _Own(threading.local):
    """The client of one thread, of the process that made it: a forked child makes its own."""

    process = 0
    client: Any = None


class Connection:
    """Runs operations through a sync client of redis-py."""

    def __init__(self, client: Any) -> None:
        """Use this client: ``Redis`` or ``RedisCluster``, with replies as bytes."""
        self.client = client
        self._own = _Own()
        self._crowd = Crowd()

    def look_around(self) -> None:
        """Find out whether others call the server.

        In a cluster, where each node has its own callers, they are taken to.
        """
        if not isinstance(self.client, RedisCluster):
            self._crowd.look(self.run(one(script("calls"), LOG)))

    @property
    def room(self) -> Room:
        """How much a sweep may ask of the server at once."""
        return self._crowd.room

    def run(self, steps: Steps[Result]) -> Result:
        """Carry out an operation.

        Raises:
            StoreUnavailableError: The server cannot be reached, is not ready, or is full.
            StoreError: It refuses a call.
            ConfigurationError: It refuses the user.
        """
        try:
            calls = next(steps)
            while True:
                calls = steps.send(self.send(calls))
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            steps.close()

    def send(self, calls: Sequence[Call]) -> list[Any]:
        """Send calls together; their replies in order."""
        with translated():
            replies = self._sent(calls)
            if not _failed(replies):
                return replies
            for i in _lost(replies):
                replies[i] = self._sent([calls[i]])[0]
            missing = _without_script(calls, replies)
            if missing:
                for script in {calls[i].script for i in missing}:
                    self.client.script_load(script.text)
                again = self._sent([calls[i] for i in missing])
                for i, reply in zip(missing, again, strict=True):
                    replies[i] = reply
        return _checked(replies)

    def stream(self, calls: Iterable[Call]) -> Iterator[Any]:
        """The replies of calls, in order, each digested while the server works on the next call.

        Others' calls come in between, as they do not in what is sent together. In a cluster each
        call waits for the reply before it. Raises as ``run`` does.
        """
        left = iter(calls)
        if not isinstance(self.client, RedisCluster):
            stream = Stream(self.client, self._counted(left), self.room.under_way)
            with translated():
                for call, reply in stream:
                    yield self.send([call])[0] if _failed([reply]) else reply
            left = chain(stream.unanswered, left)
        for call in left:
            yield self.send([call])[0]

    def _counted(self, calls: Iterable[Call]) -> Iterator[Call]:
        for call in calls:
            self._crowd.send(1)
            yield call

    def _sent(self, calls: Sequence[Call]) -> list[Any]:
        self._crowd.send(len(calls))
        if len(calls) == 1:
            try:
                return [self._for_one().execute_command(*command(calls[0]))]
            except NoScriptError as error:
                return [error]
        pipeline = self.client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command(*command(call), **self._target(call))
        replies: list[Any] = pipeline.execute(raise_on_error=False)
        return replies

    def _for_one(self) -> Any:
        """A client that keeps one connection of the pool for this thread.

        Taking one from the pool and giving it back is an eighth of what a call costs.
        """
        own, process = self._own, os.getpid()
        if own.process != process:
            client: Any = self.client
            is_cluster = isinstance(self.client, RedisCluster)
            own.client, own.process = client if is_cluster else client.client(), process
        return own.client

    def _target(self, call: Call) -> dict[str, Any]:
        """Where in a cluster a pipeline sends a call.

        Left alone, this client (not the async one) asks a node for each call which of its
        arguments are keys.
        """
        client: Any = self.client
        if isinstance(self.client, RedisCluster):
            return {"target_nodes": client.get_node_from_key(call.start)}
        return {}


class AsyncConnection:
    """Runs operations through an async client of redis-py."""

    def __init__(self, client: Any) -> None:
        """Use this client, made in the loop that it runs in."""
        self.client = client

    async def run(self, steps: Steps[Result]) -> Result:
        """Carry out an operation; raises as the sync connection does."""
        try:
            calls = next(steps)
            while True:
                calls = steps.send(await self.send(calls))
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            steps.close()

    async def send(self, calls: Sequence[Call]) -> list[Any]:
        """Send calls together; their replies in order."""
        with translated():
            replies = await self._sent(calls)
            if not _failed(replies):
                return replies
            for i in _lost(replies):
                replies[i] = (await self._sent([calls[i]]))[0]
            missing = _without_script(calls, replies)
            if missing:
                for script in {calls[i].script for i in missing}:
                    await self.client.script_load(script.text)
                again = await self._sent([calls[i] for i in missing])
                for i, reply in zip(missing, again, strict=True):
                    replies[i] = reply
        return _checked(replies)

    async def _sent(self, calls: Sequence[Call]) -> list[Any]:
        if len(calls) == 1:
            try:
                return [await self.client.execute_command(*command(calls[0]))]
            except NoScriptError as error:
                return [error]
        pipeline = self.client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command(*command(call))
        replies: list[Any] = await pipeline.execute(raise_on_error=False)
        return replies


def _failed(replies: Sequence[Any]) -> bool:
    """Whether any reply is an error."""
    return any(isinstance(reply, Exception) for reply in replies)


def _lost(replies: Sequence[Any]) -> list[int]:
    """Positions of calls that a node of a cluster did not answer, or no longer answers.

    Sent alone, such a call finds the node that has its slot by now; a pipeline does not look.
    """
    return [i for i in range(len(replies)) if isinstance(replies[i], _ELSEWHERE)]


def _without_script(calls: Sequence[Call], replies: Sequence[Any]) -> list[int]:
    """Positions of calls whose server does not know their script (yet, or any more)."""
    return [i for i in range(len(calls)) if isinstance(replies[i], NoScriptError)]


def _checked(replies: list[Any]) -> list[Any]:
    for reply in replies:
        if isinstance(reply, Exception):
            raise translate(reply) from reply
    return replies
