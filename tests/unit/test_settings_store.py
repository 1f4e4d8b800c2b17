"""The settings of the store: its address, its retention, and one line for each way to err."""

from collections.abc import Callable

import pytest

from retention.errors import ConfigurationError
from retention.policy import RetentionPolicy
from worker.settings import StoreSettings, load_store_settings

NAME = "LLM_PROVIDER_CHECKPOINT"
CONN = f"{NAME}_CONN_STRING"
WAITING = f"{NAME}_RETENTION_WAITING_MINUTES"
FINISHED = f"{NAME}_RETENTION_FINISHED_MINUTES"
COMPRESS = f"{NAME}_INLINE_COMPRESS_BYTES"

MINUTES_RULE = "a whole number of minutes from 1 to 52560000 is needed"
BYTES_RULE = "a whole number of bytes from 0 to 2147483647 is needed, or null for no compression"
PROVIDER_RULE = "one of redis, postgres, sqlite and memory is needed"
SQLITE_RULE = "sqlite needs a path, bare or as sqlite:///path (sqlite:////path from the root)"
POSTGRES_RULE = "postgres needs an address that begins with postgresql:// or postgres://"
REDIS_RULE = (
    "redis needs an address that begins with redis:// or rediss:// or unix:// or "
    "redis+sentinel:// or redis+cluster://"
)


def load(variables: dict[str, str], storage: str | None = None) -> StoreSettings:
    return load_store_settings(variables, None, storage=storage)


def refusal(variables: dict[str, str], storage: str | None = None) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load(variables, storage)
    line = str(refused.value)
    assert line.splitlines() == [line]
    assert "hunter2" not in line
    return line


def test_the_defaults_are_the_documented_ones() -> None:
    settings = load({NAME: "memory"})
    assert settings.policy == RetentionPolicy(waiting_minutes=10_080, finished_minutes=1_440)
    assert settings.inline_compress_bytes == 65_536
    assert settings.address == "memory://"


def test_every_setting_is_read() -> None:
    settings = load({NAME: "memory", WAITING: "60", FINISHED: "60", COMPRESS: "0"})
    assert settings.policy == RetentionPolicy(waiting_minutes=60, finished_minutes=60)
    assert settings.inline_compress_bytes == 0


def test_null_turns_compression_off() -> None:
    assert load({NAME: "memory", COMPRESS: "null"}).inline_compress_bytes is None


@pytest.mark.parametrize(
    ("provider", "extra", "address"),
    [
        ("memory", {}, "memory://"),
        ("memory", {CONN: "memory://"}, "memory://"),
        ("sqlite", {CONN: "data/a.db"}, "data/a.db"),
        ("sqlite", {CONN: "/data/a.db"}, "/data/a.db"),
        ("sqlite", {CONN: "sqlite:///data/a.db"}, "sqlite:///data/a.db"),
        ("sqlite", {CONN: " sqlite:////data/a.db\r"}, "sqlite:////data/a.db"),
        ("postgres", {CONN: "postgres://h/d"}, "postgres://h/d"),
        ("postgres", {"DATABASE_URL": "postgresql://h/d"}, "postgresql://h/d"),
        ("postgres", {CONN: "postgresql://a", "DATABASE_URL": "mysql://b"}, "postgresql://a"),
    ],
)
def test_the_address_is_the_connection_string_or_the_shared_url(
    provider: str, extra: dict[str, str], address: str
) -> None:
    settings = load({NAME: provider, "REDIS_URL": "redis://unused", **extra})
    assert (settings.provider, settings.address) == (provider, address)


@pytest.mark.parametrize(
    ("variables", "address"),
    [
        ({"REDIS_URL": "redis://:p@h:6379/0"}, "redis://:p@h:6379/0"),
        ({CONN: "rediss://h", "REDIS_URL": "redis://unused"}, "rediss://h"),
        ({CONN: "unix:///run/r.sock"}, "unix:///run/r.sock"),
        ({CONN: "redis+sentinel://a:1,b:2/main/0"}, "redis+sentinel://a:1,b:2/main/0"),
        ({CONN: "redis+cluster://a:1"}, "redis+cluster://a:1"),
    ],
)
def test_an_unset_provider_is_redis(variables: dict[str, str], address: str) -> None:
    settings = load(variables)
    assert (settings.provider, settings.address) == ("redis", address)


