"""Celery's own configuration, each setting with its reason, and the beat schedule."""

import ssl
from datetime import timedelta
from typing import Any

from kombu import Exchange, Queue

from retention.errors import ConfigurationError
from worker.jitter import JitteredCrontab, JitteredInterval
from worker.settings import BrokerSettings, Interval, SweepSettings
from worker.settings.queue import QueueType

SWEEP_TASK = "retention.sweep"
"""The task that beat starts."""

BATCH_TASK = "retention.sweep_batch"
"""The task that works on one batch of a run."""

FINISH_TASK = "retention.finish_sweep"
"""The task that closes a run."""

ERASE_TASK = "retention.erase_thread"
"""The task that erases one thread."""

_RESULT_DAYS = 7
_DELIVERIES = 20
_SHORTEST_EXPIRY_SECONDS = 60


def celery_options(broker: BrokerSettings, sweep: SweepSettings) -> dict[str, Any]:
    """Give the options for `app.conf.update`.

    Args:
        broker: Where messages and results go; `worker.brokers.prepare` makes it ready.
        sweep: The limits of a task, the schedule and the queue.

    Raises:
        ConfigurationError: A quorum queue is asked of a broker that has none.
    """
    return {
        **_places(broker, sweep),
        **_queue(broker, sweep),
        **_delivery(sweep),
        **_messages(sweep),
        "beat_schedule": beat_schedule(sweep),
        # Crontab fields must mean the same on every host.
        "timezone": "UTC",
        "enable_utc": True,
    }


def beat_schedule(sweep: SweepSettings) -> dict[str, Any]:
    """Give beat's one entry: `retention.sweep`, with its default arguments."""
    schedule = _schedule(sweep)
    gap = (
        schedule.shortest_gap_seconds
        if isinstance(schedule, JitteredCrontab)
        else int(schedule.seconds)
    )
    return {
        SWEEP_TASK: {
            "task": SWEEP_TASK,
            "schedule": schedule,
            # Ticks that nobody took while no worker ran are worth nothing once the next is there.
            # Not sooner than a minute: a pool busy with batches must not lose every tick.
            "options": {"expires": max(gap, _SHORTEST_EXPIRY_SECONDS), "queue": sweep.queue},
        }
    }


def _schedule(sweep: SweepSettings) -> JitteredInterval | JitteredCrontab:
    when = sweep.schedule
    if isinstance(when, Interval):
        # A longer delay than that would make the interval a mere hint.
        return JitteredInterval(when.seconds, min(sweep.jitter_seconds, when.seconds / 2))
    fields = (when.minute, when.hour, when.day_of_month, when.month_of_year, when.day_of_week)
    return JitteredCrontab(fields, sweep.jitter_seconds)


def _places(broker: BrokerSettings, sweep: SweepSettings) -> dict[str, Any]:
    """Where messages and results go."""
    return {
        "broker_url": broker.broker_url,
        "result_backend": broker.result_backend,
        "broker_transport_options": {
            **broker.transport_options,
            **_redelivery(broker, sweep),
            **_confirmation(broker),
        },
        # A broker that restarts must not end the workers, however long it takes.
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        # Nor must one that is full, read-only or out of order: it answers, but with an error.
        "broker_channel_error_retry": True,
        "redis_socket_keepalive": True,
        # By default a task that stores a result waits 20 seconds for a backend that is down. A
        # result that was not stored is stored by the next tick.
        "result_backend_transport_options": {"retry_policy": {"max_retries": 3}},
        **_encryption("broker_use_ssl", broker.broker_url),
        **_encryption("redis_backend_use_ssl", broker.result_backend),
    }


