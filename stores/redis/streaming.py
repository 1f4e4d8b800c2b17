"""Calls to one server, the next one under way while a reply is digested.

A pipeline is worked off by the server in one go, and everybody else waits for its end. Here each
call is sent by itself: others' calls come in between, and the server works while the client does.
"""

from collections.abc import Iterator
from typing import Any

from hiredis import pack_command
from redis.exceptions import ConnectionError as LostError
from redis.exceptions import ResponseError

from stores.redis.requests import Call, command


class Stream:
    """The replies of calls, in order. It ends early where the server is lost, or not ready.

    ``unanswered`` are the calls sent so far without a reply: they may have been carried out.
    """

    def __init__(self, client: Any, calls: Iterator[Call], under_way: int) -> None:
        """Send through a connection of this client's pool, so many calls at once."""
        self._under_way = under_way
        self._pool = client.connection_pool
        self._calls = calls
        self.unanswered: list[Call] = []

    def __iter__(self) -> Iterator[tuple[Call, Any]]:
        """Each call with its reply, which may be an error.

        Raises:
            redis.exceptions.TimeoutError: The server did not answer in time.
        """
        try:
            link = self._pool.get_connection()
        except LostError:
            return
        try:
            self._send(link)
            while self.unanswered:
                reply = _reply(link)
                yield self.unanswered.pop(0), reply
                # One that failed is sent again by whoever reads this, and so are those behind it:
                # before any other is sent, so that all are carried out in order.
                if not (isinstance(reply, Exception) and self.unanswered):
                    self._send(link)
        except LostError:
            return
        finally:
            if self.unanswered:  # what is still to come must not be taken for another's reply
                link.disconnect()
            self._pool.release(link)

    def _send(self, link: Any) -> None:
        while len(self.unanswered) < self._under_way:
            call = next(self._calls, None)
            if call is None:
                return
            self.unanswered.append(call)
            # redis-py looks at each argument of a command before it packs all with this.
            link.send_packed_command([pack_command(command(call))])


def _reply(link: Any) -> Any:
    try:
        return link.read_response()
    except LostError:  # also one that the server answers with: it is loading, say
        raise
    except ResponseError as error:
        return error
