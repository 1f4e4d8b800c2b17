"""Pydantic models, LangChain's objects among them."""

import copy
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from stores.codec.refusals import Refused, guarded
from stores.codec.shapes import MISSING, State, derived

_set = object.__setattr__


class ModelShape:
    """A pydantic model: fields that were set, other fields, extra and private attributes.

    It is put together as it was, without validation: what it held need not be valid, or stay the
    same, when it is validated again.
    """

    def __init__(self, cls: type[BaseModel], *, compact: bool = False) -> None:
        """``compact`` leaves out fields that were not set and hold their default."""
        self._class = cls
        fields = cls.model_fields
        self._required = tuple(name for name, field in fields.items() if field.is_required())
        self._makers = {
            name: maker for name, field in fields.items() if (maker := _maker(field)) is not None
        }
        #: All fields in their order, with the defaults that nobody can change.
        self._template = {name: _fixed(field) for name, field in fields.items()}
        self._extra = cls.model_config.get("extra") == "allow"
        self._private = cls.__private_attributes__
        self._derived = derived(cls)
        self._compact = dict(self._template) if compact else {}
        if compact:
            made = {name: make({}) for name, make in self._makers.items()}
            self._compact.update(made)

    def apart(self, value: Any) -> State:
        """The parts of a model."""
        given, held = value.__pydantic_fields_set__, vars(value)
        compact, template = self._compact, self._template
        state: State = {}
        rest: State = {}
        for name, item in held.items():
            if name in given:
                state[name] = item
            elif name in compact and type(item) is type(compact[name]) and item == compact[name]:
                continue
            elif name in template:
                rest[name] = item
            elif name not in self._derived:
                raise Refused(f"is a model with an attribute {name[:60]!r} beside its fields")
        parts = {"v": state}
        if rest:
            parts["d"] = rest
        self._apart_others(value, parts, given)
        return parts

    def _apart_others(self, value: Any, parts: State, given: set[str]) -> None:
        extra, private = value.__pydantic_extra__, value.__pydantic_private__
        if extra:
            parts["x"] = extra
        if private:
            parts["p"] = private
        if len(given) != len(parts["v"]) + len(extra or ()) or not given.issuperset(extra or ()):
            parts["s"] = sorted(given)

    def together(self, parts: State) -> Any:
        """The model that has these parts."""
        stored = parts["v"]
        state = {**self._template, **stored}
        if "d" in parts:
            state.update(parts["d"])
        if len(state) != len(self._template):
            raise Refused(f"cannot be read back: {self._unknown(state)}")
        for name, make in self._makers.items():
            if state[name] is MISSING:
                state[name] = guarded(make, state)
        for name in self._required:
            if state[name] is MISSING:
                raise Refused(f"cannot be read back: its field {name!r} is not stored")
        return self._made(parts, state)

    def _made(self, parts: State, state: State) -> Any:
        extra = parts.get("x") if "x" in parts else {} if self._extra else None
        given = set(parts["s"] if "s" in parts else parts["v"])
        if "x" in parts and "s" not in parts:
            given.update(parts["x"])
        # As pickle and pydantic itself set them: a frozen model refuses `setattr`.
        made = object.__new__(self._class)
        _set(made, "__dict__", state)
        _set(made, "__pydantic_fields_set__", given)
        _set(made, "__pydantic_extra__", extra)
        _set(made, "__pydantic_private__", self._private_of(parts))
        return made

    def _private_of(self, parts: State) -> State | None:
        if not self._private and "p" not in parts:
            return None
        private = dict(parts.get("p", {}))
        for name, attribute in self._private.items():
            default = None if name in private else guarded(attribute.get_default)
            if name not in private and default is not PydanticUndefined:
                private[name] = default
        return private

    def _unknown(self, state: State) -> str:
        name = next(name for name in state if name not in self._template)
        return f"its class has no field {name[:60]!r}"


class PromptShape:
    """A prompt of LangChain's: what its loader is given, and what that makes of it."""

    def __init__(self, cls: type[BaseModel]) -> None:
        self._class = cls
        self._names = [name for name, field in cls.model_fields.items() if not field.exclude]

    def apart(self, value: Any) -> State:
        """The fields that LangChain stores."""
        held = vars(value)
        state = {name: held[name] for name in self._names if name in held}
        _refuse_programs(state)
        # Made once on trial: what LangChain would lose must not be lost silently.
        if vars(guarded(self._class.model_validate, state)) != held:
            raise Refused("is a prompt that holds what LangChain's loader does not revive")
        return {"v": state}

    def together(self, parts: State) -> Any:
        """The prompt, made and checked by LangChain."""
        _refuse_programs(parts["v"])
        return guarded(self._class.model_validate, parts["v"])


def _refuse_programs(state: State) -> None:
    """LangChain's loader revives no template of a language that can run code: nor is one kept."""
    if state.get("template_format", "f-string") not in ("f-string", "mustache"):
        raise Refused("is a prompt whose template format LangChain's loader does not revive")


def _fixed(field: FieldInfo) -> Any:
    """A default that nobody can change; MISSING where there is none."""
    return field.default if type(field.default) in _FIXED else MISSING


def _maker(field: FieldInfo) -> Callable[[State], Any] | None:
    """What makes a default anew for each model."""
    factory: Any = field.default_factory
    if factory is not None:
        takes_state = getattr(field, "default_factory_takes_validated_data", False)
        return factory if takes_state else lambda _state: factory()
    if field.is_required() or type(field.default) in _FIXED:
        return None
    return lambda _state: copy.deepcopy(field.default)


_FIXED = (type(None), bool, int, float, str)
