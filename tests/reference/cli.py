"""docs/reference/cli.md."""

from collections.abc import Iterator

import click

from tests.reference import markdown
from tests.reference.markdown import code, table
from worker.cli.exit_status import ExitStatus
from worker.cli.program import retention

_INTRODUCTION = """\
`retention NOUN VERB [OPTION]...`. Answers go to stdout, as tables for people or, with `--json`, as
one JSON object; log lines and errors go to stderr, one line each. What reads never creates a store,
and what destroys says what it would do unless `--yes` is given; a sweep is asked for by its own
name and needs none.
"""

_STATUSES = {
    ExitStatus.DONE: "done; threads may have been spared",
    ExitStatus.ERROR: "an error: the run failed, the store or the broker cannot be reached",
    ExitStatus.USAGE: "wrong usage or configuration; trying again cannot help",
    ExitStatus.PARTIAL: "the sweep was partial, or its time budget was exhausted",
    ExitStatus.LOCKED: "another sweep holds the store",
    ExitStatus.REFUSED: "refused by a safety limit or a pause; nothing was deleted",
    ExitStatus.INTERRUPTED: "interrupted from the keyboard, or a sweep that was told to end",
}

_COMMON = ("--storage", "--json", "--debug", "--help")


def page() -> str:
    """Every command with its options."""
    assert isinstance(retention, click.Group)
    context = click.Context(retention, info_name="retention", **retention.context_settings)
    commands = list(_commands(retention, context))
    leaves = [pair for pair in commands if not isinstance(pair[0], click.Group)]
    shared = {option.opts[-1]: option for _, c in commands for option in _options(c, common=True)}
    return markdown.page(
        "The command `retention`",
        _INTRODUCTION,
        "## Exit status",
        table(("status", "meaning"), [(code(int(s)), _STATUSES[s]) for s in ExitStatus]),
        "## Options of every command",
        table(("option", "meaning"), [_row(shared[name]) for name in _COMMON if name in shared]),
        *(_section(command, its_context) for command, its_context in leaves),
    )


def _commands(
    group: click.Group, context: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    for name in sorted(group.commands):
        command = group.commands[name]
        # As click itself makes it: a command keeps the help option that it was first asked for.
        its_context = click.Context(
            command, info_name=name, parent=context, **command.context_settings
        )
        yield command, its_context
        if isinstance(command, click.Group):
            yield from _commands(command, its_context)


def _section(command: click.Command, context: click.Context) -> str:
    arguments = [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
    usage = " ".join([context.command_path, *arguments])
    parts = [f"## `{usage}`", " ".join((command.help or "").split())]
    options = _options(context, common=False)
    if options:
        parts.append(table(("option", "meaning"), [_row(option) for option in options]))
    if not any(option.opts[-1] == "--storage" for option in _options(context, common=True)):
        parts.append("It takes no `--storage`.")
    return "\n\n".join(parts)


def _options(context: click.Context, *, common: bool) -> list[click.Option]:
    parameters = context.command.get_params(context)
    options = [p for p in parameters if isinstance(p, click.Option)]
    return [option for option in options if (option.opts[-1] in _COMMON) == common]


def _row(option: click.Option) -> tuple[str, str]:
    value = [] if option.is_flag else [option.metavar or str(option.name).upper()]
    default = f" Default: {option.default}." if option.show_default else ""
    return code(" ".join([*option.opts, *value])), f"{option.help or ''}{default}"
