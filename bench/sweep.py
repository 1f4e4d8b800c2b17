"""The sweep against the official saver's loop and against bare batched deletes."""

import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import perf_counter, process_time

from bench.measure import Contender, report, take_turns
from bench.subjects import Subject
from retention.filters import FilterRegistry, LiveThreadFilter
from retention.policy import RetentionPolicy
from retention.ports import CheckpointStore
from retention.sweep import LocalDispatch, Sweep, SweepOptions, run_sweep
from retention.sweep.plan import candidates
from stores import Access, StoreOptions, open_store

_NOW = datetime.now(UTC)
#: When threads were written that are past every horizon.
LONG_AGO = _NOW - timedelta(days=30)
_JUST_NOW = _NOW - timedelta(minutes=5)

#: Chooses the filters of a sweep.
Choose = Callable[[CheckpointStore], list[LiveThreadFilter]]


def compare_deletes(subject: Subject, threads: int, checkpoints: int, rounds: int) -> None:
    """All threads due: the official loop, the bare limit, and the sweep end to end."""
    ids: list[str] = []
    looped = max(1, int(threads * subject.loop_share))

    def prepare() -> None:
        ids[:] = subject.seed(threads, checkpoints, LONG_AGO)

    def prepare_loop() -> None:
        ids[:] = subject.seed_loop(threads, checkpoints, LONG_AGO)

    def sweep() -> None:
        sweep_once(subject.address, expected=threads)

    contenders = [
        Contender("official loop", prepare_loop, lambda: subject.loop(ids), looped),
        Contender("raw limit", prepare, lambda: subject.raw(ids), threads),
        Contender("sweep", prepare, sweep, threads),
    ]
    title = f"{threads:,} threads of {checkpoints} checkpoints, all due"
    report(title, contenders, take_turns(contenders, rounds), "sweep")


def compare_idle(subject: Subject, threads: int, checkpoints: int, rounds: int) -> None:
    """Nothing due: a sweep against one bare scan of the index that a plan reads."""
    subject.seed(threads, checkpoints, _JUST_NOW)

    def sweep() -> None:
        sweep_once(subject.address, expected=0)

    contenders = [
        Contender("index scan", lambda: None, subject.scan, threads),
        Contender("sweep", lambda: None, sweep, threads),
    ]
    title = f"{threads:,} threads of {checkpoints} checkpoints, none due"
    report(title, contenders, take_turns(contenders, rounds), "sweep")


def compare_scale(subject: Subject, threads: int, checkpoints: int) -> None:
    """Threads per second of a sweep at 10,000 threads and each power of ten up to some number."""
    for size in (10**power for power in range(4, len(str(threads)))):
        subject.seed(size, checkpoints, LONG_AGO)
        began, at_work = perf_counter(), process_time()
        sweep_once(subject.address, expected=size)
        seconds, own = perf_counter() - began, process_time() - at_work
        print(
            f"{size:,} threads: {size / seconds:,.0f} a second, "
            f"{1e6 * own / size:.1f} microseconds of this process each"
        )


def compare_memory(subject: Subject, threads: int, checkpoints: int) -> None:
    """Peak memory of a plan, at 2,000 threads and at all of them."""
    peaks = {}
    for count in (2_000, threads):
        subject.seed(count, checkpoints, LONG_AGO)
        peaks[count] = plan_peak(subject.address)
        print(f"{count:,} candidates planned: peak {peaks[count] / 1e6:.1f} MB")
    print(f"ratio of the peaks: {peaks[threads] / peaks[2_000]:.2f}")


def plan_peak(address: str) -> int:
    """Peak of Python's memory while a store is planned, in bytes."""
    with open_store(address, settings=StoreOptions(access=Access.WRITE)) as store:
        sweep = Sweep(store, RetentionPolicy(), [], LocalDispatch(), lambda: _NOW)
        tracemalloc.start()
        for _ in candidates(store.threads, sweep.rule(sweep.policy, _NOW), 500):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def flows_engine(store: CheckpointStore) -> list[LiveThreadFilter]:
    """The filter that asks a store for interrupts."""
    return FilterRegistry().select(["flows-engine"], store)


def sweep_once(address: str, expected: int, choose: Choose = flows_engine) -> None:
    """Open the store, sweep it with these filters, and check that all went."""
    with open_store(address, settings=StoreOptions(access=Access.WRITE)) as store:
        local = LocalDispatch()
        options = SweepOptions(late_batches=0, filter_timeout=timedelta(seconds=60))
        clock = lambda: datetime.now(UTC)  # noqa: E731 - the sweep's
        sweep = Sweep(store, RetentionPolicy(), choose(store), local, clock, options)
        result = run_sweep(sweep, local, f"bench-{datetime.now(UTC).isoformat()}")
        swept = result.to_json()["swept_count"]
    if swept != expected:
        raise SystemExit(f"the sweep deleted {swept} threads instead of {expected}")