@pytest.mark.parametrize(
    "value", ["Redis", "SQLITE", "postgresql", "mongo", "none", "redis,postgres", "sqlite:///a.db"]
)
def test_an_unknown_provider_is_refused(value: str) -> None:
    assert refusal({NAME: value}) == f"{NAME}={value!r} is refused: {PROVIDER_RULE}"


def test_quotes_around_a_provider_are_pointed_out() -> None:
    assert refusal({NAME: '"sqlite"'}) == (
        f"{NAME}='\"sqlite\"' is refused: {PROVIDER_RULE} "
        "(the quotes are part of the value: remove them)"
    )


def test_an_address_with_its_password_in_place_of_the_provider_is_shown_without_it() -> None:
    assert refusal({NAME: "postgresql://u:hunter2@h/d"}) == (
        f"{NAME}='postgresql://u:***@h/d' is refused: {PROVIDER_RULE}"
    )


@pytest.mark.parametrize("name", [NAME, CONN, WAITING, FINISHED, COMPRESS])
@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_value_is_refused(name: str, value: str) -> None:
    line = refusal({NAME: "memory", name: value})
    assert line.startswith(f"{name}='' is refused: it is empty, but ")
    assert line.endswith("; remove it to use the default")


@pytest.mark.parametrize("name", [WAITING, FINISHED])
@pytest.mark.parametrize(
    "value", ["0", "-5", "1.5", "7d", "a week", "null", "1_440", "52560001", "9" * 30, "inf"]
)
def test_a_retention_that_is_no_number_of_minutes_is_refused(name: str, value: str) -> None:
    line = refusal({NAME: "memory", name: value})
    assert line == f"{name}={value!r} is refused: {MINUTES_RULE}"


@pytest.mark.parametrize("value", ["-1", "64k", "none", "NULL", "off", "1.5", "2147483648"])
def test_a_compression_limit_that_is_no_number_of_bytes_is_refused(value: str) -> None:
    assert refusal({NAME: "memory", COMPRESS: value}) == (
        f"{COMPRESS}={value!r} is refused: {BYTES_RULE}"
    )


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        (
            {WAITING: "60", FINISHED: "61"},
            f"{FINISHED}=61 is refused: it must not exceed {WAITING}, which is 60",
        ),
        (
            {WAITING: "60"},
            f"{FINISHED}=1440 (its default) is refused: it must not exceed {WAITING}, which is 60",
        ),
    ],
)
def test_a_finished_retention_above_the_waiting_one_is_refused(
    variables: dict[str, str], line: str
) -> None:
    assert refusal({NAME: "memory", **variables}) == line


@pytest.mark.parametrize(
    ("provider", "address", "shown", "rule"),
    [
        ("sqlite", "sqlite://a.db", "'sqlite://a.db'", SQLITE_RULE),
        ("sqlite", "sqlite:///", "'sqlite:///'", SQLITE_RULE),
        ("sqlite", "sqlite:a.db", "'***'", SQLITE_RULE),
        ("sqlite", "file:a.db?mode=ro", "'***'", SQLITE_RULE),
        ("sqlite", "postgresql://u:hunter2@h", "'postgresql://u:***@h'", SQLITE_RULE),
        (
            "sqlite",
            "sqlite:///:memory:",
            "'sqlite:///:memory:'",
            "a database in memory is gone with its connection: choose the provider memory",
        ),
        ("postgres", "redis://:hunter2@h", "'redis://:***@h'", POSTGRES_RULE),
        ("postgres", "POSTGRESQL://h", "'POSTGRESQL://h'", POSTGRES_RULE),
        ("postgres", "host=h password=hunter2", "'***'", POSTGRES_RULE),
        ("postgres", "hunter2", "'***'", POSTGRES_RULE),
        ("postgres", "postgres:/u:hunter2@h", "'***'", POSTGRES_RULE),
        (
            "postgres",
            "postgresql+psycopg://u:hunter2@h",
            "'postgresql+psycopg://u:***@h'",
            (
                f"{POSTGRES_RULE} (the driver in postgresql+psycopg:// is SQLAlchemy's own "
                "notation: leave it out)"
            ),
        ),
        ("memory", "a.db", "'***'", "memory takes no address but memory://"),
        ("memory", "redis://h", "'redis://h'", "memory takes no address but memory://"),
    ],
)
def test_an_address_that_does_not_fit_its_provider_is_refused(
    provider: str, address: str, shown: str, rule: str
) -> None:
    line = refusal({NAME: provider, CONN: address})
    assert line == f"{CONN}={shown} is refused: {rule}, as {NAME} is {provider}"


