"""An agent run: it marks the thread that it minted, never a caller's."""

from retention.owners.graph import Graph
from retention.owners.ledgers import LedgerSource, LedgerThreads
from retention.owners.run import RunContext, StoppableRun, ThreadId, text_of, threads_of
from retention.policy import ThreadRetention


def agent_run(
    *,
    ledger: LedgerSource,
    graph: Graph,
    thread_id: ThreadId | None = None,
    retention: ThreadRetention | None = None,
    graph_id: str | None = None,
    graph_version: str | None = None,
    owner: str = "agent_run",
) -> RunContext[StoppableRun]:
    """Run an agent on a thread of its own, or on a caller's.

    Without ``thread_id`` the run mints its thread and marks it finished when it ends without a
    park: at success, at an error, cancelled or stopped. With one, the thread is the caller's: the
    run takes it out of the finished set and never marks it. A graph without a checkpointer touches
    no ledger.

    A failure to read the graph's state or to mark is logged as ``run_not_marked``; the thread then
    leaves on the waiting horizon.

    Args:
        ledger: Of the store that holds this run's checkpoints; or a function that opens it.
        graph: The compiled graph that the body of the ``with`` runs, with ``run.config``.
        thread_id: The caller's thread, if it is one.
        retention: A shorter retention for the thread.
        graph_id: The graph's name, for the metadata of its checkpoints.
        graph_version: The graph's version, for the same.
        owner: Who is said to have marked the thread.

    Raises:
        ThreadRetentionError: ``retention`` is above the platform's; raised when the run begins.
        StoreUnavailableError: The ledger cannot be reached; likewise.
    """
    run = StoppableRun(text_of(thread_id), graph_id, graph_version)
    threads = threads_of(graph, LedgerThreads(ledger, [run.thread_id]))
    return RunContext(run, graph, threads, retention, owner if thread_id is None else None)
