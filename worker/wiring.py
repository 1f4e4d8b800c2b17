"""Putting a sweep together from settings: the only place that knows all parts."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import Enum

from retention.events import event
from retention.filters import Grace, LiveThreadFilter, UnaskedFilter
from retention.hooks import Hooks
from retention.operator import metadata_keys
from retention.ports import Clock
from retention.sweep import Dispatch, Metrics, NoMetrics, Sweep, SweepOptions
from retention.sweep.pacing import batch_size_at
from stores import Access, Store, StoreOptions, open_store
from stores.options import now
from worker.filters import askable_filters, known_filters, select_filters
from worker.hooks import hooks_of, tellable_hooks
from worker.settings import StoreSettings, SweepSettings
from worker.settings.policies import checked_against

log = logging.getLogger("retention.sweep")


class Plugins(Enum):
    """How much of other people's code, filters and hooks, is loaded into a sweep."""

    #: None: for what deletes nothing, or asks nobody. A filter that is asked all the same fails.
    NONE = "none"
    #: Filters, to show what they say; one that cannot be made says so when it is asked.
    ASKED = "asked"
    #: Hooks, to be told what an erase deleted; one that cannot be loaded says so when it is told.
    TOLD = "told"
    #: Filters and hooks: a sweep is to run, and none may be missing.
    ALL = "all"


def sweep_options(settings: SweepSettings) -> SweepOptions:
    """The options of a sweep, from its settings."""
    rest, rate = settings.longest_rest, settings.max_threads_per_second
    return SweepOptions(
        # At a low rate a whole batch would outlast its task.
        batch_size=batch_size_at(settings.batch_size, rate, rest),
        result_threads=settings.result_threads,
        max_delete_rounds=settings.max_delete_rounds,
        batch_attempts=settings.batch_attempts,
        lease=timedelta(seconds=settings.lease_seconds),
        orphan_grace=timedelta(seconds=settings.orphan_grace_seconds),
        history=timedelta(days=settings.history_days),
        time_budget=_seconds(settings.time_budget_seconds),
        max_threads=settings.max_threads,
        max_share=settings.max_share,
        policies=settings.policies,
        allow_server_database=settings.allow_server_database,
        filter_timeout=settings.filter_timeout,
        max_replica_lag=_seconds(settings.max_replica_lag_seconds),
        max_lock_waits=settings.max_lock_waits,
        backoff_longest=rest,
        threads_per_second=rate,
        rest=settings.pause,
        rest_longest=rest,
        shared_pace=settings.sqlite_pace,
    )


def _seconds(number: int | None) -> timedelta | None:
    return None if number is None else timedelta(seconds=number)


def store_options(
    store: StoreSettings, sweep: SweepSettings, access: Access, clock: Clock = now
) -> StoreOptions:
    """How to open the store, from its settings, the sweep's timeouts and what policies ask for.

    Raises:
        ConfigurationError: A policy is above the platform's retention.
    """
    policies = checked_against(sweep.policies, store.policy)
    return StoreOptions(
        policy=store.policy,
        access=access,
        metadata_keys=metadata_keys(policies),
        compress_above=store.inline_compress_bytes,
        clock=clock,
        statement_timeout=timedelta(seconds=sweep.statement_timeout_seconds),
        lock_timeout=timedelta(seconds=sweep.lock_timeout_seconds),
    )


@contextmanager
def opened_sweep(
    store: StoreSettings,
    sweep: SweepSettings,
    dispatch: Dispatch,
    access: Access = Access.WRITE,
    clock: Clock = now,
    plugins: Plugins = Plugins.ALL,
) -> Iterator[Sweep]:
    """Open the store and put its sweep together; everything is closed at the end.

    Raises:
        ConfigurationError: The store is none, cannot be opened with this access, or a filter or
            hook that is needed is unknown or cannot be loaded.
        StoreUnavailableError: The store cannot be reached.
    """
    options = store_options(store, sweep, access, clock)
    with open_store(store.address, settings=options) as opened:
        if access is not Access.READ:
            _warn_of_policies(opened, sweep)
        yield assemble(opened, store, sweep, dispatch, clock, plugins)


def _warn_of_policies(opened: Store, sweep: SweepSettings) -> None:
    """Say which policies shorten a horizon that is not swept here."""
    unused = [p.name for p in sweep.policies if p.waiting_minutes is not None]
    if unused and opened.waiting_skipped is not None:
        why, names = opened.waiting_skipped, ",".join(unused)
        event(log, logging.WARNING, "waiting_policies_unused", policies=names, reason=why)


def assemble(
    opened: Store,
    store: StoreSettings,
    sweep: SweepSettings,
    dispatch: Dispatch,
    clock: Clock = now,
    plugins: Plugins = Plugins.ALL,
) -> Sweep:
    """Put the sweep of an opened store together.

    Raises:
        ConfigurationError: A filter or hook that is needed is unknown or cannot be loaded.
    """
    return Sweep(
        opened,
        store.policy,
        _filters(opened, sweep, clock, plugins),
        dispatch,
        clock,
        sweep_options(sweep),
        metrics=metrics_of(store, sweep),
        hooks=_hooks(store, sweep, plugins),
    )


def _hooks(store: StoreSettings, sweep: SweepSettings, plugins: Plugins) -> Hooks:
    if plugins is Plugins.ALL:
        return hooks_of(store, sweep)
    return tellable_hooks(store, sweep) if plugins is Plugins.TOLD else Hooks()


def _filters(
    opened: Store, sweep: SweepSettings, clock: Clock, plugins: Plugins
) -> list[LiveThreadFilter]:
    minutes = sweep.flows_engine_grace_minutes
    grace = None if minutes is None else Grace(timedelta(minutes=minutes), clock)
    if plugins is Plugins.ALL:
        return select_filters(known_filters(grace), sweep.filters, opened)
    if plugins is Plugins.ASKED:
        return askable_filters(grace, sweep.filters, opened)
    return [UnaskedFilter("none", "no filter was loaded, so nothing may be deleted")]


def metrics_of(store: StoreSettings, sweep: SweepSettings) -> Metrics:
    """Who is told that a run has ended: the gateway, where one is set."""
    if sweep.pushgateway_url is None:
        return NoMetrics()
    from worker.metrics.gateway import Gateway
    from worker.metrics.naming import store_name
    from worker.metrics.pushing import PushedMetrics

    gateway = Gateway(sweep.pushgateway_url, sweep.pushgateway_timeout_seconds)
    return PushedMetrics(gateway, sweep.metrics_prefix, store_name(store, sweep))