def _queue(broker: BrokerSettings, sweep: SweepSettings) -> dict[str, Any]:
    """The one queue of all tasks, and the way into it."""
    name = sweep.queue
    options: dict[str, Any] = {
        # Other applications on the same broker have a queue named celery.
        "task_default_queue": name,
        # Whoever sends one of these tasks through this app need not know the queue.
        "task_routes": {"retention.*": {"queue": name}},
    }
    if sweep.queue_type is QueueType.CLASSIC:
        return options
    if not broker.is_rabbit:
        raise ConfigurationError(
            "SWEEP_QUEUE_TYPE='quorum' is refused: only RabbitMQ has quorum queues, so "
            "CELERY_BROKER_URL must begin with amqp:// or amqps://, or the type be classic"
        )
    return {
        **options,
        "task_queues": [_quorum_queue(name)],
        # A quorum queue refuses the QoS of a whole channel, and so cannot let a worker keep a task
        # that is due later: with this, such a task waits in the broker.
        "worker_detect_quorum_queues": True,
    }


def _quorum_queue(name: str) -> Queue:
    arguments = {
        "x-queue-type": "quorum",
        # What RabbitMQ 4 has by default: a message that ends its worker each time must not do so
        # for ever. The run log sends a batch again whose message was dropped.
        "x-delivery-limit": _DELIVERIES,
    }
    # The queues in which tasks wait until they are due need an exchange that matches patterns.
    exchange = Exchange(name, type="topic")
    return Queue(name, exchange, routing_key=name, queue_arguments=arguments)


def _confirmation(broker: BrokerSettings) -> dict[str, Any]:
    """Let RabbitMQ confirm what it is sent: without, a message that it refuses is lost silently."""
    return {"confirm_publish": True} if broker.is_rabbit else {}


def _redelivery(broker: BrokerSettings, sweep: SweepSettings) -> dict[str, Any]:
    """When a Redis broker delivers the message of a dead worker again."""
    if not broker.is_redis:
        return {}
    return {
        # Above the lease, so that nobody gets a message whose first reader may still be at work.
        "visibility_timeout": sweep.visibility_timeout,
        # By default overdue messages are looked for every 100 seconds only.
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
    }


def _encryption(option: str, url: str) -> dict[str, Any]:
    """Check the certificate of an encrypted server unless its URL says otherwise.

    Celery refuses a rediss:// URL that is silent on this; with amqps:// a certificate of any host
    would do.
    """
    if url.startswith("amqps://"):
        # None stands for the host that the URL names.
        return {option: {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": None}}
    if not url.startswith("rediss://") or "ssl_cert_reqs" in url:
        return {}
    return {option: {"ssl_cert_reqs": ssl.CERT_REQUIRED}}


def _delivery(sweep: SweepSettings) -> dict[str, Any]:
    """How tasks are taken, ended and given back."""
    return {
        # A batch that a dying worker held goes to another; claims in the store make that safe.
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        # By default a worker waits ten seconds for the answer of a child that is gone. A batch that
        # ended and whose answer is late does no harm when it is delivered once more.
        "worker_lost_wait": 2.0,
        # A worker that holds batches it does not work on starves the others.
        "worker_prefetch_multiplier": 1,
        # Without its connection a worker cannot ack, and the broker gives the task to another.
        "worker_cancel_long_running_tasks_on_connection_loss": True,
        # On SIGQUIT (or SIGTERM with REMAP_SIGTERM=SIGQUIT) a batch may end, within the grace
        # period that container runtimes give.
        "worker_soft_shutdown_timeout": float(sweep.soft_shutdown_seconds),
        # Below the lease: a task gives up before another may take its claim. There is no hard
        # limit: what the soft one cannot interrupt is bounded by the statement timeout.
        "task_soft_time_limit": sweep.soft_time_limit_seconds,
    }


def _messages(sweep: SweepSettings) -> dict[str, Any]:
    """What messages, results and events hold and how long they stay."""
    return {
        # JSON alone: whoever can write to the broker must not be able to run code by a pickle.
        "task_serializer": "json",
        "result_serializer": "json",
        "event_serializer": "json",
        "accept_content": ["json"],
        "result_accept_content": ["json"],
        # The run log in the store keeps a run for good; this is for `celery result`.
        "result_expires": timedelta(days=min(_RESULT_DAYS, sweep.history_days)),
        # A sweep that works must not look like one that still waits.
        "task_track_started": True,
        # Flower sees tasks from the moment they are sent.
        "worker_send_task_events": True,
        "task_send_sent_event": True,
    }
