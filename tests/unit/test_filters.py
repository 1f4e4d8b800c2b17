"""Asking the live-thread filters: whom a thread counts for, and what fails the sweep."""

import contextvars
import threading
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from retention.errors import ConfigurationError, LiveThreadFilterError, StoreUnavailableError
from retention.filters import FilterRegistry, FlowsEngineFilter, Grace, ask, default_owners
from retention.threads import LedgerEntry, ThreadFacts
from stores import open_store


class Answers:
    """A filter with a set answer, or one that raises."""

    def __init__(self, answer: Any, owner: str = "tests") -> None:
        self.owner = owner
        self._answer = answer
        self.asked: list[Sequence[str]] = []

    def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
        self.asked.append(thread_ids)
        if isinstance(self._answer, BaseException):
            raise self._answer
        answer: Iterable[str] = self._answer
        return answer


def test_each_filter_is_asked_once_about_all_threads() -> None:
    filters = [Answers([]), Answers([])]
    assert ask(filters, ["a", "b"]) == {}
    assert [f.asked for f in filters] == [[["a", "b"]]] * 2


def test_the_first_filter_to_claim_a_thread_is_its_owner() -> None:
    first, second = Answers({"a"}, "first"), Answers(["b", "a"], "second")
    assert ask([first, second], ["a", "b", "c"]) == {"a": "first", "b": "second"}
    assert ask([second, first], ["a", "b", "c"]) == {"a": "second", "b": "second"}


def test_a_claim_on_a_thread_that_was_not_asked_about_means_nothing() -> None:
    assert ask([Answers(["x", "a", "a"])], ["a"]) == {"a": "tests"}


@pytest.mark.parametrize("answer", [iter(["a"]), ("a",), {"a": 1}, frozenset("a")])
def test_any_iterable_of_ids_is_an_answer(answer: Iterable[str]) -> None:
    assert ask([Answers(answer)], ["a"]) == {"a": "tests"}


@pytest.mark.parametrize("answer", ["a", b"a", [1], [None], [["a"]], ["a", b"b"], {1: "a"}])
def test_an_answer_that_is_no_list_of_ids_fails(answer: Any) -> None:
    with pytest.raises(LiveThreadFilterError, match="'tests' failed: its answer is not a list"):
        ask([Answers(answer)], ["a"])


@pytest.mark.parametrize("answer", [None, 7, True])
def test_an_answer_that_cannot_be_iterated_fails(answer: Any) -> None:
    with pytest.raises(LiveThreadFilterError, match="'tests' failed: TypeError"):
        ask([Answers(answer)], ["a"])


def test_whatever_a_filter_raises_fails_and_says_whose_and_why() -> None:
    with pytest.raises(LiveThreadFilterError, match="'flows' failed: KeyError: 'x'") as caught:
        ask([Answers([], "calm"), Answers(KeyError("x"), "flows")], ["a"])
    assert caught.value.owner == "flows"
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_filter_that_raises_while_its_answer_is_read_fails() -> None:
    def broken() -> Iterable[str]:
        yield "a"
        raise ValueError("half an answer")

    with pytest.raises(LiveThreadFilterError, match="half an answer"):
        ask([Answers(broken())], ["a"])


def test_an_outage_of_the_store_is_not_the_answer_of_a_filter() -> None:
    with pytest.raises(StoreUnavailableError):
        ask([Answers(StoreUnavailableError("gone"))], ["a"])


def test_filters_are_selected_by_owner_in_the_order_given() -> None:
    registry = FilterRegistry()
    registry.register("mine", lambda store: Answers([], "mine"))
    with open_store("memory://") as store:
        for order in (["mine", "flows-engine"], ["flows-engine", "mine"], []):
            assert [f.owner for f in registry.select(order, store)] == order


def test_an_unknown_owner_is_refused_with_the_known_ones_named() -> None:
    registry = FilterRegistry()
    registry.register("mine", lambda store: Answers([]))
    with (
        open_store("memory://") as store,
        pytest.raises(
            ConfigurationError, match="'agent'; known are: agents, flows-engine, interactions, mine"
        ),
    ):
        registry.select(["agent"], store)


def test_an_owner_named_twice_is_refused() -> None:
    with open_store("memory://") as store, pytest.raises(ConfigurationError, match="named twice"):
        FilterRegistry().select(["flows-engine", "flows-engine"], store)


