"""Each ``SWEEP_`` setting: its default, its bounds, and one line for each way to get it wrong."""

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from retention.errors import ConfigurationError
from worker.settings import Crontab, Interval, SweepSettings, load_sweep_settings

DEFAULTS: dict[str, Any] = {
    "batch_size": 500,
    "result_threads": 1000,
    "max_delete_rounds": 100,
    "history_days": 30,
    "schedule": Interval(3600),
    "jitter_seconds": 30,
    "queue": "retention",
    "queue_type": "classic",
    "lease_seconds": 300,
    "soft_time_limit_seconds": 240,
    "soft_shutdown_seconds": 20,
    "visibility_timeout_seconds": None,
    "statement_timeout_seconds": 60,
    "lock_timeout_seconds": 5,
    "time_budget_seconds": None,
    "max_threads": None,
    "max_share": None,
    "filters": None,
    "filter_timeout_seconds": None,
    "flows_engine_grace_minutes": None,
    "on_deleted": None,
    "on_deleted_timeout_seconds": 30,
    "policies": (),
    "allow_server_database": False,
    "orphan_grace_seconds": 3600,
    "batch_attempts": 5,
    "log_format": "kv",
    "metrics_prefix": "tai42_checkpoint_sweep_",
    "pushgateway_url": None,
    "pushgateway_timeout_seconds": 5,
    "store_name": None,
    "window": None,
    "window_timezone": ZoneInfo("UTC"),
    "max_threads_per_second": None,
    "pause_seconds": 0.0,
    "nice": 10,
    "sqlite_pace": "auto",
    "max_replica_lag_seconds": None,
    "max_lock_waits": None,
}

# (lowest, highest, unit, what null means)
WHOLE: dict[str, tuple[int, int, str, str | None]] = {
    "BATCH_SIZE": (1, 500, "threads", None),
    "RESULT_THREADS": (0, 100_000, "threads", None),
    "MAX_DELETE_ROUNDS": (1, 1_000, "rounds", None),
    "HISTORY_DAYS": (1, 3_650, "days", None),
    "JITTER_SECONDS": (0, 3_600, "seconds", None),
    "LEASE_SECONDS": (2, 86_400, "seconds", None),
    "SOFT_TIME_LIMIT_SECONDS": (1, 86_400, "seconds", None),
    "VISIBILITY_TIMEOUT_SECONDS": (3, 604_800, "seconds", "twice the lease"),
    "STATEMENT_TIMEOUT_SECONDS": (1, 86_400, "seconds", None),
    "LOCK_TIMEOUT_SECONDS": (1, 3_600, "seconds", None),
    "SOFT_SHUTDOWN_SECONDS": (0, 3600, "seconds", None),
    "TIME_BUDGET_SECONDS": (1, 604_800, "seconds", "no budget"),
    "MAX_THREADS": (1, 10**12, "threads", "no limit"),
    "MAX_THREADS_PER_SECOND": (1, 10**6, "threads", "no limit"),
    "MAX_REPLICA_LAG_SECONDS": (1, 86_400, "seconds", "not asked"),
    "MAX_LOCK_WAITS": (0, 10_000, "sessions", "not asked"),
    "ORPHAN_GRACE_SECONDS": (0, 2_592_000, "seconds", None),
    "BATCH_ATTEMPTS": (1, 100, "attempts", None),
    "NICE": (0, 19, "steps", None),
    "PUSHGATEWAY_TIMEOUT_SECONDS": (1, 60, "seconds", None),
    "ON_DELETED_TIMEOUT_SECONDS": (1, 3600, "seconds", None),
    "FILTER_TIMEOUT_SECONDS": (1, 86_400, "seconds", "a quarter of the soft time limit"),
    "FLOWS_ENGINE_GRACE_MINUTES": (1, 52_560_000, "minutes", "never"),
}

SCHEDULE_RULE = (
    "an interval from 1 second to 31 days such as 300, 15m or 1h, or five crontab fields (UTC) "
    "such as */15 * * * * is needed"
)
SHARE_RULE = "a share above 0 and up to 1, such as 0.2, is needed, or null for no limit"
FILTERS_RULE = (
    "names of live-thread filters joined by commas, each once, are needed, or null for none"
)
PREFIX_RULE = "letters, digits, _ and : are needed, no digit first, at most 100"


