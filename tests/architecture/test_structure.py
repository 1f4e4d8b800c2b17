"""Imports point one way, files and functions stay small, public names say what they mean."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("worker", "retention", "stores")
MAX_FILE_LINES = 400
MAX_BODY_LINES = 50
MAX_COMPLEXITY = 10

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function

_BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.comprehension,
    ast.match_case,
)
# What would tie the domain to a machine: its environment and its clock.
_OUTSIDE = {
    "os.environ",
    "os.getenv",
    "time.time",
    "time.monotonic",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
}
# In pieces, so that this file does not hold what it looks for.
_REGISTRIES = tuple(
    ".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"))
)


def sources(*packages: str) -> list[Path]:
    """The Python files of some packages."""
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def parse(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path, node: ast.AST) -> str:
    """Where something is, for a message: file:line."""
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def functions(tree: ast.Module) -> Iterator[Function]:
    """Every function in a file, nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def body_lines(function: Function) -> int:
    """The lines a function's body takes, its docstring apart."""
    skipped = 1 if ast.get_docstring(function) is not None else 0
    body = function.body[skipped:]
    return ((body[-1].end_lineno or 0) - body[0].lineno + 1) if body else 0


def complexity(function: Function) -> int:
    """McCabe's number: the ways through a function, those of nested functions included."""
    nodes = list(ast.walk(function))
    operators = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return 1 + operators + sum(isinstance(node, _BRANCHES) for node in nodes)


def public(tree: ast.Module) -> Iterator[Documented]:
    """The module, and each class, function and method that others may use."""
    yield tree
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.ClassDef | Function) or node.name.startswith("_"):
            continue
        yield node
        pending.extend(node.body if isinstance(node, ast.ClassDef) else [])


def is_documented_elsewhere(node: Documented) -> bool:
    """An overload or override repeats a signature whose docstring stands at the original."""
    decorators = [] if isinstance(node, ast.Module) else node.decorator_list
    names = [ast.unparse(decorator).rpartition(".")[2] for decorator in decorators]
    return "overload" in names or "override" in names


def outside(tree: ast.Module) -> Iterator[ast.AST]:
    """Each place that reads the environment or a clock."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        if ".".join(ast.unparse(node).split(".")[-2:]) in _OUTSIDE:
            yield node


def imported(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Each absolute import, with the full name of the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node, node.module


def is_domain_import(name: str) -> bool:
    """Whether the domain may import this: itself, the standard library, the checkpoint types."""
    top = name.partition(".")[0]
    types = ("langgraph.checkpoint.base", "langgraph.checkpoint.serde")
    return top == "retention" or top in sys.stdlib_module_names or name.startswith(types)


def tracked_files() -> list[Path]:
    """The files under version control; without git, those that lie here."""
    if shutil.which("git") and (ROOT / ".git").exists():
        command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
        return [path for path in paths if path.is_file()]
    folders = [ROOT / name for name in (*PACKAGES, "tests", "bench", "docs")]
    paths = [*ROOT.glob("*"), *(path for folder in folders for path in folder.rglob("*"))]
    return [path for path in paths if path.is_file()]


def test_imports_keep_the_contracts() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_domain_imports_only_the_standard_library_and_the_checkpoint_types() -> None:
    wrong = [
        f"{place(path, node)} {name}"
        for path in sources("retention")
        for node, name in imported(parse(path))
        if not is_domain_import(name)
    ]
    assert wrong == []


def test_the_domain_reads_neither_the_environment_nor_a_clock() -> None:
    wrong = [
        f"{place(path, node)} {ast.unparse(node)}"
        for path in sources("retention")
        for node in outside(parse(path))
    ]
    assert wrong == []


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in sources(*PACKAGES)}
    assert lengths
    assert {str(path): n for path, n in lengths.items() if n > MAX_FILE_LINES} == {}


@pytest.mark.parametrize(
    ("measure", "most"), [(body_lines, MAX_BODY_LINES), (complexity, MAX_COMPLEXITY)]
)
def test_no_function_is_too_large(measure: Callable[[Function], int], most: int) -> None:
    wrong = [
        f"{place(path, function)} {function.name}: {measure(function)}"
        for path in sources(*PACKAGES)
        for function in functions(parse(path))
        if measure(function) > most
    ]
    assert wrong == []


def test_every_module_and_public_name_has_a_docstring() -> None:
    wrong = [
        f"{place(path, node)} {getattr(node, 'name', 'the module')}"
        for path in sources(*PACKAGES)
        for node in public(parse(path))
        if not ast.get_docstring(node) and not is_documented_elsewhere(node)
    ]
    assert wrong == []


def test_every_package_tells_type_checkers_that_it_is_typed() -> None:
    assert [name for name in PACKAGES if not (ROOT / name / "py.typed").exists()] == []


def test_no_tracked_file_names_a_package_registry() -> None:
    files = tracked_files()
    assert ROOT / "pyproject.toml" in files
    wrong = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in files
        for host in _REGISTRIES
        if host in path.read_text(encoding="utf-8", errors="ignore")
    ]
    assert wrong == []


_SAMPLE = '''
import os, psycopg
from datetime import datetime
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.postgres import PostgresSaver

def busy(a, b):
    """Says what."""
    while a and b or a:
        a = [x for x in b if x] if datetime.now() else os.environ["A"]
    def inner():
        if a:
            pass
    return 1
class Shown:
    @override
    def method(self): ...
    def _hidden(self): ...
'''


def test_the_measures_count_what_they_claim_to() -> None:
    tree = ast.parse(_SAMPLE)
    sizes = {f.name: (body_lines(f), complexity(f)) for f in functions(tree)}
    # busy: while, or, and, comprehension, conditional expression, the if of inner.
    assert sizes == {"busy": (6, 7), "inner": (2, 2), "method": (1, 1), "_hidden": (1, 1)}
    assert {ast.unparse(node) for node in outside(tree)} == {"datetime.now", "os.environ"}
    assert [n for _, n in imported(tree) if not is_domain_import(n)] == [
        "psycopg",
        "langgraph.checkpoint.postgres",
    ]
    named = [getattr(node, "name", "module") for node in public(tree)]
    assert sorted(named) == ["Shown", "busy", "method", "module"]
    assert [is_documented_elsewhere(node) for node in public(tree)].count(True) == 1
