"""What the indexes still name of threads that the server dropped."""

from typing import Any

from stores.redis.layout import bucket_of, keys_of, raw
from tests.integration.redis.looking import dump
from tests.integration.redis.parts import Parts, of_one_bucket
from tests.seeding import seed_thread


def expire(client: Any, *thread_ids: str) -> None:
    """Let threads go as at their time."""
    for thread_id in thread_ids:
        for key in keys_of(thread_id):
            client.pexpireat(key, 1)
        client.zadd(bucket_of(thread_id) + b"expiry", {raw(thread_id): 1})


def indexed(client: Any) -> set[bytes]:
    """The threads that any index names."""
    indexes = [key for key in client.keys("*") if key.rsplit(b":", 1)[1] in INDEXES]
    return {thread_id for key in indexes for thread_id in client.zrange(key, 0, -1)}


INDEXES = (b"live", b"expiry", b"marks", b"holds")


def test_they_are_no_threads_and_no_candidates(parts: Parts, client: Any) -> None:
    parts.seed_due("gone", "here")
    expire(client, "gone")
    assert parts.threads.count_threads() == 1
    assert parts.threads.facts(["gone"])["gone"].entry is None
    assert parts.run().planned == 1
    assert dump(client).keys() == {key for key in dump(client) if key.startswith(b"lgr:{log}:")}


def test_a_sweep_cleans_no_more_than_its_limit(parts: Parts, client: Any) -> None:
    one_bucket = of_one_bucket(3)
    for thread_id in (*one_bucket, "a", "b", "c", "d"):
        seed_thread(parts.saver, thread_id, parts.clock.now)
    expire(client, *one_bucket, "a", "b", "c")
    assert parts.ledger.drop_bare(parts.clock.now, 0) == 0
    assert parts.ledger.drop_bare(parts.clock.now, 4) == 4
    assert len(indexed(client)) == 3
    assert parts.ledger.drop_bare(parts.clock.now, 100) == 2
    assert indexed(client) == {b"d"}


def test_a_thread_that_somebody_keeps_by_hand_stays(parts: Parts, client: Any) -> None:
    seed_thread(parts.saver, "t", parts.clock.now)
    seed_thread(parts.saver, "u", parts.clock.now)
    for key in keys_of("t"):
        client.persist(key)
    for thread_id in ("t", "u"):
        client.zadd(bucket_of(thread_id) + b"expiry", {thread_id: 1})
    assert parts.ledger.drop_bare(parts.clock.now, 10) == 0
    assert client.zscore(bucket_of("t") + b"expiry", "t") == float("inf")
    left = client.pttl(keys_of("u")[0])
    assert client.zscore(bucket_of("u") + b"expiry", "u") > 1_000_000 + left


def test_more_expired_threads_of_a_bucket_than_are_read_at_once_are_told_apart(
    parts: Parts, client: Any
) -> None:
    start = bucket_of("t0")
    client.zadd(start + b"live", {f"x{number}": 1 for number in range(2_500)})
    client.zadd(start + b"expiry", {f"x{number}": 1 for number in range(2_500)})
    seed_thread(parts.saver, "t0", parts.clock.now)
    assert parts.threads.count_threads() == 1


def test_a_page_goes_on_behind_a_thread_that_is_due_no_more(parts: Parts) -> None:
    names = of_one_bucket(9)
    parts.seed_due(*names)
    page = parts.threads.due_page(parts.clock.now, None, 4)
    seen = [facts.thread_id for facts in page.facts]
    parts.ledger.start([seen[1], seen[-1]])
    rest = parts.threads.due_page(parts.clock.now, page.cursor, 100)
    assert sorted([*seen, *(facts.thread_id for facts in rest.facts)]) == sorted(names)


def test_a_bucket_that_emptied_behind_a_page_ends_there(parts: Parts) -> None:
    names = of_one_bucket(5)
    parts.seed_due(*names, "other")
    page = parts.threads.due_page(parts.clock.now, None, 4)
    left = {*names, "other"} - {facts.thread_id for facts in page.facts}
    parts.ledger.start(left)
    rest = parts.threads.due_page(parts.clock.now, page.cursor, 100)
    assert (list(rest.facts), rest.cursor) == ([], None)


def test_the_history_goes_on_behind_a_run_that_was_forgotten(parts: Parts) -> None:
    for run_id in ("a", "b", "c"):
        parts.run(run_id)
    first, second, third = parts.runs.history(10)
    parts.clock.advance(1)
    assert [run.run_id for run in (first, second, third)] == ["a", "b", "c"]
    assert parts.runs.forget(parts.clock.now, 2) == 2
    assert parts.runs.history(10, second) == [third]
