"""Asks and park barriers: opened within the thread's retention, settled once, gone with it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from retention.asks import Asks, AskState, Outcome, asks_of, holds_asks
from retention.errors import ConfigurationError, ParkDeadlineError, ParkRefusedError
from retention.policy import ThreadRetention
from stores import Access
from stores.redis.layout import keys_of
from tests.contract.direct_redis import DirectRedis
from tests.contract.lab import NOW, Lab, on_postgres, on_redis, parks, refuses_parks
from tests.seeding import config_of

Act = Callable[[], object]


@pytest.fixture
def asks(lab: Lab) -> Asks:
    """The asks of a store that has a thread ``t`` whose head is half an hour old."""
    lab.seed("t", 30)
    return lab.store.asks


def ahead(minutes: float) -> datetime:
    """An instant after that of the lab's clock at first."""
    return NOW + timedelta(minutes=minutes)


def redis_of(lab: Lab) -> DirectRedis:
    """The way into a store on Redis."""
    return cast(DirectRedis, lab.direct)


def minutes_left(lab: Lab) -> float:
    """How long the keys of ``t`` live; all that are there live as long."""
    client = redis_of(lab)._client
    left = [ttl / 60_000 for ttl in map(client.pttl, keys_of("t")) if ttl != -2]
    assert max(left) - min(left) < 0.1
    return float(min(left))


def shorten(lab: Lab, minutes: int) -> None:
    """Let time pass for the keys of ``t``."""
    for key in keys_of("t"):
        redis_of(lab)._client.pexpire(key, minutes * 60_000)


@refuses_parks
def test_a_store_of_one_process_or_file_refuses_in_one_line(lab: Lab) -> None:
    assert not holds_asks(lab.store)
    readings: tuple[Act, ...] = (
        lambda: lab.store.asks,
        lambda: asks_of(lab.store),
    )
    for reading in readings:
        with pytest.raises(ConfigurationError) as refused:
            reading()
        line = str(refused.value)
        assert line.startswith(f"the {lab.store.provider} store cannot hold asks or park barriers")
        assert line.endswith("redis and postgres can")
        assert "\n" not in line


@parks
def test_an_ask_is_open_until_its_deadline(lab: Lab, asks: Asks) -> None:
    opened = asks.open_ask("t", "a", ahead(20))
    assert holds_asks(lab.store)
    assert (opened.thread_id, opened.ask_id) == ("t", "a")
    assert (opened.state, opened.deadline, opened.opened_at) == (AskState.OPEN, ahead(20), NOW)
    assert asks.open_asks(["t", "other"]) == {"t"}
    lab.clock.advance(19.999)
    assert asks.open_asks(["t"]) == {"t"}
    lab.clock.advance(0.001)
    assert asks.open_asks(["t"]) == set()
    assert asks.book("t").asks == {"a": opened}


@parks
def test_a_deadline_at_the_end_of_the_waiting_retention_is_the_latest(lab: Lab, asks: Asks) -> None:
    asks.open_ask("t", "last", ahead(60))
    with pytest.raises(ParkDeadlineError) as refused:
        asks.open_ask("t", "later", ahead(60) + timedelta(microseconds=1))
    assert refused.value.latest == ahead(60)
    assert "2026-06-01T13:00:00.000001+00:00" in str(refused.value)
    assert "2026-06-01T13:00:00+00:00" in str(refused.value)
    assert set(asks.book("t").asks) == {"last"}


@parks
def test_a_park_without_a_deadline_is_refused_before_anything_is_parked(
    lab: Lab, asks: Asks
) -> None:
    asks.open_ask("t", "a", ahead(5))
    before = lab.dump()
    calls: tuple[Act, ...] = (
        lambda: asks.open_ask("t", "b", None),
        lambda: asks.open_ask("t", "a", None),
        lambda: asks.open_barrier("t", "b", ["a"], None),
    )
    for park in calls:
        with pytest.raises(ParkDeadlineError, match=r"its deadline is none, but .* 2026-06-01T13"):
            park()
    assert lab.dump() == before


@parks
@pytest.mark.parametrize("minutes", [0, -1])
def test_a_deadline_that_is_past_is_refused(asks: Asks, minutes: float) -> None:
    with pytest.raises(ParkDeadlineError, match="must lie ahead"):
        asks.open_ask("t", "a", ahead(minutes))


