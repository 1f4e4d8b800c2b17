"""``retention thread``: what an operator looks at, holds, ends and erases."""

import click

from worker.cli.invocation import common_options
from worker.cli.thread_end import end
from worker.cli.thread_erase import erase
from worker.cli.thread_explain import explain
from worker.cli.thread_holds import hold, holds, release


@click.group()
@common_options
def thread() -> None:
    """Look at single threads; hold, end and erase them. An ID with a leading dash follows --."""


for _verb in (explain, hold, release, holds, end, erase):
    thread.add_command(_verb)
