"""The parts of the demonstration where something goes wrong."""

from pathlib import Path

import pytest

from retention.errors import RetentionError
from worker.demo.pool import DemoPool
from worker.demo.running import problems_of
from worker.demo.threads import THREADS, count_checkpoints, stock_saver, write_threads


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DemoPool:
    """A pool whose `celery` is a few lines: its worker lives, and nothing it answers is right."""
    package = tmp_path / "fake" / "celery"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        "import sys, time\n"
        "command = sys.argv[3]\n"
        "if command in ('worker', 'slow'): time.sleep(3600)\n"
        "if command == 'inspect': sys.exit('nobody answers')\n"
        "print('not JSON')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    return DemoPool(tmp_path, tmp_path / "store.db", lambda _: None)


def test_a_worker_that_never_answers_is_given_up(
    pool: DemoPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.demo.pool._START_SECONDS", 0.0)
    with pytest.raises(RetentionError, match="did not answer within 0 s"), pool.running():
        pytest.fail("the worker answered")


def test_a_result_that_is_no_result_is_an_error(pool: DemoPool) -> None:
    with pytest.raises(RetentionError, match="the sweep's result is no JSON: not JSON"):
        pool.sweep()


def test_a_command_that_hangs_is_given_up(pool: DemoPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.demo.pool._COMMAND_SECONDS", 0.1)
    with pytest.raises(RetentionError, match="celery slow did not answer within"):
        pool.run("slow")


def test_a_command_that_fails_is_told_with_its_last_line(pool: DemoPool) -> None:
    with pytest.raises(RetentionError, match="celery inspect ended with 1: nobody answers"):
        pool.run("inspect")


def test_whatever_did_not_come_out_as_it_should_is_named() -> None:
    row = {"thread_id": "chat-ana", "fate": "kept", "as_expected": False}
    result = {"outcome": "failed", "reason": "a filter failed"}
    assert problems_of(result, [row], ["drafted"]) == [
        "chat-ana was kept",
        "the sweep ended as failed: a filter failed",
        "the resumed thread ended with ['drafted']",
    ]


def test_the_threads_are_as_old_as_they_say(tmp_path: Path) -> None:
    from retention.ids import instant_of
    from stores.options import now
    from worker.demo.graph import config_of

    path = tmp_path / "store.db"
    write_threads(path)
    assert set(count_checkpoints(path)) == {thread.thread_id for thread in THREADS}
    with stock_saver(path) as saver:
        for thread in THREADS:
            head = next(saver.list(config_of(thread.thread_id)))
            minted = instant_of(head.config["configurable"]["checkpoint_id"])
            assert (minted is None) == thread.has_foreign_ids
            if minted is not None:
                assert abs((now() - minted - thread.idle).total_seconds()) < 60