def load(**variables: str) -> SweepSettings:
    return load_sweep_settings({f"SWEEP_{name}": value for name, value in variables.items()}, None)


def refusal(**variables: str) -> str:
    with pytest.raises(ConfigurationError) as refused:
        load(**variables)
    line = str(refused.value)
    assert line.splitlines() == [line]
    return line


def whole_rule(name: str) -> str:
    low, high, unit, null = WHOLE[name]
    rule = f"a whole number of {unit} from {low} to {high} is needed"
    return rule if null is None else f"{rule}, or null for {null}"


def test_every_setting_has_its_documented_default() -> None:
    assert load().model_dump(mode="python") == {
        **DEFAULTS,
        "schedule": {"seconds": 3600},
    }
    assert load().schedule == DEFAULTS["schedule"]


def test_every_setting_says_what_it_does_and_what_it_takes() -> None:
    for name, info in SweepSettings.model_fields.items():
        assert info.description, name
        assert isinstance(info.json_schema_extra, dict)
        assert info.json_schema_extra["rule"], name


def test_every_whole_number_is_in_the_table_of_bounds() -> None:
    numbers = {
        name.upper()
        for name, info in SweepSettings.model_fields.items()
        if isinstance(info.json_schema_extra, dict) and "unit" in info.json_schema_extra
    }
    assert numbers == WHOLE.keys()


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    "value",
    ["ten", "-1", "1.5", "5_0", "1e3", "0x10", "10 s", "99999999999999", "9" * 5000, "١٢", "NaN"],
    ids=lambda value: value[:12],
)
def test_what_is_no_whole_number_within_bounds_is_refused(name: str, value: str) -> None:
    shown = repr(value) if len(value) < 100 else repr("9" * 120 + "…")
    assert refusal(**{name: value}) == f"SWEEP_{name}={shown} is refused: {whole_rule(name)}"


@pytest.mark.parametrize("name", WHOLE)
def test_the_bounds_themselves_are_allowed_and_one_beyond_is_not(name: str) -> None:
    low, high, _, _ = WHOLE[name]
    for value in (low - 1, high + 1):
        assert whole_rule(name) in refusal(**{name: str(value)})
    # Those that must be in order are set together.
    order = {
        "FILTER_TIMEOUT_SECONDS",
        "SOFT_TIME_LIMIT_SECONDS",
        "LEASE_SECONDS",
        "VISIBILITY_TIMEOUT_SECONDS",
    }
    for value in {low, high} if name not in order else ():
        assert getattr(load(**{name: str(value)}), name.lower()) == value


@pytest.mark.parametrize("name", [name.upper() for name in DEFAULTS])
@pytest.mark.parametrize("value", ["", "   ", "\t\r\n"], ids=["empty", "blank", "blanks"])
def test_an_empty_value_is_refused_and_not_taken_for_the_default(name: str, value: str) -> None:
    line = refusal(**{name: value})
    assert line.startswith(f"SWEEP_{name}='' is refused: it is empty, but ")
    assert line.endswith("; remove it to use the default")


@pytest.mark.parametrize("value", ["a b", "-x", "x" * 101, "celeryev.x", "w@h.celery.pidbox", "é"])
def test_what_is_no_queue_of_ours_is_refused(value: str) -> None:
    assert "none of Celery's own names" in refusal(QUEUE=value)
    assert load(QUEUE="retention.eu-1_a").queue == "retention.eu-1_a"


@pytest.mark.parametrize("value", ["stream", "Quorum"])
def test_a_queue_is_classic_or_quorum(value: str) -> None:
    assert refusal(QUEUE_TYPE=value).endswith("classic or quorum is needed")


@pytest.mark.parametrize(("name", "value"), [("BATCH_SIZE", '"50"'), ("SCHEDULE", "'1h'")])
def test_quotes_that_came_with_the_value_are_pointed_out(name: str, value: str) -> None:
    assert refusal(**{name: value}).endswith("(the quotes are part of the value: remove them)")


