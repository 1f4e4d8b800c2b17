"""One deployment: settings, the commands an operator types, and its workers."""

import json
import os
import subprocess
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from celery.__main__ import main as celery

from stores import Access, Store, StoreOptions, open_store
from tests import forked
from tests.acceptance.nodes import LocalWorker, WorkerProcess

# What a developer's shell may hold must not reach a deployment of the tests.
_PREFIXES = ("LLM_PROVIDER_", "SWEEP_", "CELERY_", "REDIS_URL", "DATABASE_URL", "FLOW_CHECKPOINT_")

#: What a command did: its status, its stdout and its stderr.
Done = subprocess.CompletedProcess[str]


@dataclass
class Deployment:
    """Where the store, the broker and the results are, and what else is set."""

    folder: Path
    provider: str
    address: str
    broker: str
    settings: dict[str, str] = field(default_factory=dict)
    workers: list[LocalWorker] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        """The environment of every process."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_PREFIXES)}
        return {**kept, **self.variables}

    @property
    def variables(self) -> dict[str, str]:
        """The settings alone."""
        return {
            "CELERY_BROKER_URL": self.broker,
            "LLM_PROVIDER_CHECKPOINT": self.provider,
            "LLM_PROVIDER_CHECKPOINT_CONN_STRING": self.address,
            **self.settings,
        }

    def opened(self) -> AbstractContextManager[Store]:
        """The store, for a look."""
        return open_store(self.address, settings=StoreOptions(access=Access.WRITE))

    def start_worker(self, name: str, *options: str) -> LocalWorker:
        """Start a worker and wait until it takes tasks."""
        process = WorkerProcess(name, self.folder, self.env, options or ("--concurrency", "1"))
        worker = LocalWorker(process, None)
        self.workers.append(worker)
        process.start()
        process.ready()
        return worker

    def run(self, *args: str, **settings: str) -> Done:
        """Run `celery -A worker` with these arguments, and these settings changed."""
        env = {**self.env, **settings}
        done = forked.run(celery, "-A", "worker", *args, folder=self.folder, env=env)
        return Done(args, *done)

    def call(self, **kwargs: object) -> str:
        """Ask for a sweep as an operator does; gives the id that was printed."""
        options = ("--kwargs", json.dumps(kwargs)) if kwargs else ()
        done = self.run("call", "retention.sweep", *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def result(self, task_id: str) -> dict[str, Any]:
        """Wait for a sweep's result as an operator does."""
        done = self.run("result", task_id)
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def logs(self) -> str:
        """What all workers wrote."""
        return "\n".join(worker.logs() for worker in self.workers)

    def close(self) -> list[WorkerProcess]:
        """Ask all workers to end; gives those that need not be waited for now."""
        processes = [worker.container for worker in self.workers]
        for process in processes:
            process.ask_to_end()
        if self.broker.startswith("filesystem"):
            return processes
        # They would take the messages of the next test, which has the same server.
        for process in processes:
            process.teardown()
        return []
