"""What the metadata of threads' heads says under some keys. No state is decoded for it."""

from collections.abc import Collection, Iterable

from retention.operator import Scalar
from stores.codec import plain_values
from stores.redis.buckets import on_threads
from stores.redis.requests import Steps
from stores.redis.scripts import thread_script


def read_metadata(
    thread_ids: Iterable[str], keys: Collection[str]
) -> Steps[dict[str, dict[str, Scalar]]]:
    """The plain values under these keys, by thread; one without a head is left out.

    Metadata that cannot be read says nothing: a policy never deletes on a guess.
    """
    answered = yield from on_threads(thread_script("head_metadata"), thread_ids)
    return {
        thread_id: plain_values(stored, keys)
        for ids, found in answered
        for thread_id, stored in zip(ids, found, strict=True)
        if stored is not None
    }