@pytest.mark.parametrize("value", [" 50", "50 ", "50\r\n"])
def test_blanks_around_a_value_do_not_matter(value: str) -> None:
    assert load(BATCH_SIZE=value).batch_size == 50


@pytest.mark.parametrize("name", [name for name, rule in WHOLE.items() if rule[3]] + ["MAX_SHARE"])
def test_null_is_none_where_none_is_allowed(name: str) -> None:
    assert getattr(load(**{name: "null"}), name.lower()) is None


@pytest.mark.parametrize("name", [name for name, rule in WHOLE.items() if not rule[3]])
def test_null_is_refused_elsewhere(name: str) -> None:
    assert refusal(**{name: "null"}) == f"SWEEP_{name}='null' is refused: {whole_rule(name)}"


@pytest.mark.parametrize(
    ("value", "schedule"),
    [
        ("300", Interval(300)),
        ("45s", Interval(45)),
        ("15m", Interval(900)),
        ("1h", Interval(3600)),
        ("2 d", Interval(172_800)),
        ("31d", Interval(2_678_400)),
        ("*/15 * * * *", Crontab("*/15", "*", "*", "*", "*")),
        ("0  3 1-7,15 * mon", Crontab("0", "3", "1-7,15", "*", "mon")),
    ],
)
def test_a_schedule_is_an_interval_or_five_crontab_fields(
    value: str, schedule: Interval | Crontab
) -> None:
    assert load(SCHEDULE=value).schedule == schedule


@pytest.mark.parametrize(
    "value",
    [
        "0",
        "-5",
        "1.5h",
        "1w",
        "32d",
        "m",
        "hourly",
        "@hourly",
        "1H",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "0 0 31 2 *",
        "*/0 * * * *",
        "-5 * * * *",
        "a b c d e",
        "* * * * 7",
    ],
)
def test_any_other_schedule_is_refused(value: str) -> None:
    assert refusal(SCHEDULE=value) == f"SWEEP_SCHEDULE={value!r} is refused: {SCHEDULE_RULE}"


@pytest.mark.parametrize("value", ["0", "-0.1", "1.01", "nan", "inf", "20%", "half", "0,2"])
def test_a_share_outside_its_range_is_refused(value: str) -> None:
    assert refusal(MAX_SHARE=value) == f"SWEEP_MAX_SHARE={value!r} is refused: {SHARE_RULE}"


@pytest.mark.parametrize(("value", "share"), [("1", 1.0), ("0.2", 0.2), (".05", 0.05)])
def test_a_share_within_its_range_is_taken(value: str, share: float) -> None:
    assert load(MAX_SHARE=value).max_share == share


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("agents", ("agents",)),
        ("flows-engine, agents", ("flows-engine", "agents")),
        ("null", ()),
    ],
)
def test_filters_are_a_list_of_names(value: str, names: tuple[str, ...]) -> None:
    assert load(FILTERS=value).filters == names


@pytest.mark.parametrize("value", [",", "a,", "a,,b", "Agents", "a b", "a;b", "[]"])
def test_filters_that_are_no_list_of_names_are_refused(value: str) -> None:
    assert refusal(FILTERS=value) == f"SWEEP_FILTERS={value!r} is refused: {FILTERS_RULE}"


@pytest.mark.parametrize(("value", "allowed"), [("true", True), ("false", False)])
def test_a_switch_is_true_or_false(value: str, allowed: bool) -> None:
    assert load(ALLOW_SERVER_DATABASE=value).allow_server_database is allowed


@pytest.mark.parametrize("value", ["yes", "1", "on", "True", "null", "truee"])
def test_a_switch_that_is_neither_is_refused(value: str) -> None:
    assert refusal(ALLOW_SERVER_DATABASE=value) == (
        f"SWEEP_ALLOW_SERVER_DATABASE={value!r} is refused: true or false is needed"
    )