@pytest.mark.parametrize(
    ("owner", "why"), [("", "needs an owner"), ("  ", "needs an owner"), ("flows-engine", "twice")]
)
def test_a_registration_without_a_name_or_with_a_taken_one_is_refused(owner: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        FilterRegistry().register(owner, lambda store: Answers([]))


def test_a_filter_registered_in_one_place_is_unknown_in_another() -> None:
    FilterRegistry().register("mine", lambda store: Answers([]))
    with open_store("memory://") as store, pytest.raises(ConfigurationError):
        FilterRegistry().select(["mine"], store)


def test_the_flows_engine_filter_refuses_a_store_that_cannot_tell_parked_threads() -> None:
    with open_store("memory://") as store:
        store.threads = object()  # type: ignore[assignment]
        with pytest.raises(ConfigurationError, match=r"'flows-engine' needs .*; memory"):
            FlowsEngineFilter(store)


class Hangs:
    """A filter that does not answer until it is let go."""

    owner = "hangs"

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
        assert self.go_on.wait(timeout=30)
        return thread_ids


def test_a_filter_that_does_not_answer_in_time_fails() -> None:
    hangs = Hangs()
    with pytest.raises(LiveThreadFilterError, match=r"'hangs' failed: .* within 0.05 seconds"):
        ask([Answers(["a"]), hangs], ["a"], timedelta(milliseconds=50))
    hangs.go_on.set()


def test_an_answer_in_time_is_the_same_as_one_without_a_limit() -> None:
    hangs = Hangs()
    hangs.go_on.set()
    assert ask([hangs], ["a"], timedelta(seconds=30)) == {"a": "hangs"}


@pytest.mark.parametrize(
    ("raised", "seen"),
    [
        (KeyError("x"), LiveThreadFilterError),
        (TimeoutError("its own"), LiveThreadFilterError),
        (StoreUnavailableError("gone"), StoreUnavailableError),
        (SystemExit(3), SystemExit),
    ],
)
def test_what_a_filter_raises_within_its_time_is_seen_as_without_a_limit(
    raised: BaseException, seen: type[BaseException]
) -> None:
    for timeout in (None, timedelta(seconds=30)):
        with pytest.raises(seen) as caught:
            ask([Answers(raised)], ["a"], timeout)
        assert "did not answer" not in str(caught.value)


def test_a_filter_runs_in_the_context_of_whoever_asks() -> None:
    name = contextvars.ContextVar("name", default="nobody's")

    class Reads:
        owner = "reads"

        def claims(self, thread_ids: Sequence[str]) -> Iterable[str]:
            return [name.get()]

    name.set("a")
    assert ask([Reads()], ["a"], timedelta(seconds=30)) == {"a": "reads"}


def test_the_default_filters_are_those_that_suit_the_store() -> None:
    with open_store("memory://") as store:
        assert default_owners(store) == ("flows-engine",)
    assert default_owners(cast(Any, SimpleNamespace(holds_asks=True))) == (
        "agents",
        "interactions",
        "flows-engine",
    )


@pytest.mark.parametrize("owner", ["interactions", "agents"])
def test_a_filter_for_asks_refuses_a_store_that_holds_none(owner: str) -> None:
    with (
        open_store("memory://") as store,
        pytest.raises(ConfigurationError, match="the memory store cannot hold asks"),
    ):
        FilterRegistry().select([owner], store)
    with pytest.raises(ConfigurationError, match="the given store cannot hold asks"):
        FilterRegistry().select([owner], cast(Any, object()))


NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("facts", "is_over"),
    [
        (ThreadFacts("t", "h", NOW - timedelta(hours=1)), True),
        (ThreadFacts("t", "h", NOW - timedelta(minutes=59)), False),
        (ThreadFacts("t", "h", None), False),
        (ThreadFacts("t", "h", NOW - timedelta(hours=2), LedgerEntry("t")), True),
        (ThreadFacts("t", "h", NOW - timedelta(hours=2), LedgerEntry("t", NOW)), False),
        (ThreadFacts("t", "h", NOW, LedgerEntry("t", NOW - timedelta(hours=2))), False),
    ],
)
def test_a_grace_counts_from_the_last_activity(facts: ThreadFacts, is_over: bool) -> None:
    assert Grace(timedelta(hours=1), lambda: NOW).is_over(facts) is is_over
