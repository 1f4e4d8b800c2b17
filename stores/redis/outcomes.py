"""What the deletes of a batch recorded in the buckets, in the scripts that deleted.

The run log lies in another slot: a worker that dies between its deletes and their record would
leave them uncounted. So each bucket keeps the outcomes of a batch until the log has them. Whoever
takes the batch over reads them, and by the same script shuts the bucket to the worker before.
"""

from collections.abc import Iterable
from typing import Any

from retention.errors import ClaimLostError
from retention.runs import Batch, Candidate, Outcome, ThreadOutcome
from stores.redis.buckets import in_rounds
from stores.redis.layout import bucket_of, raw, text
from stores.redis.requests import Call, Steps
from stores.redis.scripts import thread_script

#: The attempt that comes after every worker's: nobody deletes for the batch any more.
ENDED = 1_000_000_000
#: How an outcome begins in a bucket; behind the first the head is told, which otherwise is the
#: one that was planned.
_DELETED, _GONE = b"d", b"g"
AS_PLANNED = b"p"


def name_of(batch: Batch) -> bytes:
    """The name of a batch within a bucket."""
    return raw(f"{batch.number}:{batch.run_id}")


def written(outcome: ThreadOutcome) -> bytes | None:
    """The outcome as a bucket keeps it; None where no delete goes with it."""
    if outcome.outcome is Outcome.DELETED:
        return _DELETED + raw(outcome.head or "")
    return _GONE if outcome.outcome is Outcome.GONE else None


def read(stored: bytes, planned: Candidate) -> ThreadOutcome:
    """The outcome that a bucket keeps of a candidate."""
    if stored.startswith(_DELETED):
        return ThreadOutcome(Outcome.DELETED, head=text(stored[1:]))
    if stored == AS_PLANNED:
        return ThreadOutcome(Outcome.DELETED, head=planned.head)
    return ThreadOutcome(Outcome.GONE)


def shut(batch: Batch, attempt: int) -> Steps[dict[int, ThreadOutcome]]:
    """Let no earlier attempt delete in the batch's buckets; what was recorded there.

    Raises:
        ClaimLostError: A later attempt did so before.
    """
    starts = {bucket_of(candidate.thread_id) for candidate in batch.candidates}
    shutting = thread_script("shut")
    calls = [Call(shutting, start, (name_of(batch), attempt)) for start in sorted(starts)]
    replies = yield from in_rounds(calls)
    found: dict[int, ThreadOutcome] = {}
    for reply in replies:
        found.update(_recorded(reply, batch))
    return found


def drop(batch: Batch) -> Steps[Any]:
    """Drop what the buckets recorded of a batch that the run log knows all of."""
    starts = {bucket_of(candidate.thread_id) for candidate in batch.candidates}
    dropping = thread_script("drop_outcomes")
    return in_rounds([Call(dropping, start, (name_of(batch),)) for start in sorted(starts)])


def _recorded(reply: Any, batch: Batch) -> Iterable[tuple[int, ThreadOutcome]]:
    if isinstance(reply, bytes):
        raise ClaimLostError(f"another worker took over {batch.run_id!r}")
    pairs = zip(reply[::2], reply[1::2], strict=True)
    return [
        (int(index), read(stored, batch.candidates[int(index)]))
        for index, stored in pairs
        if index != b"attempt"
    ]
