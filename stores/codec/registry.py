"""The classes whose instances are kept: what each is stored as, and what a stored name means."""

import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

from pydantic import BaseModel

from stores.codec.classes import AllowList, imported, reference, resolve
from stores.codec.known import LANGCHAIN, LANGGRAPH, PROMPTS
from stores.codec.models import ModelShape, PromptShape
from stores.codec.refusals import Refused, type_name
from stores.codec.shapes import (
    EnumShape,
    RecordShape,
    Shape,
    TextShape,
    TupleShape,
    shape_of,
    slotted,
)

#: What LangGraph's own classes got lately: an older release stored them without.
_LATER_SLOTS: Final[dict[str, Any]] = {"timeout": None, "score": None}
#: The tags of the application's own classes, by their shape.
_TAGS: Final[dict[type, str]] = {
    EnumShape: "enum",
    RecordShape: "dataclass",
    TupleShape: "namedtuple",
    ModelShape: "model",
}


class Kept(NamedTuple):
    """How a class is stored: the tag and name in its envelopes, and its shape."""

    tag: str
    name: str
    shape: Shape


class Registry:
    """The classes that one codec keeps."""

    def __init__(self, allowed: AllowList) -> None:
        self._allowed = allowed
        self._by_name: dict[str, Kept] = {}

    def of_class(self, cls: type) -> Kept:
        """How a class is stored.

        Raises:
            Refused: Its instances are not kept.
        """
        kept = _known(cls)
        if kept is not None:
            return kept
        if _is_langchain(cls):
            raise Refused(f"is of class {type_name(cls)}, which LangChain's loader does not revive")
        shape = _own_shape(cls)
        if shape is None:
            raise Refused(f"is of type {type_name(cls)}, which is not kept{_hint(cls)}")
        return Kept(_TAGS[type(shape)], reference(cls, self._allowed), shape)

    def of_name(self, tag: str, name: str) -> Shape:
        """The shape of what is stored under a tag and the name of a class.

        Raises:
            Refused: There is none: unknown, not allowed, or of another kind.
        """
        # Only what was found is remembered, so forged names take no memory.
        kept = self._by_name.get(name)
        if kept is None:
            kept = self._found(tag, name)
            self._by_name[name] = kept
        if kept.tag != tag:
            raise Refused(f"cannot be read back: {name[:60]!r} is no {tag}")
        return kept.shape

    def _found(self, tag: str, name: str) -> Kept:
        if tag in _TABLES:
            return _table_entry(tag, name)
        cls = resolve(name, self._allowed)
        shape = None if _is_langchain(cls) else _own_shape(cls)
        if shape is None:
            raise Refused(f"cannot be read back: {name[:60]!r} is no class whose values are kept")
        return Kept(_TAGS[type(shape)], name, shape)


def _own_shape(cls: Any) -> Shape | None:
    """The shape of a class of the application's; None if it is of no kind that is kept."""
    if issubclass(cls, BaseModel):
        # Pydantic puts some of them into a module, but only once they were used there.
        if "[" in cls.__qualname__:
            raise Refused(f"is of class {type_name(cls)}: a generic model has no path of its own")
        return ModelShape(cls)
    return shape_of(cls)


def _known(cls: type) -> Kept | None:
    """How a class of LangChain or LangGraph is stored; None for any other."""
    if cls.__module__.partition(".")[0] not in ("langchain_core", "langgraph"):
        return None
    for tag, (table, _) in _TABLES.items():
        if cls.__name__ in table:
            kept = _table_entry(tag, cls.__name__)
            if getattr(sys.modules[table[cls.__name__]], cls.__name__) is cls:
                return kept
    return None


def _table_entry(tag: str, name: str) -> Kept:
    table, shape = _TABLES[tag]
    if name not in table:
        raise Refused(f"cannot be read back: {name[:60]!r} is no {tag} class that is kept")
    cls = getattr(imported(table[name]), name, None)
    if not isinstance(cls, type):
        raise Refused(f"cannot be read back: {table[name]} has no {name!r} here")
    return Kept(tag, name, shape(cls))


def _langchain(cls: type) -> Shape:
    if issubclass(cls, str):
        return TextShape(cls)
    return ModelShape(cast("type[BaseModel]", cls), compact=True)


def _prompt(cls: type) -> Shape:
    return PromptShape(cast("type[BaseModel]", cls))


def _langgraph(cls: type) -> Shape:
    return shape_of(cls) or slotted(cls, _LATER_SLOTS)


_TABLES: Final[dict[str, tuple[dict[str, str], Callable[[type], Shape]]]] = {
    "langchain": (LANGCHAIN, _langchain),
    "prompt": (PROMPTS, _prompt),
    "langgraph": (LANGGRAPH, _langgraph),
}


def _is_langchain(cls: type) -> bool:
    """Whether a class is one of LangChain's serializable ones, or extends one."""
    module = sys.modules.get("langchain_core.load.serializable")
    return module is not None and issubclass(cls, module.Serializable)


def _hint(cls: type) -> str:
    """What to do instead, where that is known."""
    bases = [base.__name__ for base in cls.__mro__[1:-1] if base in _BUILTINS]
    if bases:
        return f": it would come back as its base, {bases[0]}"
    return ": store .tolist() instead" if cls.__module__.partition(".")[0] == "numpy" else ""


_BUILTINS = (bool, int, float, str, bytes, bytearray, list, tuple, dict, set, frozenset)