@parks
def test_a_deadline_in_no_time_zone_is_refused(asks: Asks) -> None:
    asks.open_ask("t", "known", ahead(5))
    asks.open_barrier("t", "known", ["known"], ahead(5))
    naive = ahead(5).replace(tzinfo=None)
    calls: tuple[Act, ...] = (
        lambda: asks.open_ask("t", "a", naive),
        lambda: asks.open_ask("t", "known", naive),
        lambda: asks.open_barrier("t", "known", ["known"], naive),
    )
    for park in calls:
        with pytest.raises(ConfigurationError, match="needs a time zone"):
            park()


@parks
def test_a_declared_retention_bounds_the_deadline(lab: Lab, asks: Asks) -> None:
    lab.store.ledger.start(["t"], ThreadRetention(waiting_minutes=20))
    with pytest.raises(ParkDeadlineError) as refused:
        asks.open_ask("t", "a", ahead(21))
    assert refused.value.latest == ahead(20)
    assert asks.open_ask("t", "a", ahead(20)).state is AskState.OPEN
    with pytest.raises(ParkDeadlineError):
        asks.open_barrier("t", "b", ["a"], ahead(21))


@parks
def test_nothing_is_parked_on_a_thread_that_holds_nothing(lab: Lab, asks: Asks) -> None:
    with pytest.raises(ParkRefusedError, match="'nobody': it holds nothing"):
        asks.open_ask("nobody", "a", ahead(5))
    lab.saver.delete_thread("t")
    with pytest.raises(ParkRefusedError, match="it holds nothing"):
        asks.open_ask("t", "a", ahead(5))
    assert lab.rows_of("nobody") == lab.rows_of("t") == {}


@parks
def test_a_thread_that_was_only_started_can_park(lab: Lab) -> None:
    lab.store.ledger.start(["new"])
    lab.store.asks.open_ask("new", "a", ahead(5))
    assert lab.store.asks.open_asks(["new"]) == {"new"}


@parks
def test_a_write_that_comes_before_its_checkpoint_is_something_to_park_on(lab: Lab) -> None:
    lab.write_late("early")
    assert lab.store.asks.open_ask("early", "a", ahead(5)).state is AskState.OPEN


@parks
def test_opening_again_with_the_same_deadline_finds_the_ask_as_it_stands(
    lab: Lab, asks: Asks
) -> None:
    opened = asks.open_ask("t", "a", ahead(20))
    lab.clock.advance(1)
    assert asks.open_ask("t", "a", ahead(20)) == opened
    asks.answer("t", "a")
    lab.clock.advance(30)
    found = asks.open_ask("t", "a", ahead(20))
    assert (found.state, found.settled_at) == (AskState.ANSWERED, ahead(1))
    with pytest.raises(ParkRefusedError, match=r"'a' of thread 't' was opened .*another id"):
        asks.open_ask("t", "a", ahead(50))


@parks
def test_an_ask_is_answered_once(lab: Lab, asks: Asks) -> None:
    asks.open_ask("t", "a", ahead(20))
    lab.clock.advance(1)
    first, second = asks.answer("t", "a"), asks.answer("t", "a")
    assert (first.outcome, second.outcome) == (Outcome.ANSWERED, Outcome.ANSWERED_BEFORE)
    assert first.ask is not None
    assert (first.ask.state, first.ask.settled_at) == (AskState.ANSWERED, ahead(1))
    assert second.ask == first.ask
    assert asks.open_asks(["t"]) == set()


@parks
def test_an_answer_after_the_deadline_is_told_so_whoever_settles_first(
    lab: Lab, asks: Asks
) -> None:
    for ask_id in ("late", "expired"):
        asks.open_ask("t", ask_id, ahead(20))
    asks.open_ask("t", "open", ahead(40))
    lab.clock.advance(20)
    late = asks.answer("t", "late")
    settled = asks.expire(lab.clock.now, 10)
    assert [ask.ask_id for ask in settled.asks] == ["expired"]
    assert settled.barriers == ()
    assert late.ask is not None
    assert (late.outcome, late.ask.state) == (Outcome.EXPIRED, AskState.EXPIRED)
    for ask_id in ("late", "expired"):
        assert asks.answer("t", ask_id).outcome is Outcome.EXPIRED
    assert asks.open_asks(["t"]) == {"t"}
    assert asks.expire(lab.clock.now, 10).asks == ()


