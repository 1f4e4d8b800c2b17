"""A flow run: it marks its session thread, and every thread that its nodes own through it."""

from collections.abc import Collection, Mapping

from retention.errors import ConfigurationError
from retention.owners.graph import Graph
from retention.owners.ledgers import LedgerSource, LedgerThreads
from retention.owners.run import RunContext, StoppableRun, ThreadId, text_of, threads_of
from retention.owners.templates import owned_threads
from retention.policy import ThreadRetention


class FlowRun(StoppableRun):
    """A run of a flow. ``thread_id`` is its session thread."""

    def __init__(
        self,
        thread_id: str,
        flow_run_id: str,
        owned: Mapping[str, str],
        graph_id: str | None = None,
        graph_version: str | None = None,
    ) -> None:
        """Keep ``owned``, the thread ids of the flow's nodes by template."""
        super().__init__(thread_id, graph_id, graph_version)
        self.flow_run_id = flow_run_id
        self._owned = owned

    def session_thread(self, template: str) -> str:
        """The thread on which a node of this flow runs its agent.

        Raises:
            ConfigurationError: The flow does not own the template: nobody would mark its thread.
        """
        if template not in self._owned:
            raise ConfigurationError(
                f"session thread template {template!r} is not among those the flow owns: "
                f"{', '.join(map(repr, self._owned)) or 'none'}"
            )
        return self._owned[template]


def flow_run(
    *,
    ledger: LedgerSource,
    graph: Graph,
    deployment_ledger: LedgerSource | None = None,
    session_thread_id: ThreadId | None = None,
    flow_run_id: ThreadId | None = None,
    owned: Collection[str] = (),
    retention: ThreadRetention | None = None,
    graph_id: str | None = None,
    graph_version: str | None = None,
    owner: str = "flow_run",
) -> RunContext[FlowRun]:
    """Run a flow on its session: fresh, or once more for a restart, a resume or a step.

    The run takes the session thread and all owned threads out of the finished set, and marks all
    of them at success, at an error, and stopped or aborted; never at a pause. The session thread is
    kept by the ledger of the flow's own store; the owned threads by the deployment's, whichever
    store each agent run used.

    A failure to read the graph's state or to mark is logged as ``run_not_marked``; the threads then
    leave on the waiting horizon.

    Args:
        ledger: Of the store that holds this run's checkpoints; or a function that opens it.
        graph: The compiled graph that the body of the ``with`` runs, with ``run.config``.
        deployment_ledger: Of the deployment's store, or a function that opens it; needed where
            threads are owned.
        session_thread_id: The session's thread; left out, it is called as the flow run.
        flow_run_id: The flow run, the same each time it is run; left out, it is called as the
            session's thread. Where both are left out, one new id serves for both.
        owned: Templates with ``{flow_run_id}`` of the session threads of the flow's nodes.
        retention: A shorter retention for all these threads.
        graph_id: The graph's name, for the metadata of its checkpoints.
        graph_version: The graph's version, for the same.
        owner: Who is said to have marked the threads.

    Raises:
        ConfigurationError: A template is wrong, or owned threads have no ``deployment_ledger``.
        ThreadRetentionError: ``retention`` is above the platform's; raised when the run begins.
        StoreUnavailableError: A ledger cannot be reached; likewise.
    """
    # Each is called after the other, so that a resume that knows one of them finds all threads.
    session = text_of(flow_run_id if session_thread_id is None else session_thread_id)
    flow = session if flow_run_id is None else str(flow_run_id)
    found = owned_threads(owned, flow)
    threads = threads_of(graph, LedgerThreads(ledger, [session]))
    if found:
        if deployment_ledger is None:
            raise ConfigurationError("a flow that owns session threads needs deployment_ledger")
        # The deployment's, for nobody knows here which store each agent run used.
        threads.append(LedgerThreads(deployment_ledger, sorted(set(found.values()))))
    run = FlowRun(session, flow, found, graph_id, graph_version)
    return RunContext(run, graph, threads, retention, owner)
