"""A conversation: it stays open for its next turn, so nothing here ever marks it."""

from retention.owners.graph import Graph
from retention.owners.ledgers import LedgerSource, LedgerThreads
from retention.owners.run import Run, RunContext, ThreadId, text_of, threads_of
from retention.policy import ThreadRetention


def conversation(
    *,
    ledger: LedgerSource,
    graph: Graph,
    thread_id: ThreadId | None = None,
    retention: ThreadRetention | None = None,
    graph_id: str | None = None,
    graph_version: str | None = None,
) -> RunContext[Run]:
    """Run one turn of a conversation.

    The turn takes the thread out of the finished set, where an operator may have put it, and never
    marks it: the thread leaves on the waiting horizon after its last turn. A graph without a
    checkpointer touches no ledger.

    Args:
        ledger: Of the store that holds the conversation; or a function that opens it.
        graph: The compiled graph that the body of the ``with`` runs, with ``run.config``.
        thread_id: The conversation's thread; left out at the first turn, a new one is minted.
        retention: A shorter retention for the thread; each turn declares it anew.
        graph_id: The graph's name, for the metadata of its checkpoints.
        graph_version: The graph's version, for the same.

    Raises:
        ThreadRetentionError: ``retention`` is above the platform's; raised when the turn begins.
        StoreUnavailableError: The ledger cannot be reached; likewise.
    """
    run = Run(text_of(thread_id), graph_id, graph_version)
    threads = threads_of(graph, LedgerThreads(ledger, [run.thread_id]))
    return RunContext(run, graph, threads, retention, None)
