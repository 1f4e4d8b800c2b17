"""What an operator can set about a sweep."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from retention.operator import OperatorPolicy


class SharedPace(StrEnum):
    """How a store that lets one connection write at a time is swept.

    ``paced``: few threads a transaction, and after each a rest as long as it took; ``unpaced``:
    large transactions without a rest; ``auto``: paced while others write to the store.
    """

    AUTO = "auto"
    PACED = "paced"
    UNPACED = "unpaced"


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """Bounds of a sweep. Each has a default that suits a store of millions of threads.

    ``max_threads`` and ``max_share`` (of all threads, above 0 up to 1) refuse a plan above them;
    ``time_budget`` stops a run that lasts longer; ``orphan_grace`` is how long a write may wait
    for its checkpoint; ``batch_attempts`` how often a batch is tried before it is given up;
    ``allow_server_database`` sweeps a store that another program runs; ``filter_timeout`` is how
    long one live-thread filter may take over one batch.

    A batch does not begin while the store's server is above ``max_replica_lag`` or
    ``max_lock_waits``: it is asked every ``backoff``, for up to ``backoff_longest``, and the batch
    is put off then. ``threads_per_second`` and ``rest`` keep the transactions of one process
    apart; within a batch it rests for ``rest_longest`` at most.
    """

    batch_size: int = 500
    result_threads: int = 1000
    max_delete_rounds: int = 100
    batch_attempts: int = 5
    lease: timedelta = timedelta(seconds=300)
    orphan_grace: timedelta = timedelta(hours=1)
    tombstone_age: timedelta = timedelta(days=1)
    history: timedelta = timedelta(days=30)
    #: What one sweep does besides, at most: runs whose records it drops, batches whose deleted
    #: threads it looks at again, and ledger entries it looks at for threads that hold nothing.
    forget_runs: int = 20
    late_batches: int = 200
    bare_entries: int = 1000
    time_budget: timedelta | None = None
    max_threads: int | None = None
    max_share: float | None = None
    allow_server_database: bool = False
    #: What shortens the retention of the threads they match.
    policies: tuple[OperatorPolicy, ...] = ()
    filter_timeout: timedelta | None = None
    max_replica_lag: timedelta | None = None
    max_lock_waits: int | None = None
    backoff: timedelta = timedelta(seconds=5)
    backoff_longest: timedelta = timedelta(seconds=60)
    threads_per_second: int | None = None
    rest: timedelta = timedelta()
    rest_longest: timedelta = timedelta(seconds=60)
    shared_pace: SharedPace = SharedPace.AUTO
