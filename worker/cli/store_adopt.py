"""``retention store adopt``: taking over a store that other savers wrote."""

from datetime import datetime, timedelta
from typing import Any

import click

from retention.errors import StoreError
from stores import Access, adopt_store
from stores.inspection import Inspection, TypeCount
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.printing import print_facts, print_json, print_line, print_table
from worker.settings import redact
from worker.wiring import store_options

#: Every row is read once: on a large store that takes longer than a sweep's statements may.
_PATIENCE = timedelta(hours=12)


@click.command()
@click.option("--yes", is_flag=True, help="Take the store over; without it only look.")
@click.option(
    "--compress",
    is_flag=True,
    help="Let our savers compress large values from now on. Stock savers cannot read those.",
)
@common_options
@pass_invocation
def adopt(invocation: Invocation, yes: bool, compress: bool) -> ExitStatus:
    """Look at what a store holds, decoding nothing, and take it over.

    A store that stock savers wrote must be adopted once before it is swept. Adopting it again
    changes whether large values may be compressed.
    """
    settings = invocation.store()
    access = Access.WRITE if yes else Access.READ
    options = store_options(settings, invocation.sweep(), access).patient(_PATIENCE)
    inspection = adopt_store(
        settings.address, settings=options, compresses=compress if yes else None
    )
    adopted = yes and not inspection.unreadable
    if invocation.as_json:
        print_json({"storage": redact(settings.address), **_document(inspection, adopted=adopted)})
    else:
        _show(inspection, adopted=adopted, compress=compress)
    if inspection.unreadable:
        raise StoreError(f"the store was not adopted: {_unreadable(inspection)}")
    return ExitStatus.DONE


def _document(inspection: Inspection, *, adopted: bool) -> dict[str, Any]:
    ids = inspection.ids
    return {
        "adopted": adopted,
        "managed": inspection.managed,
        "threads": ids.threads,
        "checkpoints": ids.checkpoints,
        "bytes": inspection.bytes,
        "oldest": _text(inspection.oldest),
        "newest": _text(inspection.newest),
        "undatable_ids": ids.undatable,
        "types": [_type(count) for count in inspection.types],
        "unreadable": [_type(count) for count in inspection.unreadable],
    }


def _type(count: TypeCount) -> dict[str, Any]:
    return {
        "table": count.table,
        "type": count.type,
        "rows": count.rows,
        "bytes": count.bytes,
    }


def _show(inspection: Inspection, *, adopted: bool, compress: bool) -> None:
    document = _document(inspection, adopted=adopted)
    names = ("threads", "checkpoints", "bytes", "oldest", "newest", "undatable_ids")
    print_facts([(name.replace("_", " "), document[name]) for name in names])
    print_line()
    readable = {True: "yes", False: "no"}
    print_table(
        ("table", "type of values", "rows", "bytes", "readable"),
        [
            (c.table, c.type, c.rows, c.bytes, readable[c not in inspection.unreadable])
            for c in inspection.types
        ],
    )
    if inspection.managed is not None:
        print_line(
            f"mind: {inspection.managed}; sweeps refuse this store unless "
            "SWEEP_ALLOW_SERVER_DATABASE=true"
        )
    if adopted:
        print_line(f"adopted; large values are {'compressed' if compress else 'left as they are'}")
    elif not inspection.unreadable:
        print_line("nothing was changed; --yes takes the store over")


def _unreadable(inspection: Inspection) -> str:
    found = (f"{c.rows} of type {c.type!r} in {c.table}" for c in inspection.unreadable)
    return f"it holds values that cannot be read back: {', '.join(found)}"


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()
