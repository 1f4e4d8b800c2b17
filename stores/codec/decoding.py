"""From what JSON holds back to the values, in one walk that changes containers in place."""

from collections.abc import Callable
from typing import Any, TypeAlias

from stores.codec import scalars, times
from stores.codec.exceptions import CheckpointedException, checked_record
from stores.codec.refusals import Refused, deepened, key_step, type_name
from stores.codec.registry import Registry

#: What reads an envelope that holds no other values, and one that lies at some depth.
ScalarReader: TypeAlias = Callable[[dict[str, Any]], Any]
Reader: TypeAlias = Callable[[dict[str, Any], int], Any]

_SCALARS: dict[str, ScalarReader] = {
    "int": scalars.read_int,
    "str": scalars.read_str,
    "decimal": scalars.read_decimal,
    "uuid": scalars.read_uuid,
    "bytes": scalars.read_bytes,
    "bytearray": scalars.read_bytearray,
    "datetime": times.read_datetime,
    "date": times.read_date,
    "time": times.read_time,
    "timedelta": times.read_timedelta,
    "timezone": times.read_timezone,
    "zoneinfo": times.read_zoneinfo,
}
_OBJECTS = ("langchain", "model", "dataclass", "namedtuple", "enum", "langgraph", "prompt")
#: The parts of an object that are dictionaries of attributes.
_STATES = ("v", "d", "x", "p")


class Decoder:
    """Puts values together."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._readers: dict[str, Reader] = {
            "dict": self._pairs,
            "tuple": self._tuple,
            "set": self._set,
            "frozenset": self._set,
            "exception": self._exception,
            **dict.fromkeys(_OBJECTS, self._object),
        }

    def value(self, stored: Any, depth: int = 0) -> Any:
        """The value that something read from JSON stands for.

        Raises:
            Refused: It stands for none.
        """
        kind = type(stored)
        if kind is dict:
            return self._envelope(stored, depth) if "$" in stored else self._fields(stored, depth)
        return self._items(stored, depth) if kind is list else stored

    def _items(self, items: list[Any], depth: int) -> list[Any]:
        inner = deepened(depth)
        index = 0
        # Only containers are visited, and replaced where they are: JSON's reader made the rest.
        try:
            for index, item in enumerate(items):
                kind = type(item)
                if kind is dict or kind is list:
                    items[index] = self.value(item, inner)
        except Refused as refused:
            refused.steps.append(f"[{index}]")
            raise
        return items

    def _fields(self, fields: dict[str, Any], depth: int) -> dict[str, Any]:
        inner = deepened(depth)
        key = ""
        try:
            for key, item in fields.items():
                kind = type(item)
                if kind is dict or kind is list:
                    fields[key] = self.value(item, inner)
        except Refused as refused:
            refused.steps.append(key_step(key))
            raise
        return fields

    def _envelope(self, envelope: dict[str, Any], depth: int) -> Any:
        tag = envelope["$"]
        try:
            scalar = _SCALARS.get(tag)
            return scalar(envelope) if scalar else self._readers[tag](envelope, depth)
        except (Refused, RecursionError):
            # A stack without room is no fault of this envelope.
            raise
        except Exception as error:
            shown = repr(tag)[:60] if type(tag) is str else f"a {type(tag).__name__}"
            raise Refused(
                f"cannot be read back: its envelope of {shown} is damaged "
                f"({type_name(type(error))})"
            ) from error

    def _tuple(self, envelope: dict[str, Any], depth: int) -> tuple[Any, ...]:
        return tuple(self._items(scalars.list_of(envelope), depth))

    def _set(self, envelope: dict[str, Any], depth: int) -> set[Any] | frozenset[Any]:
        elements = self._items(scalars.list_of(envelope), depth)
        scalars.refuse_crowded(elements)
        # Before the set is made: making it is what would take the time.
        made = set(elements) if envelope["$"] == "set" else frozenset(elements)
        if len(made) != len(elements):
            raise Refused("cannot be read back: its set holds an element twice")
        return made

    def _pairs(self, envelope: dict[str, Any], depth: int) -> dict[Any, Any]:
        inner = deepened(depth)
        items = scalars.list_of(envelope)
        keys = [self.value(key, inner) for key in items[::2]]
        scalars.refuse_crowded(keys)
        made = {}
        for key, item in zip(keys, items[1::2], strict=True):
            try:
                made[key] = self.value(item, inner)
            except Refused as refused:
                refused.steps.append(key_step(key))
                raise
        if len(made) != len(keys):
            raise Refused("cannot be read back: its dictionary holds a key twice")
        return made

    def _object(self, envelope: dict[str, Any], depth: int) -> Any:
        tag = envelope["$"]
        shape = self._registry.of_name(tag, scalars.text_of(envelope, "c"))
        parts = {}
        for part, stored in envelope.items():
            if part in _STATES and tag != "enum":
                if type(stored) is not dict:
                    raise Refused("cannot be read back: its envelope holds no fields")
                parts[part] = self._fields(stored, depth)
            # The list of set fields, and what an enum keeps.
            elif part not in ("$", "c"):
                parts[part] = self.value(stored, depth)
        return shape.together(parts)

    def _exception(self, envelope: dict[str, Any], depth: int) -> CheckpointedException:
        return CheckpointedException(checked_record(self.value(envelope["v"], depth)))