def test_a_shared_url_that_does_not_fit_is_named_itself() -> None:
    assert refusal({NAME: "postgres", "DATABASE_URL": "mysql://u:hunter2@h"}) == (
        f"DATABASE_URL='mysql://u:***@h' is refused: {POSTGRES_RULE}, as {NAME} is postgres"
    )


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({}, f"{CONN} or REDIS_URL is not set: {NAME}='redis' needs an address"),
        (
            {CONN: "postgresql://u:hunter2@h"},
            f"{CONN}='postgresql://u:***@h' is refused: {REDIS_RULE}, as {NAME} is redis",
        ),
        (
            {"REDIS_URL": "hunter2"},
            f"REDIS_URL='***' is refused: {REDIS_RULE}, as {NAME} is redis",
        ),
    ],
)
def test_an_address_that_is_no_redis_is_refused(variables: dict[str, str], line: str) -> None:
    assert refusal(variables) == line


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({NAME: "sqlite"}, f"{CONN} is not set: {NAME}='sqlite' needs a path"),
        (
            {NAME: "postgres", "DATABASE_URL": " ", "REDIS_URL": "redis://h"},
            f"{CONN} or DATABASE_URL is not set: {NAME}='postgres' needs an address",
        ),
    ],
)
def test_a_provider_without_an_address_is_refused(variables: dict[str, str], line: str) -> None:
    assert refusal(variables) == line


@pytest.mark.parametrize(
    ("address", "provider"),
    [
        ("a.db", "sqlite"),
        ("sqlite:////a.db", "sqlite"),
        ("postgres://h", "postgres"),
        ("memory://", "memory"),
        ("redis+sentinel://a:1,b:2/main/0", "redis"),
    ],
)
def test_a_storage_option_stands_in_place_of_provider_and_connection(
    address: str, provider: str
) -> None:
    settings = load({NAME: "postgres", CONN: "postgresql://other", WAITING: "2000"}, address)
    assert (settings.provider, settings.address) == (provider, address)
    assert settings.policy.waiting_minutes == 2000


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("", f"--storage='' is refused: {SQLITE_RULE}"),
        ("sqlite://a.db", f"--storage='sqlite://a.db' is refused: {SQLITE_RULE}"),
        ("memory://x", "--storage='memory://x' is refused: memory takes no address but memory://"),
        (
            "mysql://u:hunter2@h",
            (
                "--storage='mysql://u:***@h' is refused: an address needs a path or one of "
                "redis://, rediss://, unix://, redis+sentinel://, redis+cluster://, postgresql://, "
                "postgres://, sqlite://, memory://"
            ),
        ),
    ],
)
def test_a_storage_option_that_is_no_address_is_refused(address: str, line: str) -> None:
    assert refusal({}, address) == line


@pytest.mark.parametrize("show", [repr, str])
def test_settings_do_not_show_their_password(show: Callable[[object], str]) -> None:
    settings = load({NAME: "postgres", CONN: "postgresql://u:hunter2@h"})
    assert "hunter2" not in show(settings)
