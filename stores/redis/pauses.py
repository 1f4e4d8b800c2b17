"""The pause of a Redis store: one key beside the run log."""

import json
from typing import Any

from retention.brakes import Pause
from retention.errors import StoreError
from stores.redis.connection import Connection
from stores.redis.layout import LOG, instant, micros, text
from stores.redis.requests import Arg, one
from stores.redis.scripts import script


class RedisPauses:
    """Whether sweeps of a store are paused."""

    def __init__(self, connection: Connection) -> None:
        """Keep the pause through this connection."""
        self._connection = connection

    def put(self, pause: Pause) -> None:
        """Pause; an earlier pause is replaced."""
        until = None if pause.until is None else micros(pause.until)
        self._ask("pause_put", json.dumps([micros(pause.at), until, pause.by, pause.reason]))

    def take_off(self) -> bool:
        """End the pause; False where there is none."""
        return bool(self._ask("pause_off"))

    def current(self) -> Pause | None:
        """The pause, lapsed or not.

        Raises:
            StoreError: Its record cannot be read.
        """
        stored = self._ask("pause_read")
        if stored is None:
            return None
        try:
            at, until, by, reason = json.loads(text(stored))
            placed = instant(at)
            if placed is None:
                raise ValueError("it has no beginning")
            return Pause(placed, instant(until), by, reason)
        except (TypeError, ValueError, OverflowError) as error:
            raise StoreError(
                f"the pause in {text(LOG)}pause cannot be read ({error}): "
                "`retention sweep pause` writes it anew"
            ) from error

    def _ask(self, name: str, *args: Arg) -> Any:
        return self._connection.run(one(script(name, "log"), LOG, *args))
