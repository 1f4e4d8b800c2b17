"""How the instances of a class are taken apart, and put together without running its code."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from enum import Enum, Flag
from typing import Any, Protocol, cast

from stores.codec.refusals import Refused, guarded, type_name

State = dict[str, Any]

#: Stands for a value that is not known.
MISSING: Any = object()
#: A flag's value has at most this many bits: its class looks at each.
_MOST_BITS = 4096


class Shape(Protocol):
    """What is known of a class whose instances are kept."""

    def apart(self, value: Any) -> State:
        """The parts of an instance, each a dictionary or a plain value."""

    def together(self, parts: State) -> Any:
        """The instance that has these parts.

        Raises:
            Refused: They do not fit the class.
        """


class Defaults:
    """The names an instance may hold, and what stands under those that are not stored.

    They are missing where a class has got a new field since the value was stored.
    """

    def __init__(
        self, names: Mapping[str, Callable[[], Any] | None], optional: frozenset[str] = frozenset()
    ) -> None:
        """``names`` to what makes each default, None where it must be stored.

        ``optional`` ones have no default and may be missing all the same.
        """
        self.names = dict(names)
        self._optional = optional

    def complete(self, state: State) -> None:
        """Add what is missing.

        Raises:
            Refused: There is no default for it.
        """
        for name, make in self.names.items():
            if name in state or name in self._optional:
                continue
            if make is None:
                raise Refused(f"cannot be read back: its field {name!r} is not stored")
            state[name] = guarded(make)


def constant(value: Any) -> Callable[[], Any]:
    """What gives one value each time."""
    return lambda: value


class RecordShape:
    """A dataclass, or a class whose instances hold nothing but slots."""

    def __init__(self, cls: type, defaults: Defaults) -> None:
        self._class = cls
        self._defaults = defaults
        self._slots = _slots(cls)
        self._has_dict = hasattr(_bare(cls), "__dict__")
        self._derived = derived(cls)

    def apart(self, value: Any) -> State:
        """What the instance holds, fields or not; what it can work out again is left out."""
        state = {}
        for name in self._slots:
            found = getattr(value, name, MISSING)
            if found is not MISSING:
                state[name] = found
        if self._has_dict:
            held = vars(value)
            state.update({name: held[name] for name in held if name not in self._derived})
        return {"v": state}

    def together(self, parts: State) -> Any:
        """An instance with these attributes."""
        state: State = parts["v"]
        self._defaults.complete(state)
        made = _bare(self._class)
        # Past the `__setattr__` of the class: a frozen one refuses.
        for name in self._slots:
            if name in state:
                object.__setattr__(made, name, state.pop(name))
        if state and not self._has_dict:
            raise Refused(f"cannot be read back: its class has no field {next(iter(state))[:60]!r}")
        if state:
            vars(made).update(state)
        return made


class TupleShape:
    """A named tuple."""

    def __init__(self, cls: Any) -> None:
        self._class = cls
        self._fields: tuple[str, ...] = cls._fields
        defaults = {name: constant(value) for name, value in cls._field_defaults.items()}
        self._defaults = Defaults({name: defaults.get(name) for name in self._fields})

    def apart(self, value: Any) -> State:
        """Its fields by name."""
        if getattr(value, "__dict__", None):
            raise Refused(f"is a {type_name(self._class)} with attributes beside its fields")
        return {"v": dict(zip(self._fields, tuple.__iter__(value), strict=True))}

    def together(self, parts: State) -> Any:
        """The named tuple of these fields."""
        state: State = parts["v"]
        self._defaults.complete(state)
        if len(state) != len(self._fields):
            raise Refused(
                f"cannot be read back: its fields are not those of {type_name(self._class)}"
            )
        return tuple.__new__(self._class, (state[name] for name in self._fields))


class EnumShape:
    """An enum: a member by its name, a flag by its number."""

    def __init__(self, cls: type[Enum]) -> None:
        self._class = cls

    def apart(self, value: Any) -> State:
        """The name of the member, or the number of the flag."""
        if issubclass(self._class, Flag):
            return {"v": _bounded(value.value)}
        name: str = value.name
        if self._class.__members__.get(name) is not value:
            raise Refused(f"is no member of {type_name(self._class)} that has a name")
        return {"v": name}

    def together(self, parts: State) -> Any:
        """The member."""
        stored = parts.get("v")
        if issubclass(self._class, Flag):
            return guarded(cast(Any, self._class), _bounded(stored))
        # By name, and not by calling the class, which may run `_missing_`.
        member = self._class.__members__.get(cast(str, stored))
        if member is None:
            raise Refused(f"cannot be read back: {type_name(self._class)} has no such member")
        return member


class TextShape:
    """A kind of string that holds nothing but its text."""

    def __init__(self, cls: type[str]) -> None:
        self._class = cls

    def apart(self, value: Any) -> State:
        """Its text."""
        return {"v": {"text": str.__str__(value)}}

    def together(self, parts: State) -> Any:
        """The string."""
        return str.__new__(self._class, parts["v"]["text"])


def shape_of(cls: Any) -> Shape | None:
    """The shape of an enum, a dataclass or a named tuple; None for any other class.

    Raises:
        Refused: It is one, but what it holds lies partly in a class written in C.
    """
    if issubclass(cls, Enum):
        return EnumShape(cls)
    if isinstance(cls, type) and dataclasses.is_dataclass(cls):
        return RecordShape(cls, _dataclass_defaults(cls))
    if issubclass(cls, tuple) and isinstance(getattr(cls, "_field_defaults", None), dict):
        return TupleShape(cls)
    return None


def slotted(cls: type, optional: Mapping[str, Any]) -> Shape:
    """The shape of a class that holds nothing but slots."""
    names = {n: constant(optional[n]) if n in optional else None for n in _slots(cls)}
    return RecordShape(cls, Defaults(names))


def _bounded(number: Any) -> int:
    if type(number) is not int or number.bit_length() > _MOST_BITS:
        raise Refused(f"is no flag of at most {_MOST_BITS} bits")
    return number


def _dataclass_defaults(cls: Any) -> Defaults:
    names: dict[str, Callable[[], Any] | None] = {}
    optional = set()
    for field in dataclasses.fields(cls):
        names[field.name] = None
        if field.default_factory is not dataclasses.MISSING:
            names[field.name] = field.default_factory
        elif isinstance(vars(cls).get(field.name), property):
            optional.add(field.name)
        elif field.default is not dataclasses.MISSING:
            names[field.name] = constant(field.default)
        elif not field.init:
            optional.add(field.name)
    return Defaults(names, frozenset(optional))


def _bare(cls: Any) -> Any:
    """An instance that holds nothing yet. No code of its class runs."""
    try:
        return object.__new__(cls)
    except TypeError as error:
        raise Refused(f"is of class {type_name(cls)}, which extends a built-in type") from error


def _slots(cls: type) -> tuple[str, ...]:
    """The names of all slots, as attributes are found under them."""
    names: list[str] = []
    for owner in cls.__mro__:
        slots = vars(owner).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):
                names.append(f"_{owner.__name__.lstrip('_')}{name}")
            elif name not in ("__dict__", "__weakref__"):
                names.append(name)
    return tuple(dict.fromkeys(names))


def derived(cls: type) -> frozenset[str]:
    """Attributes that an instance works out again, and typing's note of its type arguments."""
    names = {
        name
        for owner in cls.__mro__
        for name, value in vars(owner).items()
        if isinstance(value, functools.cached_property)
    }
    return frozenset({*names, "__orig_class__"})
