"""Templates of the session threads that a flow owns."""

from collections.abc import Collection
from string import Formatter

from retention.errors import ConfigurationError

_PLACEHOLDER = "flow_run_id"


def owned_threads(templates: Collection[str], flow_run_id: str) -> dict[str, str]:
    """The thread id that each template gives in one flow run.

    Raises:
        ConfigurationError: A template is malformed, has another placeholder than
            ``{flow_run_id}``, or has none: its thread would not be the flow's.
    """
    # One template given as text is not taken for its letters.
    listed = [templates] if isinstance(templates, str) else templates
    for template in listed:
        _check(template)
    return {template: template.format(flow_run_id=flow_run_id) for template in listed}


def _check(template: str) -> None:
    try:
        fields = [field for field in Formatter().parse(template) if field[1] is not None]
    except ValueError as error:
        raise ConfigurationError(f"session thread template {template!r}: {error}") from None
    for _, name, spec, conversion in fields:
        # A format could cut the id, and two flow runs would share a thread.
        if name != _PLACEHOLDER or spec or conversion:
            kind = f"!{conversion}" if conversion else ""
            shown = f"{{{name}{kind}{':' if spec else ''}{spec}}}"
            raise ConfigurationError(
                f"session thread template {template!r} has the placeholder {shown}: "
                f"only {{{_PLACEHOLDER}}} is known"
            )
    if not fields:
        raise ConfigurationError(
            f"session thread template {template!r} has no {{{_PLACEHOLDER}}}: "
            "the flow would not own its thread"
        )
