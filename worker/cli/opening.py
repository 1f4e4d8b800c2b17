"""Opening the store that a command works on."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout

from retention.sweep import Dispatch, Sweep, SweepResult
from stores import Access
from worker.cli.invocation import Invocation
from worker.wiring import Plugins, opened_sweep


class NoDispatch:
    """Sends nothing and hands out no result: the pool's next tick does both."""

    def batches(self, run_id: str, numbers: Iterable[int]) -> None:
        """Leave the batches to the pool."""

    def finish(self, run_id: str) -> None:
        """Leave the closing to the pool."""

    def publish(self, result: SweepResult) -> bool:
        """Leave the result to be handed out by the pool."""
        return False


@contextmanager
def opened(
    invocation: Invocation,
    access: Access,
    dispatch: Dispatch | None = None,
    plugins: Plugins = Plugins.NONE,
) -> Iterator[Sweep]:
    """Open the store of an invocation; everything is closed at the end.

    While filters or hooks are loaded, what is printed goes to stderr: stdout has the answer alone.

    Raises:
        ConfigurationError: A setting is wrong, or the store cannot be opened with this access.
        StoreUnavailableError: The store cannot be reached.
    """
    store, sweep = invocation.store(), invocation.sweep()
    if invocation.storage is not None:
        # The name that was set is that of the deployment's own store.
        sweep = sweep.model_copy(update={"store_name": None})
    sends = dispatch or NoDispatch()
    printed = nullcontext() if plugins is Plugins.NONE else redirect_stdout(sys.stderr)
    with printed, opened_sweep(store, sweep, sends, access, plugins=plugins) as assembled:
        yield assembled