@pytest.mark.parametrize("value", ["1st_", "a-b", "a b", "a" * 101, "é_"])
def test_a_metrics_prefix_that_begins_no_metric_name_is_refused(value: str) -> None:
    line = refusal(METRICS_PREFIX=value)
    assert line == f"SWEEP_METRICS_PREFIX={value!r} is refused: {PREFIX_RULE}"


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        (
            {"SOFT_TIME_LIMIT_SECONDS": "300"},
            (
                "SWEEP_SOFT_TIME_LIMIT_SECONDS=300 is refused: "
                "it must be below SWEEP_LEASE_SECONDS=300 (its default)"
            ),
        ),
        (
            {"FILTER_TIMEOUT_SECONDS": "240"},
            (
                "SWEEP_FILTER_TIMEOUT_SECONDS=240 is refused: "
                "it must be below SWEEP_SOFT_TIME_LIMIT_SECONDS=240 (its default)"
            ),
        ),
        (
            {"LEASE_SECONDS": "240"},
            (
                "SWEEP_SOFT_TIME_LIMIT_SECONDS=240 (its default) is refused: "
                "it must be below SWEEP_LEASE_SECONDS=240"
            ),
        ),
        (
            {"LEASE_SECONDS": "600", "VISIBILITY_TIMEOUT_SECONDS": "600"},
            (
                "SWEEP_LEASE_SECONDS=600 is refused: "
                "it must be below SWEEP_VISIBILITY_TIMEOUT_SECONDS=600"
            ),
        ),
    ],
)
def test_filter_timeout_soft_limit_lease_and_visibility_timeout_must_be_in_this_order(
    variables: dict[str, str], line: str
) -> None:
    assert refusal(**variables) == line


def test_an_unset_filter_timeout_is_a_quarter_of_the_soft_time_limit() -> None:
    assert load(SOFT_TIME_LIMIT_SECONDS="10").filter_timeout == timedelta(seconds=2.5)
    assert load(FILTER_TIMEOUT_SECONDS="239").filter_timeout == timedelta(seconds=239)
    assert load(FILTER_TIMEOUT_SECONDS="null").filter_timeout == timedelta(seconds=60)


def test_an_unset_visibility_timeout_is_twice_the_lease() -> None:
    assert load(LEASE_SECONDS="1000").visibility_timeout == 2000
    assert load(VISIBILITY_TIMEOUT_SECONDS="301").visibility_timeout == 301


@pytest.mark.parametrize(
    "value", ["http://h", "https://h:9091/prefix/", "http://u:p%2Fw%40@h:9091", "http://[::1]:9091"]
)
def test_a_gateway_is_a_url(value: str) -> None:
    settings = load(PUSHGATEWAY_URL=value)
    assert settings.pushgateway_url == value
    assert value not in repr(settings)


@pytest.mark.parametrize(
    "value",
    [
        *("h:9091", "ftp://h", "http://", "http://:9091", "http://h:port", "http://h:70000"),
        *("http://h/?x=1", "http://h/#x", "http://u:hunter2/x@h", "http://u:hunter2#x@h"),
        *("http://[::1", "redis://h", "hunter2"),
    ],
)
def test_any_other_gateway_is_refused_without_its_password(value: str) -> None:
    line = refusal(PUSHGATEWAY_URL=value)
    assert line.startswith("SWEEP_PUSHGATEWAY_URL=")
    assert "a URL such as http://host:9091" in line
    assert "hunter2" not in line


@pytest.mark.parametrize("value", ["prod", "postgres:db.internal/agents", "EU 1"])
def test_a_store_may_be_given_a_name(value: str) -> None:
    assert load(STORE_NAME=value).store_name == value


@pytest.mark.parametrize("value", ["-x", "a\nb", "a{b}", "ü", "x" * 101])
def test_any_other_name_of_a_store_is_refused(value: str) -> None:
    assert "letters, digits, blanks" in refusal(STORE_NAME=value)


def test_a_secret_in_the_wrong_variable_is_not_shown() -> None:
    line = refusal(FILTERS="postgresql://app:hunter2@db/agents")
    assert "hunter2" not in line
    assert "postgresql://app:***@db/agents" in line
