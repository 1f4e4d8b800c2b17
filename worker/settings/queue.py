"""What may be said of the queue."""

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator


class QueueType(StrEnum):
    """What RabbitMQ keeps a queue as."""

    CLASSIC = "classic"
    QUORUM = "quorum"


def _queue_name(value: str) -> str:
    # Messages in queues of Celery's own get lost on purpose.
    celerys = value.startswith("celeryev") or value.endswith(".pidbox")
    if celerys or not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,99}", value):
        msg = "not the name of a queue"
        raise ValueError(msg)
    return value


QueueName = Annotated[str, AfterValidator(_queue_name)]
"""The name of a queue, as each broker takes it."""
