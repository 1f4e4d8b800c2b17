"""Celery's options hang together, and beat starts one sweep at a time, a little late."""

import itertools
import pickle
import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from celery import Celery
from celery.app.defaults import DEFAULTS
from celery.backends.redis import RedisBackend
from celery.beat import PersistentScheduler, ScheduleEntry
from celery.schedules import BaseSchedule
from celery.utils.quorum_queues import detect_quorum_queues

from retention.errors import ConfigurationError
from worker.brokers import prepare
from worker.celery_config import beat_schedule, celery_options
from worker.jitter import JitteredCrontab, JitteredInterval
from worker.settings import SweepSettings, load_broker_settings, load_sweep_settings

MIDNIGHT = datetime(2026, 11, 30, tzinfo=UTC)


def sweep_settings(**variables: str) -> SweepSettings:
    return load_sweep_settings({f"SWEEP_{name}": value for name, value in variables.items()}, None)


def options(broker: str, results: str | None = None, **sweep: str) -> dict[str, object]:
    given = {"CELERY_BROKER_URL": broker} | ({"CELERY_RESULT_BACKEND": results} if results else {})
    return celery_options(load_broker_settings(given, None), sweep_settings(**sweep))


def test_every_option_is_one_that_celery_knows() -> None:
    assert set(options("rediss://h", "rediss://h")) <= set(DEFAULTS)


def test_options_give_an_app_that_takes_json_alone_in_a_queue_of_its_own() -> None:
    app = Celery(set_as_current=False)
    app.conf.update(options("redis://h"))
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_default_queue == "retention"
    assert str(app.timezone) == "UTC"
    assert app.conf.task_acks_late
    assert app.conf.worker_prefetch_multiplier == 1


@pytest.mark.parametrize("broker", ["redis://h", "amqp://h"])
def test_every_task_of_ours_goes_to_the_queue_that_is_set(broker: str) -> None:
    app = Celery(set_as_current=False)
    app.conf.update(options(broker, "redis://h", QUEUE="eu"))
    for task in ("retention.sweep", "retention.sweep_batch", "retention.finish_sweep"):
        assert app.amqp.router.route({}, task)["queue"].name == "eu"
    assert app.conf.beat_schedule["retention.sweep"]["options"]["queue"] == "eu"
    assert list(app.amqp.queues) == ["eu"]


def test_a_quorum_queue_is_asked_for_with_what_it_needs() -> None:
    app = Celery(set_as_current=False)
    app.conf.update(options("amqp://h", "redis://h", QUEUE_TYPE="quorum"))
    queue = app.amqp.queues["retention"]
    assert queue.queue_arguments == {"x-queue-type": "quorum", "x-delivery-limit": 20}
    assert queue.exchange.type == "topic"
    assert detect_quorum_queues(app, "amqp") == (True, "retention")


@pytest.mark.parametrize("broker", ["redis://h", "filesystem:///spool"])
def test_only_rabbitmq_has_quorum_queues(broker: str) -> None:
    with pytest.raises(ConfigurationError, match="SWEEP_QUEUE_TYPE='quorum' is refused"):
        options(broker, QUEUE_TYPE="quorum")


