"""Removing what is left of a deleted thread, page by page, from an id that may be in use again."""

from datetime import timedelta
from typing import Any

from retention.late_writes import DeadRows
from retention.ports import ThreadDeleter
from retention.threads import Hold
from tests.integration.redis.looking import dump, thread_of
from tests.integration.redis.parts import Acting, Parts, Resending
from tests.seeding import checkpoint_id_at, config_of, seed_thread

#: More than are read, and more than are removed, in one call.
MANY = 1_005


def remove(parts: Parts, head: str, deleter: ThreadDeleter | None = None) -> DeadRows:
    """Remove what belongs to the thread deleted at a head."""
    grace = parts.clock.now - timedelta(hours=1)
    return (deleter or parts.deleter).remove_dead("t", head, grace)


def write_late(parts: Parts, checkpoint_id: str, task: str = "late") -> None:
    """A task of the dead run hands in two writes."""
    parts.saver.put_writes(config_of("t", "", checkpoint_id), [("a", 1), ("b", 2)], task)


def dead_head(parts: Parts) -> str:
    """A head of half an hour ago."""
    return checkpoint_id_at(parts.clock.now - timedelta(minutes=30))


def test_nothing_is_left_of_an_id_that_holds_late_writes_alone(parts: Parts, client: Any) -> None:
    head = dead_head(parts)
    for number in range(MANY):
        write_late(parts, head, f"task-{number}")
    dead = remove(parts, head)
    assert (dead.checkpoints, dead.write_count) == ([], 2 * MANY)
    assert dump(client) == {}


def test_a_new_conversation_is_what_it_was_without_the_old_one(parts: Parts, client: Any) -> None:
    new = parts.clock.now - timedelta(minutes=5)
    ids = seed_thread(parts.saver, "t", new, 3, interrupted=True)
    parts.ledger.start(["t"])
    alone = without_seal(thread_of(client, "t"))
    live = live_of(client)
    head = dead_head(parts)
    old = parts.clock.now - timedelta(minutes=31)
    seed_thread(parts.saver, "t", old, MANY, namespace="sub", interrupted=True)
    write_late(parts, head)
    dead = remove(parts, head)
    assert (len(dead.checkpoints), dead.write_count) == (MANY, MANY + 3)
    assert without_seal(thread_of(client, "t")) == alone
    assert live_of(client) == live
    assert parts.threads.facts(["t"])["t"].head == ids[-1]
    assert parts.threads.pending_interrupts(["t"]) == {"t"}
    found = parts.saver.get_tuple(config_of("t"))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"messages": ["message of step 2"], "count": 2}
    assert not remove(parts, head)


def without_seal(found: dict[bytes, Any]) -> dict[bytes, Any]:
    """A thread without the ids of runs, which stay until the thread goes, and what counts them."""
    return {
        key: {name: part for name, part in value.items() if name != b"seal"}
        for key, value in found.items()
    }


def live_of(client: Any) -> list[Any]:
    """What the index of threads says."""
    return [client.zrange(key, 0, -1, withscores=True) for key in client.keys("*:live")]


def test_what_a_ledger_says_of_the_id_stays(parts: Parts, client: Any) -> None:
    head = dead_head(parts)
    parts.ledger.start(["t"])
    before = thread_of(client, "t")
    seed_thread(parts.saver, "t", parts.clock.now - timedelta(minutes=31), 2)
    assert len(remove(parts, head).checkpoints) == 2
    assert thread_of(client, "t") == before
    assert parts.threads.count_threads() == 0


def test_a_date_that_only_the_dead_lacked_is_known_again(parts: Parts, client: Any) -> None:
    seed_thread(parts.saver, "t", parts.clock.now - timedelta(minutes=31))
    (meta,) = client.keys("*:m:t")
    seed_thread(parts.saver, "t", parts.clock.now)
    client.hset(meta, "undated", 1)
    assert remove(parts, dead_head(parts))
    assert parts.threads.facts(["t"])["t"].head_at == parts.clock.now


def test_a_held_thread_keeps_all(parts: Parts) -> None:
    head = dead_head(parts)
    write_late(parts, head)
    parts.ledger.hold(["t"], Hold("audit", parts.clock.now + timedelta(minutes=5)))
    assert not remove(parts, head)
    parts.clock.advance(5)
    assert remove(parts, head).write_count == 2


def test_a_thread_that_is_written_to_meanwhile_is_looked_at_again(
    parts: Parts, client: Any
) -> None:
    for name in ("dead_places", "dead_writes", "remove_dead"):
        head = dead_head(parts)
        write_late(parts, head)
        once = iter([True])

        def write(head: str = head, once: Any = once) -> None:
            if next(once, False):
                write_late(parts, head, "another")

        deleter = parts.over(Acting(client, name, write)).deleter
        assert remove(parts, head, deleter).write_count == 4
        assert dump(client) == {}


def test_one_that_is_written_to_all_the_time_is_in_use(parts: Parts, client: Any) -> None:
    head = dead_head(parts)
    for name in ("dead_writes", "remove_dead"):
        write_late(parts, head)
        deleter = parts.over(Acting(client, name, lambda: parts.ledger.start(["t"]))).deleter
        assert not remove(parts, head, deleter)
    assert dump(client) != {}


def test_one_that_changes_between_two_pages_is_looked_at_again(parts: Parts, client: Any) -> None:
    seed_thread(parts.saver, "t", parts.clock.now - timedelta(minutes=31), 501)
    calls = iter(range(100))

    def start() -> None:
        if next(calls) == 1:
            parts.ledger.start(["t"])

    deleter = parts.over(Acting(client, "dead_places", start)).deleter
    assert len(remove(parts, dead_head(parts), deleter).checkpoints) == 501
    assert next(calls) == 4


def test_an_answer_that_was_lost_takes_nothing_from_what_was_removed(
    parts: Parts, client: Any
) -> None:
    head = dead_head(parts)
    write_late(parts, head)
    deleter = parts.over(Resending(client)).deleter
    assert remove(parts, head, deleter).write_count == 2
    assert dump(client) == {}


def test_a_thread_that_lost_a_part_is_left_to_its_end(parts: Parts, client: Any) -> None:
    head = dead_head(parts)
    write_late(parts, head)
    client.delete(*client.keys("*:w:t"))
    assert not remove(parts, head)
