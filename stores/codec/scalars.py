"""Numbers, identifiers and bytes that JSON has no form for."""

import base64
from collections import Counter
from collections.abc import Collection
from decimal import Decimal
from typing import Any
from uuid import UUID, SafeUUID

from stores.codec.refusals import Refused

#: Whole numbers beyond 64 bits are kept as hexadecimal text: Python reads decimal ones only up to a
#: limit that each process may set, and slowly.
_LARGEST_PLAIN = 2**63
#: Sets and dictionaries with more elements of one hash than this are refused: each of them is
#: compared with all others, which a forged value could use to keep a reader busy.
_SAME_HASH = 100


def plain_int(value: int) -> bool:
    """Whether a whole number is kept as a JSON number."""
    return -_LARGEST_PLAIN <= value < _LARGEST_PLAIN


def write_int(value: int, _depth: int) -> Any:
    """A whole number, exactly, of any size."""
    return value if plain_int(value) else {"$": "int", "v": hex(value)}


def read_int(envelope: dict[str, Any]) -> int:
    """A large whole number."""
    return int(text_of(envelope), 16)


def write_str(value: str, _depth: int) -> Any:
    """A string; one with lone surrogates, which UTF-8 cannot hold, as hexadecimal bytes."""
    if fits_utf8(value):
        return value
    return {"$": "str", "v": value.encode("utf-8", "surrogatepass").hex()}


def read_str(envelope: dict[str, Any]) -> str:
    """A string with lone surrogates."""
    return bytes.fromhex(text_of(envelope)).decode("utf-8", "surrogatepass")


def fits_utf8(value: str) -> bool:
    """Whether a string can be written as UTF-8: it holds no surrogate."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_float(value: float, _depth: int) -> float:
    """A finite float, exactly."""
    if value - value != 0:  # neither NaN nor an infinity passes
        raise Refused(f"is the float {value}, which JSON cannot hold")
    return value


def write_decimal(value: Decimal, _depth: int) -> dict[str, Any]:
    """A decimal with its digits, exponent and sign; NaN with its payload."""
    return {"$": "decimal", "v": str(value)}


def read_decimal(envelope: dict[str, Any]) -> Decimal:
    """A decimal; what is not its own text is refused, whatever the context in force allows."""
    text = text_of(envelope)
    # A context that traps nothing turns what is out of range into NaN.
    value = Decimal(text)
    if str(value).upper() != text.upper():
        raise Refused("cannot be read back: its decimal is not in the form it is written in")
    return value


def write_uuid(value: UUID, _depth: int) -> dict[str, Any]:
    """A UUID, and whether it was made in a safe way where that is known."""
    if value.is_safe is SafeUUID.unknown:
        return {"$": "uuid", "v": str(value)}
    return {"$": "uuid", "v": str(value), "safe": value.is_safe is SafeUUID.safe}


def read_uuid(envelope: dict[str, Any]) -> UUID:
    """A UUID."""
    text = text_of(envelope)
    safety = {True: SafeUUID.safe, False: SafeUUID.unsafe, None: SafeUUID.unknown}
    value = UUID(text, is_safe=safety[envelope.get("safe")])
    if str(value) != text:
        raise Refused("cannot be read back: its UUID is not in the form it is written in")
    return value


def write_bytes(value: bytes, _depth: int) -> dict[str, Any]:
    """Bytes inside a value."""
    return {"$": "bytes", "v": base64.b64encode(value).decode()}


def read_bytes(envelope: dict[str, Any]) -> bytes:
    """Bytes inside a value."""
    return base64.b64decode(text_of(envelope), validate=True)


def write_bytearray(value: bytearray, _depth: int) -> dict[str, Any]:
    """A bytearray."""
    return {"$": "bytearray", "v": base64.b64encode(value).decode()}


def read_bytearray(envelope: dict[str, Any]) -> bytearray:
    """A bytearray."""
    return bytearray(read_bytes(envelope))


def text_of(envelope: dict[str, Any], key: str = "v") -> str:
    """A text that an envelope must hold."""
    text = envelope.get(key)
    if type(text) is not str:
        raise Refused(f"cannot be read back: its envelope holds no text under {key!r}")
    return text


def list_of(envelope: dict[str, Any], key: str = "v") -> list[Any]:
    """A list that an envelope must hold."""
    items = envelope.get(key)
    if type(items) is not list:
        raise Refused(f"cannot be read back: its envelope holds no list under {key!r}")
    return items


def refuse_crowded(elements: Collection[Any]) -> None:
    """Refuse elements too many of which share one hash.

    Raises:
        Refused: They do.
    """
    if len(elements) > _SAME_HASH and max(Counter(map(hash, elements)).values()) > _SAME_HASH:
        raise Refused(f"holds more than {_SAME_HASH} elements with the same hash")
