"""The savers: a late put is refused, sync and async; everything else is as LangGraph's own."""

import threading
import uuid
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint

from retention.errors import StoreError, ThreadDeletedError
from retention.threads import Rule, ThreadFacts, Verdict
from stores import aopen_store
from tests.contract.direct import settled
from tests.contract.lab import POLICY, Lab, on_postgres, shared_with_stock
from tests.contract.pool import claimed, opened
from tests.seeding import checkpoint_id_at, config_of, seed_thread
from tests.waiting import eventually


def a_put(lab: Lab, thread_id: str, parent: str | None, namespace: str = "") -> tuple[Any, ...]:
    """The arguments of a put of the thread's next checkpoint."""
    checkpoint = empty_checkpoint()
    checkpoint["id"] = checkpoint_id_at(lab.ago(-1))
    checkpoint["channel_values"] = {"messages": ["late"], "count": 7}
    checkpoint["channel_versions"] = {"messages": "9", "count": "9"}
    metadata = {"source": "loop", "step": 9, "parents": {}}
    versions = {"messages": "9", "count": "9"}
    return config_of(thread_id, namespace, parent), checkpoint, metadata, versions


def test_a_put_on_a_deleted_thread_is_refused_and_leaves_nothing(lab: Lab) -> None:
    head = lab.seed("t", 30, marked=20)[-1]
    assert lab.run().counts.values == {"deleted:finished": 1}
    with pytest.raises(ThreadDeletedError, match="'t' was deleted") as caught:
        lab.saver.put(*a_put(lab, "t", head))
    assert (caught.value.thread_id, caught.value.parent_id) == ("t", head)
    assert lab.rows_of("t") == {}


def test_a_put_whose_parent_is_in_another_namespace_is_refused(lab: Lab) -> None:
    head = lab.seed("t", 30)[-1]
    before = lab.rows_of("t")
    with pytest.raises(ThreadDeletedError):
        lab.saver.put(*a_put(lab, "t", head, "sub"))
    assert lab.rows_of("t") == before


def test_a_refused_put_leaves_the_saver_in_working_order(lab: Lab) -> None:
    with pytest.raises(ThreadDeletedError):
        lab.saver.put(*a_put(lab, "t", "gone"))
    lab.saver.put(*a_put(lab, "t", None))
    assert lab.threads() == {"t"}


async def test_the_async_saver_refuses_a_late_put_and_works_on(lab: Lab) -> None:
    async with aopen_store(lab.address, settings=lab.options) as store:
        with pytest.raises(ThreadDeletedError, match="'t' was deleted"):
            await store.saver.aput(*a_put(lab, "t", "gone"))
        root = await store.saver.aput(*a_put(lab, "t", None))
        parent = root["configurable"]["checkpoint_id"]
        await store.saver.aput(*a_put(lab, "t", parent))
        found = [item async for item in store.saver.alist(config_of("t"))]
        assert len(found) == 2
        latest = await store.saver.aget_tuple(config_of("t"))
        assert latest is not None
        assert latest.checkpoint["channel_values"] == {"messages": ["late"], "count": 7}


async def test_the_async_saver_takes_any_type_of_id_for_its_text(lab: Lab) -> None:
    thread_id: Any = uuid.UUID(int=7)
    async with aopen_store(lab.address, settings=lab.options) as store:
        config = await store.saver.aput(*a_put(lab, thread_id, None))
        place = config_of(thread_id, "", config["configurable"]["checkpoint_id"])
        await store.saver.aput_writes(place, [("messages", "w")], "task")
        found = await store.saver.aget_tuple(config_of(thread_id))
        assert found is not None
        assert found.pending_writes == [("task", "messages", "w")]
        assert found.config["configurable"]["thread_id"] == str(thread_id)
        assert store.threads.count_threads() == 1