def test_an_encrypted_rabbitmq_must_show_a_certificate_of_its_own_host() -> None:
    given = options("amqps://h", "redis://h")
    assert given["broker_use_ssl"] == {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": None}


@pytest.mark.parametrize("lease", ["245", "300", "1000"])
def test_a_task_ends_before_its_lease_and_that_before_redelivery(lease: str) -> None:
    given = options("redis://h", LEASE_SECONDS=lease)
    transport = given["broker_transport_options"]
    assert isinstance(transport, dict)
    soft = given["task_soft_time_limit"]
    assert isinstance(soft, int)
    assert soft < int(lease) < transport["visibility_timeout"]


def test_only_a_redis_broker_is_told_of_redelivery() -> None:
    given = options("filesystem:///spool")
    transport = given["broker_transport_options"]
    assert isinstance(transport, dict)
    assert transport["control_folder"] == "/spool/control"
    assert "visibility_timeout" not in transport
    confirms = {"confirm_publish": True}
    assert options("amqp://h", "redis://h")["broker_transport_options"] == confirms


@pytest.mark.parametrize(
    ("url", "checked"),
    [
        ("redis://h", None),
        ("rediss://h", {"ssl_cert_reqs": ssl.CERT_REQUIRED}),
        ("rediss://h?ssl_cert_reqs=none", None),
    ],
)
def test_the_certificate_of_an_encrypted_redis_is_checked_unless_its_url_says_otherwise(
    url: str, checked: object
) -> None:
    given = options(url)
    assert given.get("broker_use_ssl") == given.get("redis_backend_use_ssl") == checked
    app = Celery(set_as_current=False)
    app.conf.update(given)
    # Celery itself refuses an encrypted URL that is silent on this.
    assert isinstance(app.backend, RedisBackend)


@pytest.mark.parametrize(
    ("schedule", "jitter", "expected", "expires"),
    [
        ("1h", "30", JitteredInterval(3600, 30), 3600),
        ("10", "30", JitteredInterval(10, 5), 60),
        ("5m", "0", JitteredInterval(300, 0), 300),
        ("*/15 * * * *", "30", JitteredCrontab(("*/15", "*", "*", "*", "*"), 30), 900),
        ("0,10,59 3 * * *", "30", JitteredCrontab(("0,10,59", "3", "*", "*", "*"), 30), 60),
        ("5 3 * * 1", "30", JitteredCrontab(("5", "3", "*", "*", "1"), 30), 3600),
    ],
)
def test_beat_starts_the_sweep_by_the_schedule_and_a_tick_expires_with_the_next(
    schedule: str, jitter: str, expected: BaseSchedule, expires: int
) -> None:
    entries = beat_schedule(sweep_settings(SCHEDULE=schedule, JITTER_SECONDS=jitter))
    assert entries == {
        "retention.sweep": {
            "task": "retention.sweep",
            "schedule": expected,
            "options": {"expires": expires, "queue": "retention"},
        }
    }


class At:
    """A clock that says what it is told."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


SCHEDULES = [
    JitteredInterval(600, 60),
    JitteredCrontab(("*/10", "*", "*", "*", "*"), 60),
]


def wind(schedule: JitteredInterval | JitteredCrontab, clock: At) -> None:
    vars(schedule)["nowfun"] = clock
    schedule.app = Celery(set_as_current=False)


def start_times(
    schedule: JitteredInterval | JitteredCrontab, starts: int, since: datetime = MIDNIGHT
) -> list[datetime]:
    """Let beat's own rule start a task some times, looking once a second."""
    clock = At(since)
    wind(schedule, clock)
    last = since
    found: list[datetime] = []
    while len(found) < starts:
        clock.now += timedelta(seconds=1)
        if schedule.is_due(last)[0]:
            last = clock.now
            found.append(last)
    return found


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["interval", "crontab"])
def test_each_start_is_late_by_another_amount_within_the_jitter_and_none_piles_up(
    schedule: JitteredInterval | JitteredCrontab,
) -> None:
    found = start_times(schedule, 12)
    if isinstance(schedule, JitteredInterval):
        gaps = [b - a for a, b in zip([MIDNIGHT, *found], found, strict=False)]
        late = [gap.total_seconds() - 600 for gap in gaps]
    else:
        late = [(at - MIDNIGHT).total_seconds() - 600 * n for n, at in enumerate(found, 1)]
    assert all(0 <= seconds <= 61 for seconds in late)
    assert len(set(late)) > 3
    assert max(late) > 10


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["interval", "crontab"])
def test_a_delay_does_not_change_between_two_looks(
    schedule: JitteredInterval | JitteredCrontab,
) -> None:
    clock = At(MIDNIGHT + timedelta(seconds=5))
    wind(schedule, clock)
    assert len({schedule.remaining_estimate(MIDNIGHT) for _ in range(20)}) == 1


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["interval", "crontab"])
def test_starts_missed_while_beat_was_down_are_one_start(
    schedule: JitteredInterval | JitteredCrontab,
) -> None:
    clock = At(MIDNIGHT + timedelta(days=3))
    wind(schedule, clock)
    assert schedule.is_due(MIDNIGHT)[0]
    assert not schedule.is_due(clock.now)[0]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["interval", "crontab"])
def test_a_schedule_outlives_beats_file_and_a_changed_one_is_seen(
    schedule: JitteredInterval | JitteredCrontab,
) -> None:
    again = pickle.loads(pickle.dumps(schedule))  # noqa: S301 - our own
    assert again == schedule
    assert hash(again) == hash(schedule)
    assert again != JitteredInterval(600, 61)
    assert again != JitteredCrontab(("*/11", "*", "*", "*", "*"), 60)
    assert again != 600


def test_two_beats_do_not_agree_on_their_delays() -> None:
    delays = {
        JitteredInterval(600, 60).remaining_estimate(MIDNIGHT).total_seconds() // 1
        for _ in range(20)
    }
    assert len(delays) > 3


def test_celerys_own_scheduler_takes_the_entry(tmp_path: Path) -> None:
    broker = load_broker_settings({"CELERY_BROKER_URL": f"filesystem://{tmp_path}"}, None)
    prepare(broker)
    app = Celery(set_as_current=False)
    app.conf.update(celery_options(broker, sweep_settings()))
    for _ in range(2):
        scheduler = PersistentScheduler(app, schedule_filename=str(tmp_path / "beat"))
        entry = scheduler.schedule["retention.sweep"]
        assert isinstance(entry, ScheduleEntry)
        assert entry.schedule == JitteredInterval(3600, 30)
        assert 0 < scheduler.tick() <= 3630
        scheduler.close()


@pytest.mark.parametrize(
    "change", [datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)]
)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=["interval", "crontab"])
def test_a_change_of_daylight_saving_time_skips_and_doubles_no_start(
    schedule: JitteredInterval | JitteredCrontab, change: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Schedules are in UTC, wherever the machine is."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        found = start_times(schedule, 30, change)
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
    gaps = [(b - a).total_seconds() for a, b in itertools.pairwise([change, *found])]
    assert all(600 - 61 <= gap <= 600 + 61 for gap in gaps)
