"""``retention policy``: what other retention values would mean."""

from typing import Any

import click

from retention.policy import RetentionPolicy, in_minutes
from retention.previewing import Preview, redate
from retention.previewing import preview as preview_policy
from retention.sweep import Sweep
from stores import Access
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.opening import opened
from worker.cli.printing import print_json, print_line, print_table
from worker.cli.progress import ProgressBar
from worker.wiring import Plugins

_MARKS_STAY = "marks keep the due time they were made with: --apply-to-marks counts them anew"
_EXPIRY = "waiting: counted by their last writes; the keys written so far keep their expiry"


@click.group()
@common_options
def policy() -> None:
    """Weigh other retention values before they are in force."""


@policy.command()
@click.option("--waiting-minutes", type=int, metavar="N", help="Default: the value in force.")
@click.option("--finished-minutes", type=int, metavar="M", help="Default: the value in force.")
@click.option(
    "--apply-to-marks",
    is_flag=True,
    help="Count old marks as if made under these values; with --yes, move their due times so.",
)
@click.option("--yes", is_flag=True, help="Move the due times. Without this, nothing is changed.")
@common_options
@pass_invocation
def preview(
    invocation: Invocation,
    waiting_minutes: int | None,
    finished_minutes: int | None,
    apply_to_marks: bool,
    yes: bool,
) -> ExitStatus:
    """Count the threads and bytes that would be due now under other values.

    The values themselves are settings. Marks keep the due time they were made with, unless
    --apply-to-marks with --yes moves those of all old marks on purpose.
    """
    if yes and not apply_to_marks:
        raise click.UsageError("--yes belongs to --apply-to-marks: there is nothing else to do")
    access = Access.WRITE if yes else Access.READ
    with opened(invocation, access, plugins=Plugins.ASKED) as sweep:
        other = _policy(sweep, waiting_minutes, finished_minutes)
        with ProgressBar("threads", "counting") as bar:
            found = preview_policy(
                sweep,
                other,
                as_if_redated=apply_to_marks,
                progress=lambda done: bar.show("counting", done, None),
            )
        moved = _redate(sweep, other) if yes else None
    if invocation.as_json:
        print_json({**found.to_json(), "marks_moved": moved})
    else:
        _show(found, moved)
    return ExitStatus.DONE


def _policy(sweep: Sweep, waiting: int | None, finished: int | None) -> RetentionPolicy:
    """The values to weigh: those given, else those in force.

    Raises:
        ConfigurationError: One is impossible.
    """
    force = sweep.policy
    return RetentionPolicy(
        force.waiting_minutes if waiting is None else waiting,
        force.finished_minutes if finished is None else finished,
    )


def _redate(sweep: Sweep, other: RetentionPolicy) -> int:
    with ProgressBar("marks", "moving") as bar:
        return redate(sweep, other, lambda done: bar.show("moving", done, None))


def _show(found: Preview, moved: int | None) -> None:
    document = found.to_json()
    print_line(
        f"with waiting {in_minutes(found.policy.waiting_minutes)} and finished "
        f"{in_minutes(found.policy.finished_minutes)}, a sweep now would delete:"
    )
    print_table(
        ("horizon", "threads", "bytes"),
        [(h, document[f"{h}_count"], document[f"{h}_bytes"]) for h in ("finished", "waiting")],
    )
    for line in _notes(found, document):
        print_line(line)
    if moved is not None:
        print_line(f"the due times of {moved} marks were moved")
    elif found.as_if_redated:
        print_line("no due time was moved: --yes does it")
    else:
        print_line(_MARKS_STAY)


def _notes(found: Preview, document: dict[str, Any]) -> list[str]:
    left = [f"{name} {document[f'{name}_count']}" for name in ("spared", "held", "undatable")]
    notes = [f"left alone: {', '.join(left)}"]
    if found.by_expiry:
        notes.append(_EXPIRY)
    notes += [f"filter {owner} was not asked: {why}" for owner, why in found.not_asked.items()]
    if found.bytes_unknown is not None:
        notes.append(f"bytes are not known: {found.bytes_unknown}")
    return notes
