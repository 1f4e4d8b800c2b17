"""From values to what JSON can hold: the rest in envelopes, which are objects with a key ``$``."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

from stores.codec import scalars, times
from stores.codec.exceptions import record_of
from stores.codec.refusals import Refused, deepened, guarded, key_step
from stores.codec.registry import Kept, Registry

#: What writes a value that lies at some depth.
Handler: TypeAlias = Callable[[Any, int], Any]

#: The key that makes a JSON object an envelope.
MARK = "$"

_SCALARS: dict[type, Handler] = {
    int: scalars.write_int,
    Decimal: scalars.write_decimal,
    UUID: scalars.write_uuid,
    bytes: scalars.write_bytes,
    bytearray: scalars.write_bytearray,
    datetime: times.write_datetime,
    date: times.write_date,
    time: times.write_time,
    timedelta: times.write_timedelta,
    **times.ZONES,
}


class Encoder:
    """Takes values apart. It keeps no state but what it learned about classes.

    It trusts that floats are finite and strings hold no surrogates: JSON's own writer notices both.
    ``CarefulEncoder`` does not, and knows where the value at fault lies.
    """

    #: Types that JSON holds as they are.
    plain = frozenset({str, float, bool, type(None)})

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._handlers: dict[type, Handler] = {
            **_SCALARS,
            list: self._items,
            dict: self._dict,
            tuple: self._sequence("tuple"),
            set: self._set("set"),
            frozenset: self._set("frozenset"),
        }

    def value(self, value: Any, depth: int = 0) -> Any:
        """What JSON holds for a value.

        Raises:
            Refused: It is not kept, or something in it is not.
        """
        kind = type(value)
        if kind in self.plain:
            return value
        handler = self._handlers.get(kind) or self._learned(kind)
        return handler(value, depth)

    def _learned(self, kind: type) -> Handler:
        """What writes instances of a class that was not met before."""
        # Not remembered: a class local to a function would be kept alive for ever.
        if issubclass(kind, BaseException):
            return self._exception
        handler = self._object(guarded(self._registry.of_class, kind))
        self._handlers[kind] = handler
        return handler

    def _items(self, items: Any, depth: int) -> Any:
        inner = deepened(depth)
        plain, handlers = self.plain, self._handlers
        # Most lists hold plain values only: they go to JSON's writer uncopied.
        if plain.issuperset(map(type, items)):
            return items
        written: list[Any] = []
        try:
            for item in items:
                kind = type(item)
                if kind in plain:
                    written.append(item)
                else:
                    handler = handlers.get(kind) or self._learned(kind)
                    written.append(handler(item, inner))
        except Refused as refused:
            refused.steps.append(f"[{len(written)}]")
            raise
        return written

    def _dict(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        if not self._plain_keys(value):
            return self._pairs(value, depth)
        return self._fields(value, deepened(depth))

    def _plain_keys(self, value: dict[Any, Any]) -> bool:
        """Whether a dictionary is kept as a JSON object that is no envelope."""
        return MARK not in value and _ONLY_STR.issuperset(map(type, value))

    def _fields(self, value: dict[str, Any], inner: int) -> dict[str, Any]:
        plain, handlers = self.plain, self._handlers
        key, written = "", {}
        try:
            for key, item in value.items():
                kind = type(item)
                if kind in plain:
                    written[key] = item
                else:
                    handler = handlers.get(kind) or self._learned(kind)
                    written[key] = handler(item, inner)
        except Refused as refused:
            refused.steps.append(key_step(key))
            raise
        return written

    def _pairs(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        """A dictionary with other keys than strings: keys and values by turns."""
        inner = deepened(depth)
        # What a reader would refuse must not be written.
        guarded(scalars.refuse_crowded, value)
        # Flat, not pair by pair: JSON then nests by two for each container.
        written: list[Any] = []
        for key, item in value.items():
            try:
                written += (self.value(key, inner), self.value(item, inner))
            except Refused as refused:
                refused.steps.append(key_step(key))
                raise
        return {MARK: "dict", "v": written}

    def _sequence(self, tag: str) -> Handler:
        return lambda value, depth: {MARK: tag, "v": self._items(value, depth)}

    def _set(self, tag: str) -> Handler:
        def write(value: Any, depth: int) -> dict[str, Any]:
            guarded(scalars.refuse_crowded, value)
            return {MARK: tag, "v": self._items(list(value), depth)}

        return write

    def _object(self, kept: Kept) -> Handler:
        tag, name, shape = kept

        def write(value: Any, depth: int) -> dict[str, Any]:
            inner = deepened(depth)
            envelope: dict[str, Any] = {MARK: tag, "c": name}
            for part, state in guarded(shape.apart, value).items():
                is_state = type(state) is dict
                envelope[part] = self._named(state, inner) if is_state else self.value(state, inner)
            return envelope

        return write

    def _named(self, state: dict[Any, Any], inner: int) -> dict[str, Any]:
        """The attributes of an object."""
        return self._fields(state, inner)

    def _exception(self, error: BaseException, depth: int) -> dict[str, Any]:
        return {MARK: "exception", "v": self._dict(record_of(error), depth)}


class CarefulEncoder(Encoder):
    """Looks at every float and string: for values that JSON's own writer could not write."""

    plain = frozenset({bool, type(None)})

    def __init__(self, registry: Registry) -> None:
        super().__init__(registry)
        self._handlers |= {str: scalars.write_str, float: scalars.write_float}

    def _plain_keys(self, value: dict[Any, Any]) -> bool:
        # A key that is no text is kept as the keys of other types are.
        return super()._plain_keys(value) and all(map(scalars.fits_utf8, value))

    def _named(self, state: dict[Any, Any], inner: int) -> dict[str, Any]:
        for name in state:
            if not scalars.fits_utf8(name):
                raise Refused(f"has an attribute {name!r}, whose name is no text")
        return super()._named(state, inner)


_ONLY_STR = frozenset({str})
