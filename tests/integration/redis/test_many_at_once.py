"""An agent server with more runs at once than redis-py allows a client connections by itself."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from stores import aopen_saver, open_saver
from tests.seeding import config_of

RUNS = 130


def test_each_of_many_threads_has_its_connection(redis_store_url: str) -> None:
    together = threading.Barrier(RUNS)

    def step(number: int) -> object:
        together.wait(60)
        found = saver.get_tuple(config_of(f"t{number}"))
        together.wait(60)
        return found

    with open_saver(redis_store_url) as saver, ThreadPoolExecutor(RUNS) as executor:
        assert list(executor.map(step, range(RUNS))) == [None] * RUNS


def test_many_steps_of_one_loop_wait_for_nobody(redis_store_url: str) -> None:
    async def steps() -> list[object]:
        async with aopen_saver(redis_store_url) as saver:
            asked = [saver.aget_tuple(config_of(f"t{number}")) for number in range(RUNS)]
            return list(await asyncio.gather(*asked))

    assert asyncio.run(steps()) == [None] * RUNS
