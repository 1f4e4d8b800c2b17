"""The options that every command takes, before or after its noun and verb."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from retention.errors import ConfigurationError
from worker.cli.levels import listen
from worker.settings import StoreSettings, SweepSettings, load_store_settings, load_sweep_settings

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Invocation:
    """What one call of the command was asked for.

    ``addresses`` holds those that may contain a password, so that no message shows it.
    """

    storage: str | None = None
    as_json: bool = False
    debug: bool = False
    addresses: list[str] = field(default_factory=list)

    def store(self) -> StoreSettings:
        """The settings of the store that the command works on.

        Raises:
            ConfigurationError: A setting is wrong, or the store is one in memory.
        """
        if self.storage is not None:
            self.addresses.append(self.storage)
        settings = load_store_settings(storage=self.storage)
        self.addresses.append(settings.address)
        if settings.provider == "memory":
            raise ConfigurationError(
                "a memory store lives and is swept in its own process only: name another with "
                "--storage, or sweep it there with retention.sweep.run_sweep"
            )
        return settings

    def sweep(self) -> SweepSettings:
        """The settings of the sweep.

        Raises:
            ConfigurationError: A setting is wrong.
        """
        settings = load_sweep_settings()
        self.addresses.append(settings.pushgateway_url or "")
        return settings


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep an option that was given; one nearer the verb wins over one before it."""
    if value is not None and value is not False:
        setattr(context.ensure_object(Invocation), str(parameter.name), value)
        if parameter.name == "debug":
            # Given after the verb, it is known only once the log is set up.
            listen(debug=True)


_STORAGE = click.option(
    "--storage",
    metavar="ADDRESS",
    expose_value=False,
    callback=_remember,
    help="The checkpoint store: redis://..., postgresql://..., or a path. Default: the settings.",
)
_COMMON = (
    click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Show the traceback of an error, and more log lines.",
    ),
    click.option(
        "--json",
        "as_json",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Print one JSON object.",
    ),
)


def output_options(command: Command) -> Command:
    """Let a command take ``--json`` and ``--debug``."""
    for option in _COMMON:
        command = option(command)
    return command


def common_options(command: Command) -> Command:
    """Let a command take ``--storage``, ``--json`` and ``--debug``."""
    return _STORAGE(output_options(command))


def sweep_options(command: Command) -> Command:
    """Let a command take the arguments of a sweep."""
    over_limit = click.option(
        "--allow-over-limit", is_flag=True, help="Let the plan pass the safety limits once."
    )
    dry_run = click.option(
        "--dry-run", is_flag=True, help="Say what a sweep would do; change nothing."
    )
    return dry_run(over_limit(command))
