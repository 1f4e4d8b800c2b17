"""Which classes may be kept and imported: those of modules the application names."""

import importlib
import sys
from collections.abc import Collection
from types import ModuleType
from typing import Any

from stores.codec.refusals import Refused, guarded, type_name
from stores.module_names import checked_modules, is_module_name

_LONGEST_REFERENCE = 500


class AllowList:
    """Modules and packages, each with all modules below it."""

    def __init__(self, modules: Collection[str]) -> None:
        """Allow these.

        Raises:
            ConfigurationError: One is no module name.
        """
        self._modules = frozenset(checked_modules(modules))

    def allows(self, module: str) -> bool:
        """Whether a module is named, or lies in a package that is.

        A package's ``__main__`` must be named itself: importing it runs a program.
        """
        if module in self._modules:
            return True
        parts = module.split(".")
        if parts[-1] == "__main__":
            return False
        return any(".".join(parts[:end]) in self._modules for end in range(1, len(parts)))


def reference(cls: type, allowed: AllowList) -> str:
    """How a class is found again: ``module:Outer.Inner``.

    Raises:
        Refused: Its module is not allowed, or it cannot be found by its path.
    """
    module, name = cls.__module__, cls.__qualname__
    if "<locals>" in name:
        raise Refused(f"is of class {type_name(cls)}, which is local to a function: move it out")
    if not allowed.allows(module):
        raise Refused(
            f"is of class {type_name(cls)}, whose module is not allowed: "
            f"StoreOptions(allowed_modules=[{module!r}]) allows it"
        )
    # Better refused now than when it is read.
    found = _attribute(sys.modules.get(module), name)
    if found is not cls:
        raise Refused(f"is of class {type_name(cls)}, which is not found under that path")
    return f"{module}:{name}"


def resolve(text: str, allowed: AllowList) -> type:
    """The class that a reference names. Nothing is imported unless its module is allowed.

    Raises:
        Refused: The reference is malformed, not allowed, or leads to nothing or no class.
    """
    module, _, name = text.partition(":")
    parts = name.split(".")
    if len(text) > _LONGEST_REFERENCE or not all(map(str.isidentifier, parts)):
        raise Refused(f"cannot be read back: {text[:60]!r} names no class")
    if not is_module_name(module) or not allowed.allows(module):
        raise Refused(
            f"cannot be read back: its class {text!r} is of a module that is not allowed; "
            "StoreOptions(allowed_modules=[…]) names those that are"
        )
    found = _attribute(imported(module), name)
    # A class that the module got from elsewhere is of a module that nobody allowed.
    if not isinstance(found, type) or (found.__module__, found.__qualname__) != (module, name):
        raise Refused(f"cannot be read back: {text!r} leads to no class of that module")
    return found


def imported(module: str) -> ModuleType:
    """A module, imported if it was not yet.

    Raises:
        Refused: It cannot be imported.
    """
    try:
        return sys.modules.get(module) or importlib.import_module(module)
    except ImportError as error:
        raise Refused(f"cannot be read back: there is no module {module!r} here") from error
    except Exception as error:
        raise Refused(
            f"cannot be read back: importing {module!r} raised {type_name(type(error))}"
        ) from error


def _attribute(owner: Any, path: str) -> Any:
    """What lies under a dotted path; read from the namespaces, so that no code runs."""
    for part in path.split("."):
        if not isinstance(owner, ModuleType | type):
            return None
        owner = guarded(vars, owner).get(part)
    return owner
