"""Real agents on each store, swept every few seconds by a pool that is killed at random."""

import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stores import init_store
from tests.acceptance.deployment import Deployment
from tests.brokers import FilesystemPlace
from tests.chaos.soak import SETTINGS, Soak

#: All stores, or those that are named.
STORES = os.environ.get("SOAK_STORES", "sqlite,postgres,redis").split(",")
#: How long the agents run; ``./run soak MINUTES`` says otherwise.
MINUTES = float(os.environ.get("SOAK_MINUTES", "60"))


@pytest.fixture
def soaks(postgres_dsn: str, redis_store_url: str, tmp_path: Path) -> list[Soak]:
    """A soak on each store, with a seed that can be given again."""
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(10**6))
    sys.stdout.write(f"\nCHAOS_SEED={seed}\n")
    addresses = {
        "sqlite": str(tmp_path / "store.db"),
        "postgres": postgres_dsn,
        "redis": redis_store_url,
    }
    made = []
    for provider in STORES:
        address = addresses[provider]
        init_store(address)
        folder = tmp_path / provider
        folder.mkdir()
        broker = FilesystemPlace(folder / "broker")
        deployment = Deployment(folder, provider, address, broker.url, SETTINGS)
        made.append(Soak(deployment, seed))
    return made


@pytest.mark.soak
def test_no_thread_is_lost_and_every_count_is_exact(soaks: list[Soak]) -> None:
    with ThreadPoolExecutor(len(soaks)) as pool:
        accounts = list(pool.map(lambda soak: soak.run(MINUTES * 60), soaks))
    for account in accounts:
        sys.stdout.write(f"{account}\n")
    assert [account.mismatches for account in accounts] == [[]] * len(soaks)
