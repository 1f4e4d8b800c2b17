"""How fast one process deletes: threads per transaction, and the rest between transactions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from retention.abilities import SharesOneWriter, SparesWriters
from retention.sweep.options import SharedPace, SweepOptions

#: Transactions that have to go well at one size before the next size is tried.
GOOD_BEFORE_GROWTH = 4

#: Threads of one transaction where others wait for its end.
SHARED_THREADS = 50

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class TransactionSize:
    """How many threads one transaction may settle; ``threads`` of None is a whole batch.

    ``good`` counts the transactions that went well at this size.
    """

    threads: int | None = None
    good: int = 0

    def after_timeout(self, tried: int) -> "TransactionSize":
        """Half of what ran out of time."""
        return TransactionSize(max(1, tried // 2))

    def after_success(self, settled: int, whole: int) -> "TransactionSize":
        """The double after enough that went well; no limit once a ``whole`` batch fits again.

        A transaction with fewer threads proves nothing.
        """
        if self.threads is None or settled < self.threads:
            return self
        if self.good + 1 < GOOD_BEFORE_GROWTH:
            return TransactionSize(self.threads, self.good + 1)
        doubled = 2 * self.threads
        return TransactionSize() if doubled >= whole else TransactionSize(doubled)


def next_start(
    began: datetime, ended: datetime, threads: int, rate: int | None, rest: timedelta
) -> datetime:
    """When the next transaction may begin, at so many threads per second and after this rest."""
    by_rate = ended if rate is None else began + threads * _SECOND / rate
    return max(ended + rest, by_rate)


def batch_size_at(size: int, rate: int | None, longest: timedelta) -> int:
    """The largest batch up to a size that this rate settles in that time; at least one thread."""
    return size if rate is None else max(1, min(size, int(rate * longest / _SECOND)))


def is_shared(deleter: object, options: SweepOptions) -> bool:
    """Whether transactions are to be small, each with a rest, for others who wait to write."""
    if not isinstance(deleter, SharesOneWriter) or options.shared_pace is SharedPace.UNPACED:
        return False
    return options.shared_pace is SharedPace.PACED or deleter.others_write()


def most_at_once(deleter: object) -> int | None:
    """How many threads a transaction may settle at most, for the sake of others who write."""
    return deleter.threads_at_once() if isinstance(deleter, SparesWriters) else None


@dataclass(slots=True)
class Pace:
    """The pace of one process.

    Kept in memory alone: what is too much for a server changes by the hour, and a process that
    begins anew finds it out with one transaction that is rolled back.
    """

    size: TransactionSize = field(default_factory=TransactionSize)
    _due: datetime | None = None
    _rest_left: timedelta = timedelta()

    def begin_batch(self, options: SweepOptions) -> None:
        """A batch may rest so long in all: its task has to end within its time limit."""
        self._rest_left = options.rest_longest

    def limit(self, options: SweepOptions, *, shared: bool = False, most: int | None = None) -> int:
        """How many threads the next transaction may settle: no more than a second's worth."""
        whole = min(options.batch_size, SHARED_THREADS) if shared else options.batch_size
        bounds = (most, self.size.threads, options.threads_per_second)
        return min(whole, *(bound or whole for bound in bounds))

    def rest(self, now: datetime, sleep: Callable[[float], None]) -> None:
        """Sleep until the next transaction may begin."""
        if self._due is None:
            return
        left = min(self._due - now, self._rest_left)
        if left > timedelta():
            self._rest_left -= left
            sleep(left / _SECOND)

    def settled(
        self,
        threads: int,
        began: datetime,
        ended: datetime,
        options: SweepOptions,
        *,
        shared: bool = False,
    ) -> None:
        """A transaction that began and ended then went well.

        Where others wait to write, a rest follows that is as long as it took.
        """
        self.size = self.size.after_success(threads, options.batch_size)
        rate, rest = options.threads_per_second, options.rest
        if shared:
            rest = max(rest, ended - began)
        if rate is not None or rest:
            self._due = next_start(began, ended, threads, rate, rest)

    def timed_out(self, threads: int) -> None:
        """A transaction of so many threads ran out of time."""
        self.size = self.size.after_timeout(threads)
