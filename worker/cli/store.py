"""``retention store``: making a store."""

import click

from stores import Access, init_store
from stores.opening import store_ddl
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.printing import print_json, print_line
from worker.cli.store_adopt import adopt
from worker.settings import redact
from worker.wiring import store_options


@click.group()
@common_options
def store() -> None:
    """Look after the checkpoint store."""


@store.command()
@click.option("--print-sql", is_flag=True, help="Print all statements for a DBA; open nothing.")
@common_options
@pass_invocation
def init(invocation: Invocation, print_sql: bool) -> ExitStatus:
    """Make the store and its tables where they are missing."""
    settings = invocation.store()
    if print_sql:
        _print_sql(invocation, store_ddl(settings.address))
        return ExitStatus.DONE
    init_store(
        settings.address, settings=store_options(settings, invocation.sweep(), Access.CREATE)
    )
    address = redact(settings.address)
    if invocation.as_json:
        print_json({"provider": settings.provider, "storage": address, "ready": True})
    else:
        print_line(f"{settings.provider} store is ready: {address}")
    return ExitStatus.DONE


store.add_command(adopt)


def _print_sql(invocation: Invocation, statements: list[str]) -> None:
    if invocation.as_json:
        print_json({"statements": statements})
        return
    for statement in statements:
        click.echo(f"{statement.strip().removesuffix(';')};\n")
