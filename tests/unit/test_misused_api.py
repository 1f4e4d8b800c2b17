"""What is passed where something else belongs is refused in one line that says what belongs."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from retention import ThreadRetention
from retention.errors import ConfigurationError
from retention.owners import agent_run
from retention.threads import Hold
from stores import Store, open_store
from stores.thread_ids import named_one
from tests.seeding import seed_thread


class _Graph:
    """A graph that keeps checkpoints somewhere."""

    def get_state(self, config: Any, /) -> Any:
        raise NotImplementedError

    async def aget_state(self, config: Any, /) -> Any:
        raise NotImplementedError


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ConfigurationError) as refused:
        call()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def entered(**arguments: Any) -> None:
    with agent_run(graph=_Graph(), **arguments):
        pass


def test_an_address_that_is_no_text_is_refused() -> None:
    line = refusal(lambda: open_store(None).__enter__())  # type: ignore[arg-type]
    assert line.startswith("the address of a store must be a text")
    assert line.endswith(": None")


def test_a_retention_that_is_a_number_is_refused_wherever_one_is_declared() -> None:
    rule = "must be a ThreadRetention, such as ThreadRetention(waiting_minutes=60): 60"
    wrong: Any = 60
    with open_store("memory://") as store:
        assert rule in refusal(lambda: store.ledger.start(["t"], wrong))
        assert rule in refusal(lambda: entered(ledger=store.ledger, retention=60))
    assert rule in refusal(lambda: open_store("memory://", retention=wrong).__enter__())


def test_what_is_no_ledger_is_refused_before_the_run_begins() -> None:
    with open_store("memory://") as store:
        for wrong in (store.saver, lambda: store):
            line = refusal(lambda given=wrong: entered(ledger=given))  # type: ignore[misc]
            assert line.startswith("ledger must be the `ledger` of a store")
        entered_with = agent_run(graph=_Graph(), ledger=lambda: store.ledger, thread_id="t")
        with entered_with:
            assert "t" in store.ledger.entries(["t"])


@pytest.mark.parametrize(
    "call",
    [
        lambda store, i: store.ledger.start([i], ThreadRetention(60)),
        lambda store, i: store.ledger.mark_finished(["t", i]),
    ],
    ids=["start", "mark"],
)
def test_none_is_refused_as_a_thread_id(call: Callable[[Store, Any], object]) -> None:
    with open_store("memory://") as store:
        line = refusal(lambda: call(store, None))
    assert line == "a thread id must be a text, not None"


def test_an_empty_id_is_an_id_like_any_other() -> None:
    with open_store("memory://") as store:
        seed_thread(store.saver, "", datetime(2026, 1, 1, tzinfo=UTC))
        store.ledger.start([""])
        assert store.ledger.hold([""], Hold("law")) == {""}
        assert store.ledger.release([""]) == {""}


def test_a_number_is_a_thread_id_by_its_text() -> None:
    assert named_one(3) == "3"
    wrong: Any = [3]
    with open_store("memory://") as store:
        store.ledger.start(wrong)
        assert set(store.ledger.entries(["3"])) == {"3"}
