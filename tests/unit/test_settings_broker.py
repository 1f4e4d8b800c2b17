"""Broker and result backend: what is taken, what follows from the other, and what is refused."""

from pathlib import Path

import pytest

from retention.errors import ConfigurationError
from worker.settings import BrokerSettings, load_broker_settings

BROKER_RULE = (
    "a URL such as redis://host:6379/0, amqp://user:password@host:5672/vhost or "
    "filesystem:///absolute/folder is needed"
)
RESULTS_RULE = (
    "a URL such as redis://host:6379/0, db+postgresql://host/name or file:///absolute/folder is "
    "needed"
)
PLACE_RULE = (
    "a host and a port from 1 to 65535, as host:6379, are needed, and special characters in a "
    "password as %XX"
)
NUMBER_RULE = "the number of a Redis database, as redis://host:6379/0, is needed"
FOLDER_RULE = "an absolute folder after three slashes, as filesystem:///var/spool/x, is needed"


def load(broker: str | None, results: str | None = None) -> BrokerSettings:
    given = {"CELERY_BROKER_URL": broker, "CELERY_RESULT_BACKEND": results}
    return load_broker_settings({n: v for n, v in given.items() if v is not None}, None)


def refusal(broker: str | None, results: str | None = None) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load(broker, results)
    line = str(refused.value)
    assert line.splitlines() == [line]
    assert "hunter2" not in line
    return line


@pytest.mark.parametrize(
    "url",
    [
        "redis://:p@h:6379/0",
        "rediss://h?ssl_cert_reqs=none",
        "redis+socket:///run/redis.sock",
        "sentinel://a:1;sentinel://b:1",
    ],
)
def test_results_go_to_the_redis_broker_unless_told_otherwise(url: str) -> None:
    settings = load(url)
    assert (settings.broker_url, settings.result_backend) == (url, url)
    assert settings.is_redis
    assert settings.folder is None
    assert settings.transport_options == {}
    assert load(url, "db+sqlite:///r.db").result_backend == "db+sqlite:///r.db"


@pytest.mark.parametrize("host", ["", "localhost"])
def test_a_filesystem_broker_keeps_all_it_needs_in_its_folder(tmp_path: Path, host: str) -> None:
    folder = tmp_path / "a broker"
    settings = load(f"filesystem://{host}{folder}")
    assert settings == BrokerSettings(
        f"filesystem://localhost{folder}", f"file://{folder}/results", folder
    )
    assert not settings.is_redis
    assert settings.transport_options == {
        "data_folder_in": f"{folder}/messages",
        "data_folder_out": f"{folder}/messages",
        "control_folder": f"{folder}/control",
        "polling_interval": 0.05,
    }
    assert not folder.exists(), "loading settings creates nothing"


@pytest.mark.parametrize(
    "backend", ["redis://h", "db+postgresql://h/d", "file:///x", "cache+memcached://h", "a.b.C://"]
)
def test_another_broker_passes_through_with_a_backend_of_its_own(backend: str) -> None:
    settings = load("amqp://u:p@h//", backend)
    assert (settings.broker_url, settings.result_backend) == ("amqp://u:p@h//", backend)
    assert not settings.is_redis


@pytest.mark.parametrize("value", [None, "", "  "])
def test_an_unset_broker_is_named(value: str | None) -> None:
    assert refusal(value) == f"CELERY_BROKER_URL is not set: {BROKER_RULE}"


