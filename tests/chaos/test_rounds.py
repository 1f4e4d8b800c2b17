"""Whatever is killed or lost meanwhile: all that is due goes, once, and is counted once."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from stores import init_store
from tests.acceptance.deployment import Deployment
from tests.brokers import BrokerPlace, broker_place
from tests.chaos.pool import SETTINGS
from tests.chaos.rounds import Chaos

#: Pairs of the normal run; the long form has all.
SHORT = [("postgres", "redis"), ("redis", "filesystem")]
PAIRS = [(store, broker) for store in ("sqlite", "postgres", "redis") for broker in
         ("filesystem", "redis", "rabbitmq")]  # fmt: skip


@pytest.fixture
def broker(
    request: pytest.FixtureRequest, pair: tuple[str, str], tmp_path: Path
) -> Iterator[BrokerPlace]:
    """The broker of a pair."""
    made = broker_place(request, pair[1], tmp_path)
    yield made
    made.close()


@pytest.fixture
def chaos(
    request: pytest.FixtureRequest, pair: tuple[str, str], broker: BrokerPlace, tmp_path: Path
) -> Chaos:
    """A pool on a pair of store and broker, and a seed that can be given again."""
    servers = {"postgres": "postgres_dsn", "redis": "redis_store_url"}
    sqlite = pair[0] == "sqlite"
    address = str(tmp_path / "store.db") if sqlite else request.getfixturevalue(servers[pair[0]])
    init_store(address)
    deployment = Deployment(tmp_path, pair[0], address, broker.url, {**SETTINGS, **broker.settings})
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(10**6))
    chaos = Chaos(deployment, broker, random.Random(seed))
    chaos.say(f"{'-'.join(pair)}: CHAOS_SEED={seed}")
    return chaos


@pytest.mark.parametrize("pair", SHORT, ids="-".join)
def test_two_rounds_leave_exact_counts(chaos: Chaos) -> None:
    assert_exact(chaos, 2)


@pytest.mark.soak
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_twenty_rounds_leave_exact_counts(chaos: Chaos) -> None:
    assert_exact(chaos, 20)


def assert_exact(chaos: Chaos, rounds: int) -> None:
    """Print what was done; nothing may be wrong."""
    tally = chaos.run(rounds)
    chaos.say(str(tally))
    assert tally.mismatches == []
    assert tally.rounds == rounds