def test_the_same_checkpoint_can_be_put_again(lab: Lab) -> None:
    root = lab.seed("t", 30, 1)[0]
    args = a_put(lab, "t", root)
    lab.saver.put(*args)
    first = lab.rows_of("t")
    lab.saver.put(*args)
    assert settled(lab.rows_of("t")) == settled(first)


@shared_with_stock
def test_threads_read_back_the_same_through_a_stock_saver(lab: Lab) -> None:
    lab.seed("ours", 30, 3, interrupted=True)
    with lab.stock() as stock:
        seed_thread(stock, "theirs", lab.ago(30), 3, interrupted=True)
        for thread_id in ("ours", "theirs"):
            config = config_of(thread_id)
            mine, other = list(lab.saver.list(config)), list(stock.list(config))
            assert [plain(item) for item in mine] == [plain(item) for item in other]
            assert len(mine) == 3
            assert plain(lab.saver.get_tuple(config)) == plain(stock.get_tuple(config))


def plain(item: CheckpointTuple | None) -> CheckpointTuple | None:
    """A tuple with its writes in an order that does not change."""
    return item and item._replace(pending_writes=sorted(item.pending_writes or [], key=repr))


def test_a_listing_can_be_filtered_and_cut(lab: Lab) -> None:
    ids = lab.seed("t", 30, 5)
    lab.seed("u", 30, 1)
    steps = [item.metadata["step"] for item in lab.saver.list(config_of("t"), limit=2)]
    assert steps == [4, 3]
    before = config_of("t", "", ids[2])
    assert len(list(lab.saver.list(config_of("t"), before=before))) == 2
    assert len(list(lab.saver.list(None, filter={"step": 0}))) == 2


def test_delete_thread_takes_all_of_one_thread(lab: Lab) -> None:
    for thread_id in ("t", "u"):
        lab.seed(thread_id, 30, interrupted=True)
        lab.seed(thread_id, 30, namespace="sub")
    before = lab.rows_of("u")
    lab.saver.delete_thread("t")
    assert lab.rows_of("t") == {}
    assert lab.rows_of("u") == before


@shared_with_stock
def test_a_put_under_way_with_a_delete_waits_for_it_and_is_refused(lab: Lab) -> None:
    """The judge stands within the delete's transaction, after its locks."""
    head = lab.seed("t", 30, marked=20)[-1]
    opened(lab, ["t"])
    claim = claimed(lab, "token")
    assert claim is not None
    raised: list[Exception] = []

    def put() -> None:
        try:
            saver.put(*a_put(lab, "t", head))
        except ThreadDeletedError as error:
            raised.append(error)

    late = threading.Thread(target=put)
    rule = Rule(POLICY, lab.clock.now)

    def judge(facts: ThreadFacts) -> Verdict:
        late.start()
        if lab.store.provider == "postgres":
            eventually(lambda: waits_for_a_lock(lab.address), "the put waits for the delete")
        return rule.judge(facts)

    with lab.other() as store:
        saver = store.saver
        lab.store.deleter.settle(claim, [0], judge, {})
        late.join()
    assert len(raised) == 1
    assert lab.rows_of("t") == {}


def waits_for_a_lock(dsn: str) -> bool:
    """Whether a session waits for an advisory lock."""
    query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with psycopg.connect(dsn) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return bool(row[0])


@on_postgres
def test_a_start_does_not_wait_longer_for_a_delete_than_its_lock_timeout(lab: Lab) -> None:
    """I1 and I9: the lock keeps a start out of a delete under way."""
    lab.seed("t", 30, marked=20)
    opened(lab, ["t"])
    claim = claimed(lab, "token")
    assert claim is not None
    rule = Rule(POLICY, lab.clock.now)

    def judge(facts: ThreadFacts) -> Verdict:
        with (
            lab.other(lock_timeout=timedelta(milliseconds=20)) as store,
            pytest.raises(StoreError, match="lock timeout"),
        ):
            store.ledger.start(["t"])
        return rule.judge(facts)

    lab.store.deleter.settle(claim, [0], judge, {})
    assert lab.rows_of("t") == {}