@pytest.mark.parametrize(
    ("url", "shown", "rule"),
    [
        ("redis", "***", BROKER_RULE),
        ("hunter2", "***", BROKER_RULE),
        ("localhost:6379", "***", BROKER_RULE),
        ("redis:/:hunter2@h", "***", BROKER_RULE),
        ("reddis://:hunter2@h", "reddis://:***@h", BROKER_RULE),
        ("REDIS://h", "REDIS://h", BROKER_RULE),
        ("postgresql://u:hunter2@h", "postgresql://u:***@h", BROKER_RULE),
        ("://h", "://h", BROKER_RULE),
        (
            "'redis://h'",
            "'redis://h'",
            f"{BROKER_RULE} (the quotes are part of the value: remove them)",
        ),
        (
            "memory://",
            "memory://",
            (
                "memory:// cannot work, as its messages never leave their process, and beat and "
                "the workers are several"
            ),
        ),
        (
            "sqla+postgresql://u:hunter2@h/d",
            "sqla+postgresql://u:***@h/d",
            (
                "sqla:// cannot work, as a database as broker answers no remote command "
                "(inspect, revoke, Flower)"
            ),
        ),
        (
            "sqlalchemy://",
            "sqlalchemy://",
            (
                "sqlalchemy:// cannot work, as a database as broker answers no remote command "
                "(inspect, revoke, Flower)"
            ),
        ),
        *[
            (f"{head}{tail}", f"{head.replace('hunter2', '***')}{tail}", PLACE_RULE)
            for head in ("redis://:hunter2@h", "amqp://u:hunter2@h", "sentinel://:hunter2@h")
            for tail in (":99999/0", ":port/0", f":{10**30}", ":-1", ":0")
        ],
        ("sentinel://a:1;sentinel://b:x", "sentinel://a:1;sentinel://b:x", PLACE_RULE),
        ("redis://[::1", "redis://***", PLACE_RULE),
        *[(f"redis://h/{db}", f"redis://h/{db}", NUMBER_RULE) for db in ("x", "-1", "1/2", 10**30)],
        ("filesystem://", "filesystem://", FOLDER_RULE),
        ("filesystem:///", "filesystem:///", FOLDER_RULE),
        ("filesystem://spool", "filesystem://spool", FOLDER_RULE),
        ("filesystem://host/spool", "filesystem://host/spool", FOLDER_RULE),
    ],
)
def test_a_broker_that_cannot_work_is_refused(url: str, shown: str, rule: str) -> None:
    assert refusal(url) == f"CELERY_BROKER_URL={shown!r} is refused: {rule}"


@pytest.mark.parametrize(
    ("url", "shown", "rule"),
    [
        (
            "rpc://",
            "rpc://",
            (
                "rpc:// cannot work, as only the caller could read a result, so the id of a sweep "
                "could not be resolved later"
            ),
        ),
        (
            "cache+memory://",
            "cache+memory://",
            "cache+memory:// cannot work, as its results never leave their process",
        ),
        (
            "disabled://",
            "disabled://",
            "disabled:// cannot work, as the id of a sweep could not be resolved",
        ),
        ("postgresql://u:hunter2@h", "postgresql://u:***@h", RESULTS_RULE),
        ("amqp://u:hunter2@h", "amqp://u:***@h", RESULTS_RULE),
        ("redis://:hunter2@h:99999", "redis://:***@h:99999", PLACE_RULE),
        ("redis://h/x", "redis://h/x", NUMBER_RULE),
        ("sentinel://a:1;sentinel://b:x", "sentinel://a:1;sentinel://b:x", PLACE_RULE),
        (
            "db+postgresql://u:hunter2@h:99999/d",
            "db+postgresql://u:***@h:99999/d",
            PLACE_RULE,
        ),
        ("redis", "***", RESULTS_RULE),
        ("hunter2", "***", RESULTS_RULE),
    ],
)
def test_a_result_backend_that_cannot_work_is_refused(url: str, shown: str, rule: str) -> None:
    assert refusal("redis://h", url) == f"CELERY_RESULT_BACKEND={shown!r} is refused: {rule}"


def test_a_broker_that_keeps_no_results_needs_a_backend() -> None:
    assert refusal("amqp://u:hunter2@h") == (
        "CELERY_RESULT_BACKEND is not set: with amqp:// as broker, results need a place of their "
        f"own, and {RESULTS_RULE}"
    )


def test_settings_do_not_show_their_passwords() -> None:
    settings = load("redis://:hunter2@h", "redis://:hunter2@h")
    assert "hunter2" not in f"{settings!r} {settings}"
