"""Brokers that Celery needs help with: registration, and the folders of the filesystem broker."""

from celery.app.backends import BACKEND_ALIASES
from kombu import transport

from retention.errors import ConfigurationError
from worker.settings.broker import BROKER, BrokerSettings


def prepare(broker: BrokerSettings) -> None:
    """Make a broker ready for Celery; call it once, before the app connects.

    From then on ``filesystem://`` and ``file://`` URLs use the safe classes of
    `worker.brokers.filesystem` in this process. The folders of a filesystem broker are created,
    for this user alone; one that is there is left as it is.

    Raises:
        ConfigurationError: A folder cannot be created.
    """
    transport.TRANSPORT_ALIASES["filesystem"] = "worker.brokers.filesystem:Transport"
    # Kombu remembers the class it resolved; one remembered before now would be the stock one.
    transport._transport_cache.pop("filesystem", None)  # type: ignore[attr-defined] # noqa: SLF001
    BACKEND_ALIASES["file"] = "worker.brokers.filesystem:ResultBackend"
    try:
        for folder in filter(None, (broker.folder, *broker.folders)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"{BROKER}={f'filesystem://{broker.folder}'!r} is refused: "
            f"{error.filename} cannot be created: {error.strerror}"
        ) from None
