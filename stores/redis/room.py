"""How much a sweep asks of a server at once: while others call it, little, for they wait meanwhile.

A server works off one call after the other. Its own count of calls, less those that were sent from
here, says whether there is anybody else.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Room:
    """Threads that a call deletes, reads of an index, or looks at; and calls under way at once."""

    deletes: int
    reads: int
    looks: int
    under_way: int


#: Half a millisecond of the server, and the next call there when it is done.
AMPLE = Room(deletes=32, reads=64, looks=100, under_way=2)
#: A sixth of a millisecond, and none before the reply to the last: others come in between.
NARROW = Room(deletes=8, reads=24, looks=40, under_way=1)

#: How long others are taken to be there after a call of theirs was seen.
_REMEMBERED_SECONDS = 60.0
#: So many calls between two looks are no agent at work: a metrics scrape, an operator's command.
_STRAY_CALLS = 3


class Crowd:
    """Whether others call the server. Until two looks were compared they are taken to."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is known yet; the clock counts seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._own = 0
        self._looked: tuple[int, int] | None = None
        self._others_until: float | None = None

    def send(self, calls: int) -> None:
        """So many calls are sent from here."""
        with self._lock:
            self._own += calls

    def look(self, all_calls: int) -> None:
        """The server has carried out so many calls, whoever sent them; a restart begins anew."""
        with self._lock:
            before, self._looked = self._looked, (all_calls, self._own)
            if before is None or all_calls < before[0]:
                return
            others = all_calls - before[0] - (self._own - before[1])
            now = self._clock()
            if others > _STRAY_CALLS:
                self._others_until = now + _REMEMBERED_SECONDS
            elif self._others_until is None:
                self._others_until = now

    @property
    def room(self) -> Room:
        """What may be asked at once now."""
        until = self._others_until
        return AMPLE if until is not None and until <= self._clock() else NARROW
