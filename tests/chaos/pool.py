"""One worker, one beat and threads to sweep: what each fault of a part is tried on."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from stores import Store
from tests.acceptance.deployment import Deployment
from tests.acceptance.nodes import BeatProcess, WorkerProcess
from tests.chaos.census import census_of
from tests.chaos.run_log import assert_deleted_once
from tests.seeding import seed_threads
from tests.waiting import eventually

#: Leases of seconds, so that a test takes seconds; a tick each second.
SETTINGS = {
    "SWEEP_BATCH_SIZE": "2",
    "SWEEP_SOFT_TIME_LIMIT_SECONDS": "2",
    "SWEEP_LEASE_SECONDS": "3",
    "SWEEP_VISIBILITY_TIMEOUT_SECONDS": "4",
    "SWEEP_SCHEDULE": "1",
    "SWEEP_JITTER_SECONDS": "0",
}
_REPAIR_SECONDS = 90


class Pool:
    """A worker and a beat of a deployment, and what they are to delete."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._census = census_of(deployment.provider, deployment.address)
        env, folder = deployment.env, deployment.folder
        self.worker = WorkerProcess("worker", folder, env, ("-c", "1"))
        self.beat = BeatProcess("beat", folder, env)
        self.due: list[str] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start both, whatever they meet; at the end both still run."""
        try:
            self.worker.start()
            self.beat.start()
            yield
            assert (self.worker.status, self.beat.status) == ("running", "running")
        finally:
            self.worker.kill()
            self.beat.kill()

    def seed(self, prefix: str, threads: int = 60) -> None:
        """Write threads that are due."""
        with self._deployment.opened() as store:
            long_ago = datetime.now(UTC) - timedelta(days=30)
            self.due += seed_threads(store.saver, prefix, threads, long_ago)

    def begin(self, prefix: str) -> None:
        """Wait until some of these threads are gone, but not all."""
        before = self._census.count(prefix)
        eventually(lambda: self._census.count(prefix) < before, "a sweep begins", _REPAIR_SECONDS)

    def says(self, *words: str) -> None:
        """Wait until a line of worker or beat holds one of these words."""

        def is_said() -> bool:
            said = self.worker.logs() + self.beat.logs()
            return any(word in said for word in words)

        eventually(is_said, f"somebody says {words}", _REPAIR_SECONDS)

    def ends(self) -> None:
        """Wait until all are gone and counted; each was deleted once."""
        with self._deployment.opened() as store:
            eventually(lambda: self._is_done(store), "all is swept", _REPAIR_SECONDS)
            assert_deleted_once(store, self.due)
        assert self._census.rows() == {}

    def _is_done(self, store: Store) -> bool:
        if self._census.rows():
            return False
        live = store.runs.live()
        return live is None or live.planned == 0
