"""What a checkpoint store of its own means for a run: its threads, its marks, and who sweeps them.

The deployment's store is the one that is swept; the run's store is another.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from retention.errors import StoreUnavailableError
from retention.owners import agent_run, flow_run
from tests.conftest import service
from tests.integration import graphs
from tests.integration.owning import World, fresh
from tests.integration.places import later
from tests.integration.sweeping import sweep
from tests.servers import PostgresServer, RedisServer

OWNED = "agent-{flow_run_id}"


@pytest.fixture
def deployment(tmp_path: Path, mode: str) -> Iterator[World]:
    """The store that every process shares, and that is swept."""
    with World.of(f"sqlite:///{tmp_path / 'deployment.db'}", mode) as opened:
        yield opened


@pytest.fixture
def finished(here: World) -> str:
    """A finished agent run on a store of its own: its thread, marked there."""
    graph = here.compile(graphs.chain())
    run = here.run(agent_run(ledger=here.ledger, graph=graph), graph)
    assert here.is_marked(run.thread_id)
    return str(run.thread_id)


@pytest.mark.parametrize("owner_address", ["redis"], indirect=True)
def test_a_thread_on_a_redis_store_leaves_on_its_key_ttl_marked_or_not(
    here: World, deployment: World, owner_address: str, finished: str
) -> None:
    graph = here.compile(graphs.chain())
    waiting = here.run(agent_run(ledger=here.ledger, graph=graph, thread_id=fresh("caller")), graph)
    assert not here.is_marked(waiting.thread_id)
    week = 7 * 24 * 3600
    with Redis.from_url(owner_address, decode_responses=True) as client:
        for thread_id in (finished, waiting.thread_id):
            keys = list(client.scan_iter(match=f"*{thread_id}*"))
            assert len(keys) >= 3
            assert all(week - 600 < client.ttl(key) <= week for key in keys)
    assert sweep(deployment.store).counts.everything() == 0
    assert here.holds(finished)


@pytest.mark.parametrize("owner_address", ["memory"], indirect=True)
def test_a_thread_on_a_memory_store_lives_with_its_process(
    here: World, deployment: World, finished: str
) -> None:
    graph = here.compile(graphs.chain())
    talk = here.run(agent_run(ledger=here.ledger, graph=graph, thread_id=fresh("caller")), graph)
    assert sweep(deployment.store).counts.everything() == 0
    own = sweep(here.store).to_json()
    assert own["waiting_swept"] == []
    assert "lives as long as its process" in own["skipped"]
    assert here.holds(talk.thread_id)


@pytest.mark.parametrize("owner_address", ["sqlite", "postgres"], indirect=True)
def test_a_thread_on_a_postgres_or_sqlite_store_of_its_own_is_not_swept(
    here: World, deployment: World, finished: str
) -> None:
    assert sweep(deployment.store).counts.everything() == 0
    assert here.holds(finished)


@pytest.mark.parametrize("owner_address", ["sqlite", "postgres"], indirect=True)
def test_its_marks_land_in_that_stores_own_ledger_so_a_deployment_on_it_sweeps_them(
    here: World, deployment: World, finished: str
) -> None:
    assert deployment.store.ledger.entries([finished]) == {}
    assert finished in sweep(here.store, later(1.1)).to_json()["finished_swept"]
    assert not here.holds(finished)


def test_flow_marks_its_session_in_its_own_ledger_and_owned_threads_in_the_deployments(
    here: World, deployment: World
) -> None:
    name = fresh("flow")
    graph, inner = here.compile(graphs.chain()), deployment.compile(graphs.chain())
    agent = agent_run(ledger=deployment.ledger, graph=inner, thread_id=f"agent-{name}")
    deployment.run(agent, inner)
    here.run(flow(here, deployment, graph, name), graph)
    assert (here.is_marked(name), here.is_marked(f"agent-{name}")) == (True, False)
    assert (deployment.is_marked(name), deployment.is_marked(f"agent-{name}")) == (False, True)
    assert sweep(deployment.store, later(1.1)).to_json()["finished_swept"] == [f"agent-{name}"]


def test_an_owned_thread_whose_agent_ran_on_another_store_leaves_on_its_waiting_horizon(
    here: World, deployment: World
) -> None:
    name = fresh("flow")
    graph, inner = deployment.compile(graphs.chain()), here.compile(graphs.chain())
    owned = f"agent-{name}"
    here.run(agent_run(ledger=here.ledger, graph=inner, thread_id=owned), inner)
    deployment.run(flow(deployment, deployment, graph, name), graph)
    # The deployment's sweep finds nothing of it to delete.
    assert sweep(deployment.store, later(1.1)).to_json()["finished_swept"] == [name]
    assert sweep(deployment.store).counts.everything() == 0
    assert here.holds(owned)
    assert not here.is_marked(owned)
    sweep(here.store, later(6.9))
    assert here.holds(owned)
    swept = sweep(here.store).to_json()
    assert (owned in swept["waiting_swept"]) == (swept["skipped"] is None)


def flow(own: World, deployment: World, graph: Any, name: str) -> Any:
    """A flow run on one store, in a deployment on another."""
    return flow_run(
        ledger=own.ledger,
        deployment_ledger=deployment.ledger,
        graph=graph,
        flow_run_id=name,
        owned=[OWNED],
    )


# A store that goes away, or was never there.


@pytest.fixture(params=["memory", "sqlite"])
def closed_at(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that takes nothing any more once it is closed."""
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'own.db'}"


