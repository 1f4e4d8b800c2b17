"""Counting what the transactions of a sweep settle, with or without others who write."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from retention.ports import Claim
from retention.threads import Judge
from tests.integration.places import Place
from tests.seeding import seed_thread


def write(place: Place) -> None:
    """Somebody else writes a thread."""
    with place.saver("ours") as saver:
        seed_thread(saver, uuid.uuid4().hex, datetime.now(UTC))


@dataclass
class Transactions:
    """How many threads each transaction of a sweep settled; others may write after each."""

    place: Place
    busy: bool
    sizes: list[int] = field(default_factory=list)

    def settled(self, threads: int) -> None:
        """Note one."""
        self.sizes.append(threads)
        if self.busy:
            write(self.place)

    def of(self, deleter: type[Any], monkeypatch: pytest.MonkeyPatch) -> "Transactions":
        """These, now that they note all of this kind of deleter."""
        settle, noted = deleter.settle, self.settled

        def counted(
            self: Any, claim: Claim, indexes: Sequence[int], judge: Judge, spared: Mapping[str, str]
        ) -> None:
            settle(self, claim, indexes, judge, spared)
            noted(len(indexes))

        monkeypatch.setattr(deleter, "settle", counted)
        return self
