"""Reading the run log on Redis."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from retention.runs import Batch, BatchKind, Counts, Latest, Run, Source
from stores.redis.connection import Connection
from stores.redis.deliveries import RedisDeliveries
from stores.redis.layout import LOG, micros, raw, text
from stores.redis.pauses import RedisPauses
from stores.redis.requests import Arg, one
from stores.redis.run_records import batch_from, runs_of, series_of
from stores.redis.scripts import script
from stores.runlog.records import counts_of
from stores.runlog.totals import counters, latest

#: Batches read at once where all of a run are: a page of them stays within a megabyte, and a result
#: has room for no more threads than a few of them hold.
_BATCHES_A_PAGE = 5
#: The same where only their counts are read.
_COUNTS_A_PAGE = 500


class RedisRunReader:
    """What the run log says."""

    def __init__(self, connection: Connection) -> None:
        """Read through this connection."""
        self._connection = connection
        self.deliveries = RedisDeliveries(connection)
        self.pauses = RedisPauses(connection)

    def live(self) -> Run | None:
        """The run that is not closed, if any."""
        return next(iter(runs_of(self._ask("log_live"))), None)

    def get(self, run_id: str) -> Run | None:
        """One run."""
        return next(iter(runs_of(self._ask("log_get", raw(run_id)))), None)

    def history(self, limit: int, after: Run | None = None) -> list[Run]:
        """The newest runs, newest first; or those that come ``after`` one in that order."""
        end = (-micros(after.started_at), raw(after.run_id)) if after else ("", "")
        return runs_of(self._ask("log_history", limit, *end, prelude="order"))

    def unpublished(self, limit: int) -> list[Run]:
        """Closed runs whose result was not handed out yet."""
        return runs_of(self._ask("log_unpublished", limit))

    def late_sources(self, before: datetime, limit: int) -> list[Source]:
        """Batches with deleted threads not looked at again yet, or not since they aged."""
        members = (text(member) for member in self._ask("log_late", micros(before), limit))
        parts = (member.partition(":") for member in members)
        return [Source(run_id, int(number)) for number, _, run_id in parts]

    def batch(self, run_id: str, number: int) -> Batch | None:
        """One batch."""
        rows = self._rows(run_id, number, 1)
        return batch_from(run_id, rows[0]) if rows else None

    def batches(self, run_id: str) -> Iterator[Batch]:
        """All batches of a run, read page by page."""
        first = 0
        while page := self._rows(run_id, first, _BATCHES_A_PAGE):
            yield from (batch_from(run_id, rows) for rows in page)
            first += _BATCHES_A_PAGE

    def open_batches(self, run_id: str, now: datetime, *, unclaimed: bool) -> list[int]:
        """Numbers of open batches whose claim ran out; with ``unclaimed`` the never claimed too."""
        above = -1 if unclaimed else 0
        return sorted(map(int, self._ask("log_open_batches", raw(run_id), micros(now), above)))

    def count_open(self, run_id: str) -> int:
        """Batches that are not done."""
        return int(self._ask("log_count", raw(run_id))[0])

    def count_batches(self, run_id: str) -> int:
        """All batches of a run."""
        return int(self._ask("log_count", raw(run_id))[1])

    def progress(self, run_id: str) -> Counts:
        """What the batches of a run have counted so far."""
        return self._sum(run_id)[0]

    def totals(self) -> Mapping[str, int]:
        """Counters over all runs that ever ended, by the names ``Counts`` gives them."""
        return counters(series_of(self._ask("log_totals")))

    def latest(self) -> Latest:
        """What is known of the latest runs, whether their records are still there or not."""
        return latest(series_of(self._ask("log_totals")))

    def _sum(self, run_id: str) -> tuple[Counts, int]:
        """The counts of all batches of a run, and how many candidates they examined."""
        counts, examined, first = Counts(), 0, 0
        while rows := self._ask("log_counts", raw(run_id), first, _COUNTS_A_PAGE):
            for kind, stored in rows:
                batch = counts_of(text(stored or b""), run_id)
                counts += batch
                examined += 0 if kind == raw(BatchKind.LATE) else batch.everything()
            first += _COUNTS_A_PAGE
        return counts, examined

    def _rows(self, run_id: str, first: int, limit: int) -> list[Any]:
        pages = self._ask("log_batches", raw(run_id), first, limit)
        return [rows for rows in pages if rows is not None]

    def _ask(self, name: str, *args: Arg, prelude: str | None = None) -> Any:
        """Run a script of the run log; its answer."""
        preludes = ("log",) if prelude is None else ("log", prelude)
        return self._connection.run(one(script(name, *preludes), LOG, *args))
