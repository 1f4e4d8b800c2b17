"""What operators are told by a store that lacks an ability, and by filters that cannot answer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from retention import RetentionPolicy
from retention.ending import EndRule, end
from retention.erasing import erase, holdings
from retention.errors import ConfigurationError
from retention.explaining import explain
from retention.previewing import preview, redate
from retention.runs import Outcome
from retention.statuses import ThreadStatus
from retention.sweep import LocalDispatch, Sweep
from retention.threads import Ended, Horizon, LedgerEntry, ThreadFacts

NOW = datetime(2026, 6, 1, tzinfo=UTC)
POLICY = RetentionPolicy(60, 10)


class Index:
    """A thread index that knows one thread and can do no more than the sweep asks."""

    def __init__(self) -> None:
        entry = LedgerEntry("t", marked_at=NOW.replace(day=1, month=5), due_at=NOW)
        self._facts = ThreadFacts("t", "head", NOW.replace(month=4), entry)

    def due_page(self, now: datetime, after: object, limit: int) -> Any:
        from retention.ports import Page

        return Page([self._facts], None)

    def facts(self, thread_ids: object) -> dict[str, ThreadFacts]:
        return {"t": self._facts}

    def count_threads(self) -> int:
        return 1


@dataclass
class Bare:
    """A store of somebody's own, with the ports of a sweep and nothing else."""

    provider: str = "bare"
    managed: None = None
    waiting_skipped: str | None = "its threads stay"
    threads: Index = field(default_factory=Index)
    ledger: object = None
    deleter: object = None


def sweep() -> Sweep:
    """A sweep of the bare store."""
    return Sweep(cast(Any, Bare()), POLICY, (), LocalDispatch(), lambda: NOW)


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (lambda s: erase(s, "t", "ops"), "erase threads"),
        (lambda s: holdings(s, "t"), "erase threads"),
        (lambda s: redate(s, POLICY), "re-date marks"),
        (lambda s: end(s.store, "t", Ended(NOW, "ops", "why"), EndRule(NOW)), "end threads"),
    ],
)
def test_a_store_without_the_ability_is_named(act: Callable[[Sweep], object], what: str) -> None:
    with pytest.raises(ConfigurationError, match=f"a bare store of this kind cannot {what}"):
        act(sweep())


def test_a_preview_counts_threads_though_the_store_cannot_tell_their_sizes() -> None:
    found = preview(sweep(), POLICY)
    assert found.threads[Horizon.FINISHED] == 1
    assert found.left_alone.total(Outcome.HELD) == 0
    assert found.bytes_unknown == "a bare store of this kind cannot tell sizes"


def test_a_thread_is_explained_though_the_store_cannot_tell_parked_or_failed_runs() -> None:
    found = explain(sweep(), "t")
    assert found is not None
    assert found.status is ThreadStatus.FINISHED
    assert found.is_going