@parks
def test_an_answer_to_an_ask_that_nobody_opened_changes_nothing(lab: Lab, asks: Asks) -> None:
    before = lab.dump()
    for thread_id in ("t", "nobody"):
        assert asks.answer(thread_id, "a").outcome is Outcome.UNKNOWN
    assert lab.dump() == before


@parks
def test_a_released_ask_takes_no_answer(asks: Asks) -> None:
    for ask_id in "abc":
        asks.open_ask("t", ask_id, ahead(20))
    assert [ask.ask_id for ask in asks.release("t", "a").asks] == ["a"]
    assert asks.release("t", ["a", "unknown"]).asks == ()
    assert asks.answer("t", "a").outcome is Outcome.RELEASED
    assert {ask.ask_id for ask in asks.release("t").asks} == {"b", "c"}
    assert asks.open_asks(["t"]) == set()


@parks
def test_a_barrier_is_live_until_the_last_of_its_asks_is_answered(lab: Lab, asks: Asks) -> None:
    for ask_id in "abc":
        asks.open_ask("t", ask_id, ahead(20))
    barrier = asks.open_barrier("t", "both", ["b", "a", "b"], ahead(30))
    assert (barrier.ask_ids, barrier.state, barrier.is_complete) == (("a", "b"), "open", False)
    assert asks.live_barriers(["t", "other"]) == {"t"}
    assert asks.answer("t", "a").barriers == ()
    assert asks.live_barriers(["t"]) == {"t"}
    (complete,) = asks.answer("t", "b").barriers
    assert (complete.barrier_id, complete.is_complete) == ("both", True)
    assert asks.answer("t", "b").barriers == ()
    assert (asks.live_barriers(["t"]), asks.open_asks(["t"])) == (set(), {"t"})
    assert asks.open_barrier("t", "both", ["a", "b"], ahead(30)) == complete


@parks
def test_a_barrier_ends_at_its_own_deadline_or_with_the_last_of_its_asks(
    lab: Lab, asks: Asks
) -> None:
    asks.open_ask("t", "short", ahead(10))
    asks.open_ask("t", "long", ahead(40))
    asks.open_barrier("t", "early", ["long"], ahead(20))
    asks.open_barrier("t", "late", ["short"], ahead(50))
    lab.clock.advance(10)
    settled = asks.expire(lab.clock.now, 10)
    assert [(b.barrier_id, b.is_complete) for b in settled.barriers] == [("late", True)]
    assert asks.live_barriers(["t"]) == {"t"}
    lab.clock.advance(10)
    assert asks.live_barriers(["t"]) == set()
    (early,) = asks.expire(lab.clock.now, 10).barriers
    assert (early.barrier_id, early.state) == ("early", AskState.EXPIRED)
    assert asks.open_asks(["t"]) == {"t"}


@parks
def test_a_barrier_whose_asks_are_past_their_deadline_is_not_live(lab: Lab, asks: Asks) -> None:
    asks.open_ask("t", "a", ahead(10))
    asks.open_barrier("t", "b", ["a"], ahead(40))
    lab.clock.advance(10)
    assert asks.live_barriers(["t"]) == set()


@parks
def test_the_last_answer_after_a_barriers_own_deadline_finds_it_expired(
    lab: Lab, asks: Asks
) -> None:
    asks.open_ask("t", "a", ahead(40))
    asks.open_barrier("t", "b", ["a"], ahead(10))
    lab.clock.advance(20)
    answer = asks.answer("t", "a")
    assert (answer.outcome, answer.barriers[0].state) == (Outcome.ANSWERED, AskState.EXPIRED)


@parks
def test_a_barrier_over_settled_asks_is_complete_from_the_start(asks: Asks) -> None:
    asks.open_ask("t", "a", ahead(10))
    asks.answer("t", "a")
    assert asks.open_barrier("t", "b", "a", ahead(10)).is_complete
    assert asks.live_barriers(["t"]) == set()


@parks
def test_a_released_barrier_leaves_its_asks_open(asks: Asks) -> None:
    asks.open_ask("t", "a", ahead(10))
    asks.open_barrier("t", "b", ["a"], ahead(10))
    (released,) = asks.release("t", barrier_ids=["b"]).barriers
    assert released.state is AskState.RELEASED
    assert asks.release("t", barrier_ids=["b"]).barriers == ()
    assert (asks.open_asks(["t"]), asks.live_barriers(["t"])) == ({"t"}, set())
    assert asks.answer("t", "a").barriers == ()