def not_marked(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines of the log that say that a run was not marked."""
    lines = [str(record.msg) for record in caplog.records]
    return [line for line in lines if line.startswith("run_not_marked ")]


@pytest.mark.parametrize("owner_address", ["memory", "sqlite", "postgres"], indirect=True)
def test_a_store_away_at_the_end_is_logged_and_hides_no_error_of_the_run(
    owner_address: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []
    with ExitStack() as opened:
        here = opened.enter_context(World.of(owner_address, "sync"))

        def fail(run: Any) -> None:
            seen.append(run.thread_id)
            opened.close()
            raise LookupError("the caller's own")

        graph = here.compile(graphs.chain())
        with pytest.raises(LookupError, match="the caller's own"):
            here.run(agent_run(ledger=here.ledger, graph=graph), graph, then=fail)
    (line,) = not_marked(caplog)
    assert line.startswith(f"run_not_marked thread={seen[0]} owner=agent_run error=")
    if owner_address != "memory://":
        with World.of(owner_address, "sync") as again:
            assert again.holds(seen[0])
            assert not again.is_marked(seen[0])


@pytest.mark.parametrize("kind", [PostgresServer, RedisServer])
def test_a_server_away_at_the_start_lets_no_run_begin(kind: Any, mode: str) -> None:
    began: list[Any] = []
    with service():
        server = kind()
    with server, World.of(address_of(server), mode) as here:
        graph = here.compile(graphs.chain())
        server.stop()
        with pytest.raises(StoreUnavailableError):
            here.only(agent_run(ledger=here.ledger, graph=graph), began.append)
    assert began == []


def test_a_redis_away_at_the_end_is_logged_and_fails_no_run_that_went_well(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    with service():
        server = RedisServer()
    with server, World.of(server.url(), mode) as here:
        graph = here.compile(graphs.chain())
        context = agent_run(ledger=here.ledger, graph=graph)
        run = here.run(context, graph, then=lambda run: server.stop())
    (line,) = not_marked(caplog)
    assert f"thread={run.thread_id} " in line
    assert "StoreUnavailableError" in line


def address_of(server: PostgresServer | RedisServer) -> str:
    """Where a store can be opened on a server."""
    return server.dsn() if isinstance(server, PostgresServer) else server.url()


def test_a_flow_whose_own_store_takes_no_mark_still_marks_its_owned_threads(
    closed_at: str, deployment: World, caplog: pytest.LogCaptureFixture
) -> None:
    name = fresh("flow")
    inner = deployment.compile(graphs.chain())
    agent = agent_run(ledger=deployment.ledger, graph=inner, thread_id=f"agent-{name}")
    deployment.run(agent, inner)
    with ExitStack() as opened:
        here = opened.enter_context(World.of(closed_at, "sync"))
        ledger = deployment.store.ledger
        graph = here.compile(graphs.chain())
        context = flow_run(
            ledger=here.ledger,
            deployment_ledger=ledger,
            graph=graph,
            flow_run_id=name,
            owned=[OWNED],
        )
        with context as run:
            opened.close()
            run.stop()
    assert deployment.is_marked(f"agent-{name}")
    assert len(not_marked(caplog)) == 1
