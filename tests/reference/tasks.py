"""docs/reference/tasks.md."""

from tests.reference import markdown
from tests.reference.markdown import code, first_line, table
from worker.celery_config import ERASE_TASK, SWEEP_TASK
from worker.tasks import StoreTask

_INTRODUCTION = """\
Arguments and results are JSON. An argument that is unknown, missing or of the wrong kind fails the
task with one line. `retention.sweep` and `retention.erase_thread` are for you to call; the others
are sent by the sweep, carry a run id and a batch number, and are harmless when they come twice,
late or never. A task is tried again while the store is unavailable, with growing pauses.
"""

_SWEEP = """\
Its result is that of the run: see [result](result.md). The run's id is the Celery id of the task.
The task ends when the batches are sent; whoever closes the run stores the result under that id, so
`celery -A worker result ID` waits for it. Where the sweep is over at once (a dry run, nothing due,
another sweep live, a limit refused it) the task itself answers.

    celery -A worker call retention.sweep
    celery -A worker call retention.sweep --kwargs '{"dry_run": true}'
    celery -A worker result ID
"""

_ERASE = """\
Its result is the receipt that `retention thread erase --json` prints: what each table or key held,
and that nothing is left. `outcome` is `erased`; `held` where a hold kept the thread; `unknown`
where there was nothing under the id; `left` where something would not go, or a new thread began.
`hooks` says of each hook whether it was told, and why not; the next tick of a sweep tells it then.

    celery -A worker call retention.erase_thread --kwargs '{"thread_id": "a-17", "by": "privacy"}'
"""

_RESULTS = {SWEEP_TASK: _SWEEP, ERASE_TASK: _ERASE}

_MEANINGS = {
    "thread_id": "The thread.",
    "by": "Who says so, for the receipt and the log.",
    "dry_run": "Say what a sweep would do; change nothing.",
    "store": "A guard: the store that is meant. Another one than the worker's own is refused.",
    "allow_over_limit": "Let the plan pass the safety limits once.",
    "run_id": "The run.",
    "number": "The batch, counted from 0.",
}


def page() -> str:
    """Every task with its arguments."""
    tasks = sorted(StoreTask.__subclasses__(), key=lambda task: task.name != SWEEP_TASK)
    return markdown.page("Tasks", _INTRODUCTION, *(_section(task) for task in tasks))


def _section(task: type[StoreTask]) -> str:
    says = first_line(task.__doc__).partition(": ")[2]
    signature = task.signature_of_arguments
    rows = [
        (code(name), kind.rule, _default(signature.defaults, name), _MEANINGS[name])
        for name, kind in signature.kinds.items()
    ]
    arguments = table(("argument", "value", "default", "meaning"), rows)
    result = "It has no result." if task.ignore_result else _RESULTS[task.name]
    return "\n\n".join([f"## `{task.name}`", f"{says[0].upper()}{says[1:]}", arguments, result])


def _default(defaults: object, name: str) -> str:
    assert isinstance(defaults, dict)
    if name not in defaults:
        return "needed"
    value = defaults[name]
    return code("null" if value is None else str(value).lower())