@parks
@pytest.mark.parametrize(
    ("ask_ids", "why"), [([], "it has no asks"), (["a", "x"], "ask 'x' is none of the thread's")]
)
def test_a_barrier_over_no_asks_or_unknown_ones_is_refused(
    asks: Asks, ask_ids: list[str], why: str
) -> None:
    asks.open_ask("t", "a", ahead(10))
    with pytest.raises(ParkRefusedError, match=why):
        asks.open_barrier("t", "b", ask_ids, ahead(10))
    assert asks.book("t").barriers == {}


@parks
def test_a_barriers_id_is_not_taken_twice(asks: Asks) -> None:
    for ask_id in "ab":
        asks.open_ask("t", ask_id, ahead(10))
    asks.open_barrier("t", "b", ["a"], ahead(10))
    with pytest.raises(ParkRefusedError, match=r"barrier 'b' .* over 'a': another one needs"):
        asks.open_barrier("t", "b", ["a", "b"], ahead(10))


@parks
def test_expiring_is_bounded_and_takes_those_due_first(lab: Lab, asks: Asks) -> None:
    for number in range(5):
        lab.seed(f"t-{number}", 30)
        asks.open_ask(f"t-{number}", "a", ahead(20 - number))
    lab.clock.advance(30)
    assert [a.thread_id for a in asks.expire(lab.clock.now, 2).asks] == ["t-4", "t-3"]
    assert [a.thread_id for a in asks.expire(lab.clock.now, 9).asks] == ["t-2", "t-1", "t-0"]


@parks
@pytest.mark.parametrize(
    "name", ["a", "a:b", "*", "{y}", "%s", "new\nline", "ä € ☃", "x" * 500, "'\"\\"]
)
def test_any_id_is_one(lab: Lab, name: str) -> None:
    asks = lab.store.asks
    lab.seed(name, 30)
    asks.open_ask(name, name, ahead(10))
    asks.open_barrier(name, name, [name], ahead(10))
    assert asks.live_barriers([name]) == asks.open_asks([name]) == {name}
    assert asks.answer(name, name).barriers[0].ask_ids == (name,)


@parks
@pytest.mark.parametrize("ends", ["swept", "deleted", "erased"])
def test_a_deleted_thread_takes_its_asks_and_barriers_with_it(lab: Lab, ends: str) -> None:
    untouched = lab.dump()
    lab.seed("t", 90, marked=20)
    lab.seed("neighbour", 5)
    for thread_id in ("t", "neighbour"):
        lab.store.asks.open_ask(thread_id, "a", ahead(10))
        lab.store.asks.open_barrier(thread_id, "b", ["a"], ahead(10))
    before = lab.rows_of("neighbour")
    if ends == "swept":
        # No filter asks for it here, and what is parked since the run began would be left alone.
        lab.clock.advance(11)
        assert lab.run().counts.values == {"deleted:finished": 1}
    elif ends == "erased":
        cast(Any, lab.store.deleter).erase("t", lambda facts: True)
    else:
        lab.saver.delete_thread("t")
    left = lab.rows_of("t")
    left.pop("retention_threads", None)
    assert left == {}
    assert lab.rows_of("neighbour") == before
    assert set(lab.dump()) >= set(untouched)


@parks
def test_an_entry_of_a_thread_that_never_held_anything_goes_with_its_asks(lab: Lab) -> None:
    lab.store.ledger.start(["t"])
    lab.clock.advance(30)
    lab.store.asks.open_ask("t", "a", ahead(70))
    if lab.store.provider == "redis":
        redis_of(lab).expire("t")
    else:
        lab.clock.advance(35)
        assert lab.store.ledger.drop_bare(lab.ago(60), 10) == 0
    lab.clock.advance(40)
    assert lab.store.ledger.drop_bare(lab.ago(60), 10) == 1
    assert lab.rows_of("t") == {}
    assert lab.store.asks.expire(lab.clock.now, 10).asks == ()


@on_postgres
def test_what_is_long_past_is_dropped_bit_by_bit(lab: Lab, asks: Asks) -> None:
    for number in range(3):
        asks.open_ask("t", f"a-{number}", ahead(10 + number))
    asks.open_ask("t", "later", ahead(50))
    asks.open_barrier("t", "b", ["a-0"], ahead(10))
    lab.clock.advance(80)
    lab.store.ledger.drop_bare(lab.ago(60), 2)
    assert set(asks.book("t").asks) == {"a-2", "later"}
    assert asks.book("t").barriers == {}
    lab.store.ledger.drop_bare(lab.ago(60), 2)
    assert set(asks.book("t").asks) == {"later"}


@on_redis
def test_what_is_long_past_is_dropped_when_something_is_opened(lab: Lab, asks: Asks) -> None:
    asks.open_ask("t", "old", ahead(10))
    asks.open_barrier("t", "b", ["old"], ahead(10))
    lab.clock.advance(71)
    asks.open_ask("t", "new", ahead(100))
    assert (set(asks.book("t").asks), asks.book("t").barriers) == ({"new"}, {})


@parks
@pytest.mark.parametrize("opened", ["ask", "barrier"])
def test_a_thread_parked_after_the_filters_were_asked_is_left_alone(lab: Lab, opened: str) -> None:
    asks = lab.store.asks
    lab.seed("t", 90, marked=20)
    lab.seed("due", 90, marked=20)
    asks.open_ask("t", "before", ahead(50))

    class ParksMeanwhile:
        owner = "meanwhile"

        def claims(self, thread_ids: object) -> list[str]:
            lab.clock.advance(1)
            if opened == "ask":
                asks.open_ask("t", "a", ahead(30))
            else:
                asks.open_barrier("t", "b", ["before"], ahead(30))
            return []

    result = lab.run(ParksMeanwhile())
    assert result.counts.values == {"restarted:finished": 1, "deleted:finished": 1}
    assert lab.threads() == {"t"}
    assert asks.open_asks(["t"]) == {"t"}


@parks
def test_a_park_on_a_marked_thread_takes_no_mark_back(lab: Lab, asks: Asks) -> None:
    lab.store.ledger.mark_finished(["t"])
    asks.open_ask("t", "a", ahead(10))
    assert lab.store.ledger.entries(["t"])["t"].due_at == ahead(10)


@on_redis
def test_a_deadline_outlives_a_shorter_retention_declared_later(lab: Lab, asks: Asks) -> None:
    asks.open_ask("t", "a", ahead(50))
    lab.store.ledger.start(["t"], ThreadRetention(waiting_minutes=5))
    assert minutes_left(lab) == pytest.approx(50, abs=1)
    asks.answer("t", "a")
    lab.store.ledger.start(["t"], ThreadRetention(waiting_minutes=5))
    assert minutes_left(lab) == pytest.approx(5, abs=1)


@on_redis
def test_opening_counts_as_a_write_and_answering_does_not(lab: Lab, asks: Asks) -> None:
    lab.store.ledger.start(["t"], ThreadRetention(waiting_minutes=5))
    shorten(lab, 1)
    asks.open_ask("t", "a", ahead(3))
    assert minutes_left(lab) == pytest.approx(5, abs=1)
    shorten(lab, 4)
    asks.answer("t", "a")
    assert minutes_left(lab) == pytest.approx(4, abs=1)


@parks
async def test_each_call_has_an_async_twin(lab: Lab, asks: Asks) -> None:
    await asks.aopen_ask("t", "a", ahead(10))
    await asks.aopen_barrier("t", "b", ["a"], ahead(10))
    assert await asks.aopen_asks(["t"]) == await asks.alive_barriers(["t"]) == {"t"}
    assert (await asks.abook("t")).asks.keys() == {"a"}
    assert (await asks.aanswer("t", "a")).barriers[0].is_complete
    assert (await asks.arelease("t")).asks == (await asks.aexpire(ahead(20), 10)).asks == ()


@parks
def test_a_thread_is_read_and_resumed_as_before(lab: Lab, asks: Asks) -> None:
    before = lab.saver.get_tuple(config_of("t"))
    asks.open_ask("t", "a", ahead(10))
    asks.answer("t", "a")
    assert lab.saver.get_tuple(config_of("t")) == before


@on_postgres
def test_a_store_without_our_tables_holds_no_asks(lab: Lab) -> None:
    with lab.sql.without_own_tables(), lab.other(access=Access.READ) as store:
        assert store.asks.open_asks(["t"]) == store.asks.live_barriers(["t"]) == set()
        assert store.asks.book("t").asks == {}
